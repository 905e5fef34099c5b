// Package chart draws series in a terminal, with the dots of braille letters.
package chart

import (
	"math"
	"strings"

	"tachograph/cmd/replay/internal/human"
)

// Chart is one picture of a series.
type Chart struct {
	// Values are at equal distances; NaN where there is none.
	Values []float64
	// Width and Height are in letters, without the scale.
	Width, Height int
	// Low and High are the ends of the scale.
	Low, High float64
	// Label writes a value of the scale.
	Label func(float64) string
}

// Points is how many values fit the width.
func Points(width int) int { return 2 * width }

// dots are the bits of a braille letter, by column and row.
var dots = [2][4]rune{{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}

// Scale chooses the ends of a scale: it begins at zero unless values are far
// from it.
func Scale(values []float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			low, high = math.Min(low, v), math.Max(high, v)
		}
	}
	switch {
	case low > high:
		return 0, 1
	case low >= 0 && low < high*0.8:
		low = 0
	case low == high && low != 0:
		return math.Min(low, 0), math.Max(high, 0)
	}
	if low == high {
		high = low + 1
	}
	return low, high
}

// Lines draws the chart.
func (c *Chart) Lines() []string {
	grid := make([][]rune, c.Height)
	for i := range grid {
		grid[i] = make([]rune, c.Width)
	}
	rows := 4 * c.Height
	last := -1
	for x, v := range c.Values {
		if x >= Points(c.Width) {
			break
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			last = -1
			continue
		}
		y := c.row(v, rows)
		from := y
		if last >= 0 && last != y {
			// Joined to its neighbour by a line upwards or downwards.
			from = last + 1
			if y < last {
				from = last - 1
			}
		}
		for k := min(from, y); k <= max(from, y); k++ {
			row := rows - 1 - k
			grid[row/4][x/2] |= dots[x%2][row%4]
		}
		last = y
	}
	return c.scaled(grid)
}

// row is how far up v stands. Halves, because the ends may be as far apart as
// numbers go.
func (c *Chart) row(v float64, rows int) int {
	low := float64(c.Low / 2)
	share := (float64(v/2) - low) / (float64(c.High/2) - low)
	if !(share > 0) {
		return 0
	}
	return int(math.Round(math.Min(share, 1) * float64(rows-1)))
}

// scaled puts the scale in front of the rows.
func (c *Chart) scaled(grid [][]rune) []string {
	labels := make([]string, c.Height)
	wide := 0
	for i := range labels {
		if i == 0 || i == c.Height-1 || i == c.Height/2 && c.Height > 4 {
			part := 1 - float64(i)/float64(max(c.Height-1, 1))
			labels[i] = c.Label(float64(c.Low*(1-part)) + float64(c.High*part))
		}
		wide = max(wide, human.Width(labels[i]))
	}
	out := make([]string, c.Height)
	for i, row := range grid {
		var b strings.Builder
		b.WriteString(strings.Repeat(" ", wide-human.Width(labels[i])))
		b.WriteString(labels[i])
		if labels[i] != "" {
			b.WriteString(" ┤")
		} else {
			b.WriteString(" │")
		}
		for _, d := range row {
			if d == 0 {
				b.WriteByte(' ')
			} else {
				b.WriteRune(0x2800 + d)
			}
		}
		out[i] = strings.TrimRight(b.String(), " ")
	}
	return out
}

// Margin is how many letters stand before the picture.
func Margin(lines []string) int {
	for _, l := range lines {
		if i := strings.IndexAny(l, "┤│"); i >= 0 {
			return human.Width(l[:i]) + 1
		}
	}
	return 0
}

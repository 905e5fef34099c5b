// Package chart draws series in a terminal, with the dots of braille letters, and chooses the
// ticks of scales of values and times.
package chart

import (
	"math"
	"strings"

	"tachograph/cmd/replay/internal/human"
)

// Chart is one picture of a series.
type Chart struct {
	// Values are at equal distances, from one end of the picture to the other; NaN marks a
	// missing value.
	Values []float64
	// Width and Height are in letters, without the scale.
	Width, Height int
	// Axis is the scale of the values. Margin is how many letters precede the picture, at least
	// as many as Axis needs.
	Axis   Axis
	Margin int
	// Times are the ticks of the time axis. The values cover the time from From to To.
	From, To int64
	Times    []TimeTick
}

// Points returns how many values fit the width.
func Points(width int) int { return 2 * width }

// dots are the bits of a braille letter, by column and row.
var dots = [2][4]rune{{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}

// Scale chooses the ends of a scale. It begins at zero unless the values are far from zero.
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

// Lines draws the chart with the time axis below it.
func (c *Chart) Lines() []string {
	grid := make([][]rune, c.Height)
	for i := range grid {
		grid[i] = make([]rune, c.Width)
	}
	rows := 4 * c.Height
	last := -1
	for x := range Points(c.Width) {
		v := c.at(x)
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

// at returns the value in a column of dots. The values fill the width, however many there are.
func (c *Chart) at(x int) float64 {
	if len(c.Values) == 0 {
		return math.NaN()
	}
	return c.Values[x*len(c.Values)/Points(c.Width)]
}

// row returns the row of dots that shows v, counted from the bottom.
func (c *Chart) row(v float64, rows int) int {
	return int(math.Round(c.Axis.Share(v) * float64(rows-1)))
}

// Spaces returns how many spaces between ticks a chart with that many lines has room for.
func Spaces(height int) int {
	return max(1, 2*height/5)
}

// scaled puts the scale in front of the rows and the time axis below them.
func (c *Chart) scaled(grid [][]rune) []string {
	labels := make([]string, c.Height)
	margin := max(c.Margin, c.Axis.Margin())
	for _, t := range c.Axis.Ticks {
		i := c.Height - 1 - c.row(t.Value, 4*c.Height)/4
		labels[i] = t.Label // If ticks share a line, the label of the top one says most.
	}
	out := make([]string, c.Height, c.Height+3)
	for i, row := range grid {
		var b strings.Builder
		b.WriteString(human.Pad(labels[i], margin-2, true))
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
	return append(out, c.below(margin-1)...)
}

// below returns the lines of the time axis: the scale, its labels, and the days.
func (c *Chart) below(margin int) []string {
	if len(c.Times) == 0 || c.Width < 1 {
		return nil
	}
	scale := []rune(strings.Repeat("─", c.Width))
	labels, days := newLine(c.Width+margin+1), newLine(c.Width+margin+1)
	for _, t := range c.Times {
		share := (float64(t.At) - float64(c.From)) / (float64(c.To) - float64(c.From))
		x := 0
		if share > 0 {
			x = min(int(share*float64(c.Width)), c.Width-1)
		}
		scale[x] = '┬'
		if labels.centre(t.Label, margin+1+x) && t.Below != "" {
			days.centre(t.Below, margin+1+x)
		}
	}
	out := []string{strings.Repeat(" ", margin) + "└" + string(scale), labels.String()}
	if text := days.String(); text != "" {
		out = append(out, text)
	}
	return out
}

// line is a line with texts at certain places.
type line struct {
	letters []rune
	end     int // of the text farthest to the right
}

func newLine(width int) *line {
	return &line{letters: []rune(strings.Repeat(" ", width))}
}

// centre puts a text, of letters one column wide each, around a place, as far as the ends of the
// line allow. It reports false if another text is in the way.
func (l *line) centre(text string, at int) bool {
	letters := []rune(text)
	begin := max(min(at-len(letters)/2, len(l.letters)-len(letters)), 0)
	if l.end > 0 && begin < l.end+1 || begin+len(letters) > len(l.letters) {
		return false
	}
	copy(l.letters[begin:], letters)
	l.end = begin + len(letters)
	return true
}

func (l *line) String() string { return strings.TrimRight(string(l.letters), " ") }

// Margin returns how many letters an axis needs beside the picture.
func (a *Axis) Margin() int {
	wide := 0
	for _, t := range a.Ticks {
		wide = max(wide, human.Width(t.Label))
	}
	return wide + 2
}

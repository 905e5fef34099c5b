package chart

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

// A chart of any numbers fits its frame.
func FuzzChart(f *testing.F) {
	f.Add(0.0, 1.0, math.NaN(), 10, 4)
	f.Add(math.Inf(1), math.Inf(-1), math.Inf(1), 3, 1)
	f.Add(math.MaxFloat64, -math.MaxFloat64, 0.0, 2, 8)
	f.Add(math.SmallestNonzeroFloat64, 0.0, math.Copysign(0, -1), 1, 5)
	f.Fuzz(func(t *testing.T, x, y, z float64, width, height int) {
		width, height = width&63+1, height&31+1
		values := []float64{x, y, z, z, math.NaN(), y, x}
		c := Chart{Values: values, Width: width, Height: height, Label: func(float64) string { return "label" }}
		c.Low, c.High = Scale(values)
		if math.IsNaN(c.Low) || math.IsInf(c.Low, 0) || math.IsInf(c.High, 0) || c.Low > c.High {
			t.Fatalf("the scale of %v is %v to %v", values, c.Low, c.High)
		}
		lines := c.Lines()
		if len(lines) != height {
			t.Fatalf("%d lines, want %d", len(lines), height)
		}
		for _, l := range lines {
			if n := utf8.RuneCountInString(l); n > width+len("label ┤") || strings.ContainsAny(l, "\n\x00") {
				t.Errorf("%d letters in %q", n, l)
			}
		}
	})
}

// picture is what is drawn in lines, a letter for each dot.
func picture(lines []string, width int) string {
	rows := make([][]byte, 4*len(lines))
	for y := range rows {
		rows[y] = []byte(strings.Repeat(".", 2*width))
	}
	for i, l := range lines {
		letters := []rune(l)[Margin(lines):]
		for x, r := range letters {
			if r == ' ' {
				continue
			}
			for col, bits := range dots {
				for row, bit := range bits {
					if (r-0x2800)&bit != 0 {
						rows[4*i+row][2*x+col] = '#'
					}
				}
			}
		}
	}
	var out []string
	for _, r := range rows {
		out = append(out, string(r))
	}
	return strings.Join(out, "\n")
}

func TestDots(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name          string
		values        []float64
		width, height int
		low, high     float64
		want          string
	}{
		{"a rise", []float64{0, 1, 2, 3}, 2, 1, 0, 3, `
...#
..#.
.#..
#...`},
		{"a fall", []float64{3, 2, 1, 0}, 2, 1, 0, 3, `
#...
.#..
..#.
...#`},
		{"a jump is a line from beside the one before", []float64{0, 3, 3, 0}, 2, 1, 0, 3, `
.##.
.#.#
.#.#
#..#`},
		{"a gap is not drawn over", []float64{0, nan, 3, 3}, 2, 1, 0, 3, `
..##
....
....
#...`},
		{"what is not finite is a gap", []float64{3, inf, 3, -inf}, 2, 1, 0, 3, `
#.#.
....
....
....`},
		{"what is beyond the scale stands at its ends", []float64{9, 9, -9, -9}, 2, 1, 0, 3, `
##..
..#.
..#.
..##`},
		{"two lines", []float64{0, 7}, 1, 2, 0, 7, `
.#
.#
.#
.#
.#
.#
.#
#.`},
		{"fewer values than dots", []float64{3}, 2, 1, 0, 3, `
#...
....
....
....`},
		{"more values than dots", []float64{0, 0, 3, 3}, 1, 1, 0, 3, `
..
..
..
##`},
		{"no value", nil, 1, 1, 0, 1, `
..
..
..
..`},
		{"a negative scale", []float64{-4, -1}, 1, 1, -4, -1, `
.#
.#
.#
#.`},
		{"a scale as long as numbers go", []float64{-math.MaxFloat64, math.MaxFloat64}, 1, 1, -math.MaxFloat64, math.MaxFloat64, `
.#
.#
.#
#.`},
	} {
		t.Run(c.name, func(t *testing.T) {
			chart := Chart{Values: c.values, Width: c.width, Height: c.height, Low: c.low, High: c.high, Label: func(float64) string { return "x" }}
			if got := picture(chart.Lines(), c.width); got != c.want[1:] {
				t.Errorf("drawn\n%s\nwant%s", got, c.want)
			}
		})
	}
}

func TestScale(t *testing.T) {
	for _, c := range []struct {
		name      string
		values    []float64
		low, high float64
	}{
		{"from zero", []float64{2, 10}, 0, 10},
		{"far from zero", []float64{90, 100}, 90, 100},
		{"on both sides", []float64{-5, 5}, -5, 5},
		{"below zero", []float64{-5, -3}, -5, -3},
		{"always the same", []float64{7, 7}, 0, 7},
		{"always the same, below zero", []float64{-7}, -7, 0},
		{"always zero", []float64{0, 0}, 0, 1},
		{"without what is not finite", []float64{1, math.Inf(1), math.NaN(), 4}, 0, 4},
		{"nothing", []float64{math.NaN()}, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if low, high := Scale(c.values); low != c.low || high != c.high {
				t.Errorf("%v to %v, want %v to %v", low, high, c.low, c.high)
			}
		})
	}
}

// The labels are those of the first, the middle and the last line, and stand in
// front of all.
func TestLabels(t *testing.T) {
	for _, c := range []struct {
		height int
		want   string
		margin int
	}{
		{1, "80 ┤", 4},
		{2, "80 ┤|-4 ┤", 4},
		{4, "80 ┤|   │|   │|-4 ┤", 4},
		{5, "80 ┤|   │|38 ┤|   │|-4 ┤", 4},
	} {
		t.Run(fmt.Sprint(c.height), func(t *testing.T) {
			chart := Chart{Width: 3, Height: c.height, Low: -4, High: 80, Label: func(x float64) string { return fmt.Sprint(x) }}
			lines := chart.Lines()
			if got := strings.Join(lines, "|"); got != c.want || Margin(lines) != c.margin {
				t.Errorf("%q, margin %d", got, Margin(lines))
			}
		})
	}
	if n := Margin([]string{"no chart"}); n != 0 {
		t.Errorf("the margin of what is no chart is %d", n)
	}
}

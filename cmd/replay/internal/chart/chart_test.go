package chart

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"tachograph/sample/metric"
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
		c := Chart{Values: values, Width: width, Height: height, To: int64(width)}
		low, high := Scale(values)
		if math.IsNaN(low) || math.IsInf(low, 0) || math.IsInf(high, 0) || low > high {
			t.Fatalf("the scale of %v is %v to %v", values, low, high)
		}
		c.Axis = Values(low, high, metric.Bytes, false, Spaces(height))
		c.Times = Times(c.From, c.To, time.UTC, 5)
		lines := c.Lines()
		if len(lines) != height+3 && len(lines) != height+2 {
			t.Fatalf("%d lines, want %d", len(lines), height)
		}
		for _, l := range lines {
			if n := utf8.RuneCountInString(l); n > width+c.Axis.Margin() || strings.ContainsAny(l, "\n\x00") {
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
		letters := []rune(l)[len([]rune("x ┤")):]
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
		{"fewer values than dots are stretched", []float64{3, 0}, 2, 1, 0, 3, `
##..
..#.
..#.
..##`},
		{"of more values than dots some are shown", []float64{0, 0, 3, 3}, 1, 1, 0, 3, `
.#
.#
.#
#.`},
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
			chart := Chart{Values: c.values, Width: c.width, Height: c.height, Axis: Axis{Low: c.low, High: c.high, Ticks: []Tick{{c.high, "x"}}}}
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

// What ticks say stands in the line in which a value of theirs is drawn, and times
// below the letters of theirs.
func TestAxes(t *testing.T) {
	at := func(minute int) int64 {
		return time.Date(2026, 11, 20, 23, minute, 0, 0, time.UTC).UnixNano()
	}
	for _, c := range []struct {
		name          string
		width, height int
		from, to      int64
		want          string
	}{
		{"one line", 20, 1, at(0), at(30), `
100 % ┤
      └┬─────────┬────────┬
     23:00     23:15  23:30
  2026-11-20`},
		{"three lines", 24, 3, at(30), at(90), `
100 % ┤
      │
  0 % ┤
      └┬───────────┬──────────┬
     23:30       00:00    00:30
  2026-11-20  2026-11-21`},
		{"seven lines", 12, 7, at(0), at(9), `
100 % ┤
      │
      │
 50 % ┤
      │
      │
  0 % ┤
      └┬─────┬─────
     23:00 23:05
  2026-11-20`},
	} {
		t.Run(c.name, func(t *testing.T) {
			chart := Chart{Width: c.width, Height: c.height, From: c.from, To: c.to, Axis: Values(0, 0.7, metric.NoUnits, true, Spaces(c.height)),
				Times: Times(c.from, c.to, time.UTC, 3)}
			if got := "\n" + strings.Join(chart.Lines(), "\n"); got != c.want {
				t.Errorf("%s\nwant%s", got, c.want)
			}
		})
	}
}

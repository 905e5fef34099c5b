package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"tachograph/cmd/replay/internal/human"
	"tachograph/store/query"
)

func TestSpread(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for _, c := range []struct {
		values []float64
		room   int
		want   []float64
	}{
		{nil, 10, nil},
		{[]float64{1, 2, 3}, 1, []float64{3}},
		{[]float64{1, 5, 3, 2}, 2, []float64{5, 3}},
		{[]float64{1, 5, 3}, 3, []float64{1, 5, 3}},
		{[]float64{1, 5, 3}, 5, []float64{1, 5, 3}},
		{[]float64{1, 5}, 5, []float64{1, 1, 5, 5}},
		{[]float64{1, 5}, 1000, []float64{1, 1, 1, 1, 5, 5, 5, 5}},
		{[]float64{nan, nan, 5, nan}, 2, []float64{nan, 5}},
	} {
		got := spread(c.values, c.room)
		if !slices.EqualFunc(got, c.want, func(x, y float64) bool { return x == y || x != x && y != y }) {
			t.Errorf("%v in %d columns: %v, want %v", c.values, c.room, got, c.want)
		}
	}
}

// TestCoursesUseTheTerminal: the charts of a life are as wide as the terminal, and of
// several lines where these are there.
func TestCoursesUseTheTerminal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ width, height, lines, least int }{{40, 24, 1, 16}, {80, 24, 1, 30}, {80, 60, 3, 30}, {160, 60, 3, 60}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			out := screenOf(c.width, c.height, "ps burner --from 03:10 --archive testdata/mac.txt")
			lines := strings.Split(out, "\n")
			from := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "cpu ") })
			to := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "memory ") })
			if from < 0 || to-from != c.lines {
				t.Fatalf("the chart has %d lines:\n%s", to-from, out)
			}
			if n := strings.Count(lines[to-1], "█"); n < c.least {
				t.Errorf("%d columns are drawn:\n%s", n, out)
			}
			for _, l := range lines {
				if human.Width(l) > c.width {
					t.Errorf("too wide: %s", l)
				}
			}
		})
	}
}

func TestGainsAreCounted(t *testing.T) {
	t.Parallel()
	var g [query.NumProcessCounters]float64
	for i := range g {
		g[i] = math.NaN()
	}
	g[query.MajorFaults], g[query.InterruptWakeups] = 1, 2
	if got := strings.Join(gainsOf(g), ", "); got != "2 wakeups, 1 fault from disk" {
		t.Error(got)
	}
}

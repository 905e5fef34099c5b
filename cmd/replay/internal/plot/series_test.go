package plot

import (
	"math"
	"slices"
	"testing"
)

// Dots between samples are filled, a gap is not.
func TestJoin(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	for _, c := range []struct {
		name         string
		values, want []float64
	}{
		{"a sample a dot", []float64{1, 2, 3}, []float64{1, 2, 3}},
		{"a sample every third dot", []float64{1, nan, nan, 2, nan, nan, 3}, []float64{1, 1, 1, 2, 2, 2, 3}},
		{"nothing before the first and after the last", []float64{nan, 1, nan, 2, nan}, []float64{nan, 1, 1, 2, nan}},
		{"up to three distances", []float64{1, 1, nan, nan, 2}, []float64{1, 1, 1, 1, 2}},
		{"a gap", []float64{1, 1, nan, nan, nan, 2}, []float64{1, 1, nan, nan, nan, 2}},
		{"one sample", []float64{nan, 1, nan}, []float64{nan, 1, nan}},
		{"none", []float64{nan, nan}, []float64{nan, nan}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &Series{Values: slices.Clone(c.values)}
			s.join()
			if !slices.EqualFunc(s.Values, c.want, func(x, y float64) bool { return x == y || x != x && y != y }) {
				t.Errorf("%v becomes %v, want %v", c.values, s.Values, c.want)
			}
		})
	}
}

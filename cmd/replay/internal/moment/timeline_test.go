package moment

import (
	"math"
	"testing"
)

// exact is a timeline when nothing is left to be read.
func exact(t *testing.T, r *Recording, from, to int64, columns int) *Timeline {
	t.Helper()
	for {
		tl, err := r.Timeline(from, to, columns)
		if err != nil {
			t.Fatal(err)
		}
		if !tl.Rough {
			return tl
		}
	}
}

// What a timeline shows at last is what the values say, and so is the peak.
func TestTimelineIsExact(t *testing.T) {
	const columns = 62
	for _, file := range []string{"mac.txt", "semantics.txt", "renamed.txt"} {
		r := open(t, file, "")
		from, to := r.Span()
		tl := exact(t, r, from, to, columns)
		for i, track := range tl.Lanes {
			counts, mean, high := make([]float64, columns), make([]float64, columns), blank(columns)
			peak, peakAt := math.Inf(-1), int64(0)
			err := r.lanes[i].line.Values(r.a, r.window(from, to), func(wall int64, x float64) {
				k := column(from, to, columns, wall)
				counts[k]++
				mean[k] += x
				if !(high[k] >= x) {
					high[k] = x
				}
				if x > peak {
					peak, peakAt = x, wall
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-6*math.Max(math.Abs(a), math.Abs(b)) }
			for k := range columns {
				switch {
				case counts[k] == 0 != math.IsNaN(track.Mean[k]):
					t.Errorf("%s, %s, column %d: %v of %v values", file, track.Name, k, track.Mean[k], counts[k])
				case counts[k] > 0 && (!near(track.Mean[k], mean[k]/counts[k]) || !near(track.High[k], high[k])):
					t.Errorf("%s, %s, column %d: %v, at most %v; the values say %v, at most %v", file, track.Name, k, track.Mean[k], track.High[k], mean[k]/counts[k], high[k])
				}
			}
			at, value, ok, err := r.Peak(track.Name, from, to)
			if err != nil || ok != !math.IsInf(peak, -1) || ok && (value != peak || at != peakAt) {
				t.Errorf("%s, the peak of %s: %v at %v, the values say %v at %v (%v)", file, track.Name, value, at, peak, peakAt, err)
			}
		}
	}
}

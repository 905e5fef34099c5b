package report

import (
	"math"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/query"
)

// mostColumns is the most columns that a plot has: more than a wide screen has dots, so that
// zooming shows more, and few enough that a day fits into a mail.
const mostColumns = 3000

// steps are the lengths of columns that people can reckon with.
var steps = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// grid is the window cut into columns of equal length. Column k holds what was read after its
// beginning and up to its end, like the steps of "replay rates --step".
type grid struct {
	from int64 // beginning of the first column
	step int64
	n    int
}

// newGrid covers a window with columns of length step or, if that is zero, with at most that
// many columns.
func newGrid(from, to, step int64, most int) grid {
	g := grid{step: step}
	if step <= 0 {
		g.step = stepOf(to-from, most)
	}
	g.from = from - mod(from, g.step)
	if g.from == from {
		g.from -= g.step // The first value belongs to the column that ends there.
	}
	g.n = int((to-g.from-1)/g.step) + 1
	return g
}

// stepOf returns the length of columns with which at most that many cover a length.
func stepOf(length int64, most int) int64 {
	step := int64(0)
	for _, s := range steps {
		step = int64(s)
		if length/step+2 <= int64(most) {
			return step
		}
	}
	for length/step+2 > int64(most) {
		step *= 2
	}
	return step
}

func mod(a, b int64) int64 { return ((a % b) + b) % b }

// column returns the column that contains an instant, -1 before the first.
func (g grid) column(wall int64) int {
	if wall <= g.from {
		return -1
	}
	return int((wall - g.from - 1) / g.step)
}

// track is a series reduced to the columns of a grid.
type track struct {
	name      string
	mean      []float64 // sums until finish; NaN where nothing was recorded
	low, high []float64
	weight    []float64
	last      int64 // wall clock of the last value
	total     float64
	seconds   float64
}

func newTrack(name string, n int) *track {
	t := &track{name: name, mean: make([]float64, n), low: make([]float64, n), high: make([]float64, n), weight: make([]float64, n)}
	for i := range n {
		t.low[i], t.high[i] = math.Inf(1), math.Inf(-1)
	}
	return t
}

// add adds a value that was read at wall. It describes the time since the previous value,
// usually every. If columns are shorter than that, the value goes into all the columns that it
// describes; held values last until the next.
func (t *track) add(g grid, wall int64, x float64, every int64) {
	length := wall - t.last
	if t.last == 0 || length <= 0 || length > 3*every {
		length = every
	}
	t.last = wall
	if x != x || math.IsInf(x, 0) {
		return
	}
	t.span(g, wall-length, wall, x)
	seconds := float64(length) / 1e9
	t.total += float64(x * seconds)
	t.seconds += seconds
}

// span puts a value into the columns from one instant to another.
func (t *track) span(g grid, from, to int64, x float64) {
	k := g.column(to)
	first := k
	if to-from > g.step {
		first = max(g.column(from)+1, 0)
	}
	weight := float64(to-from) / 1e9
	for i := first; i <= k; i++ {
		if i < 0 || i >= g.n {
			continue
		}
		t.mean[i] += float64(x * weight)
		t.weight[i] += weight
		t.low[i] = math.Min(t.low[i], x)
		t.high[i] = math.Max(t.high[i], x)
	}
}

// moves reports whether anything but zero was read.
func (t *track) moves() bool {
	for i, w := range t.weight {
		if w != 0 && (t.low[i] != 0 || t.high[i] != 0) {
			return true
		}
	}
	return false
}

// finish turns sums into means, and scales everything.
func (t *track) finish(factor float64) {
	for i, w := range t.weight {
		if w == 0 {
			t.mean[i], t.low[i], t.high[i] = math.NaN(), math.NaN(), math.NaN()
			continue
		}
		t.mean[i] = t.mean[i] / w * factor
		t.low[i] *= factor
		t.high[i] *= factor
	}
	t.total *= factor
	t.weight = nil
}

// everyOf returns how often a series was read.
func everyOf(s *query.Series) int64 {
	class := metric.Fast
	if s.Metric != nil {
		class = s.Metric.Class
	}
	if every := int64(s.Archive.Intervals[class]); every > 0 && time.Duration(every) < metric.Once {
		return every
	}
	return int64(time.Second)
}

// level limits the sum of all series in a column to whole times the covered part of the column.
// What exceeds it goes to earlier columns, up to the next column that is not covered at all, and
// what they have no room for goes to later ones.
func level(sums [][]float64, covered []float64, whole float64) {
	rest := make([]float64, len(sums))
	for begin := 0; begin < len(covered); {
		end := begin
		for end < len(covered) && covered[end] > 0 {
			end++
		}
		clear(rest)
		for k := end - 1; k >= begin; k-- {
			fit(sums, rest, k, whole*covered[k])
		}
		for k := begin; k < end; k++ {
			fit(sums, rest, k, whole*covered[k])
		}
		begin = end + 1
	}
}

// fit adds the rest from other columns to a column and keeps as rest what has no room.
func fit(sums [][]float64, rest []float64, k int, room float64) {
	all := 0.0
	for i := range sums {
		sums[i][k] += rest[i]
		rest[i] = 0
		all += sums[i][k]
	}
	if all <= room {
		return
	}
	for i := range sums {
		fits := sums[i][k] * room / all
		sums[i][k], rest[i] = fits, sums[i][k]-fits
	}
}

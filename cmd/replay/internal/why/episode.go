package why

import (
	"math"
	"slices"
	"time"
)

// episode is a stretch in which a course was out of the ordinary.
type episode struct {
	from, to    int     // slots; to is the one after the last
	level, peak float64 // the median, and the maximum
	calm        float64 // the mean of the calm stretch; NaN where that is not known
	// rare is how unusual the level is in the rest of the field: 1 where it was never reached, 0
	// where it often is.
	rare float64
}

const (
	// bridged is how many slots in which all was well do not end an episode.
	bridged = 2
	// distance is how many spreads above the calm stretch the ordinary ends.
	distance = 4
	// lasting is how long an episode must last to weigh half of what it would if it lasted for
	// ever.
	lasting = 6e9
)

// find finds the worst episode of a course in the window: where it is over least, and far over
// its values in the calm stretch. It returns nil if there is none.
func (q *question) find(c *course, least float64, bad func(x float64) float64) *episode {
	f := q.field
	lo, hi := f.slots(q.w)
	cl, ch := f.slots(q.calm)
	calm := c.x[cl:ch]
	if q.calm.To == 0 {
		// Without a calm stretch, the calmest part of the window is the measure.
		part := quantile(c.x[lo:hi], 0.3)
		calm = slices.DeleteFunc(slices.Clone(c.x[lo:hi]), func(x float64) bool { return !(x <= part) })
	}
	limit := least
	if len(known(calm)) > 0 && !c.signal.absolute {
		base := mean(calm)
		limit = max(limit, grade(base, distance*(quantile(calm, 0.95)-quantile(calm, 0.5))), 1.4*base)
	}
	var best *episode
	worst := 0.0
	for k := lo; k < hi; k++ {
		if !(c.x[k] >= limit) {
			continue
		}
		e, sum := stretchFrom(c, k, hi, limit, bad)
		k = e.to
		if q.shown.To != 0 && (f.begin(e.from) >= q.shown.To || f.begin(e.to) <= q.shown.From) {
			continue // It lies only beside the window.
		}
		if best == nil || sum > worst {
			best, worst = e, sum
		}
	}
	if best == nil {
		return nil
	}
	best.calm = mean(c.x[cl:ch])
	q.extend(c, best, limit)
	stretch := c.x[best.from:best.to]
	best.level, best.peak = quantile(stretch, 0.5), quantile(stretch, 1)
	best.rare = q.rarity(c, best)
	return best
}

// farthest is how far beyond the window an episode that reaches out of it is followed at least.
const farthest = int64(10 * time.Minute)

// extend follows an episode beyond the window.
func (q *question) extend(c *course, e *episode, limit float64) {
	lo, hi := q.field.slots(q.w)
	far := max(hi-lo, int(farthest/q.field.width))
	most := bridged + c.gap
	if e.from <= lo+most {
		for k := e.from - 1; k >= max(lo-far, 0) && e.from-k <= most; k-- {
			if c.x[k] >= limit {
				e.from = k
			}
		}
	}
	if e.to >= hi-most {
		for k := e.to; k < min(hi+far, len(c.x)) && k-e.to < most; k++ {
			if c.x[k] >= limit {
				e.to = k + 1
			}
		}
	}
}

// stretchFrom returns the stretch that begins at slot k, where c is over the limit, and how bad
// it was.
func stretchFrom(c *course, k, hi int, limit float64, bad func(float64) float64) (*episode, float64) {
	e := &episode{from: k, to: k + 1}
	sum, quiet := bad(c.x[k]), 0
	for j := k + 1; j < hi && quiet <= bridged && j-e.to < (bridged+1)*c.gap; j++ {
		switch x := c.x[j]; {
		case x != x: // Not read then: that is neither well nor bad.
		case x >= limit:
			sum += bad(x)
			e.to, quiet = j+1, 0
		default:
			quiet++
		}
	}
	return e, sum
}

// rarity returns how unusual an episode's level is outside the window.
func (q *question) rarity(c *course, e *episode) float64 {
	lo, hi := q.field.slots(q.w)
	often := q.often(c, e)
	over, n, inOver, in := 0.0, 0.0, 0.0, 0.0
	for k, x := range c.x {
		if k >= e.from && k < e.to || x != x {
			continue
		}
		sum, count := &over, &n
		if k >= lo && k < hi {
			sum, count = &inOver, &in
		}
		if *count++; x >= 0.85*e.level {
			*sum++
		}
	}
	// If the window is most of what is known, the rest of it counts as well: what comes and goes
	// in it all the time is usual.
	if n < float64(hi-lo)/2 && in > 0 {
		return min(max(1-2*(over+inOver)/(n+in), 0), often)
	}
	if n == 0 {
		return often
	}
	return min(max(1-4*over/n, 0), often)
}

// often returns how unusual an episode's level is compared with the second highest mean of the
// course in other times as long.
func (q *question) often(c *course, e *episode) float64 {
	long := e.to - e.from
	var list []float64
	part := func(from, to int) {
		for k := from; k+long <= to; k += long {
			if x := mean(c.x[k : k+long]); x == x {
				list = append(list, x)
			}
		}
	}
	part(0, max(e.from-bridged, 0))
	part(min(e.to+bridged, len(c.x)), len(c.x))
	if len(list) < 2 || !(e.level > 0) || c.signal.absolute {
		return 1
	}
	slices.Sort(list)
	const some, all = 0.5, 0.9 // parts of the level that are usual
	return 1 - min(max((list[len(list)-2]/e.level-some)/(all-some), 0), 1)
}

// times returns the episode's first and last instant.
func (f *field) times(e *episode) (since, until int64) {
	return f.begin(e.from), f.begin(e.to)
}

// grade returns a weight: its least value and what is added to it, rounded after each step, so
// that it is the same on every processor.
func grade(least float64, more ...float64) float64 {
	for _, x := range more {
		least += float64(x)
	}
	return least
}

// lasted returns how much an episode's length counts.
func lasted(ns int64) float64 {
	return float64(ns) / (float64(ns) + lasting)
}

// worth returns the weight of an episode: weight is what the worst of its kind weighs, and badly,
// from 0 to 1, is how bad it was.
func (f *field) worth(e *episode, weight, badly float64) float64 {
	since, until := f.times(e)
	return weight * grade(0.4, 0.6*badly) * lasted(until-since) * grade(0.15, 0.85*e.rare)
}

// duration returns the length of an episode.
func (f *field) duration(e *episode) int64 { return int64(e.to-e.from) * f.width }

func orZero(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return x
}

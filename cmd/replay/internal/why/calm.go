package why

import (
	"math"

	"tachograph/store/query"
)

// findCalm finds the stretch that the window is compared with: one near it in which the signals
// were ordinary, in the same boot and without a break. A stretch before the window is preferred:
// afterwards much is a consequence of the trouble. Where nothing else was recorded, it is the
// calmest part of the window, if that was calm.
func (q *question) findCalm() {
	f := q.field
	lo, hi := f.slots(q.w)
	if q.shown.To != 0 && q.during(q.asked.From, q.asked.To) == nil {
		lo, hi = f.slots(q.shown)
	}
	long := hi - lo
	for int64(long)*f.width > int64(2*besides) {
		long /= 2
	}
	long = max(long, int(least/f.width))
	bad := f.badness(false)
	score := func(k, long int) float64 {
		if k < 0 || k+long > f.n || !q.steady(f.begin(k), f.begin(k+long)) {
			return math.NaN()
		}
		return mean(bad[k : k+long])
	}
	// A stretch's worst slot counts as well: the trouble may reach into it.
	worst := func(k, long int) float64 { return score(k, long) + float64(0.25*quantile(bad[k:k+long], 1)) }
	// Metrics that are read seldom show a change that much later, and until then the state
	// before.
	beside := int(q.slack() / f.width)
	before := max(min(beside, lo-max(int(least/f.width), 1)), 0) // where there is room
	best, chosen, length := math.Inf(1), -1, long
	try := func(k, long int, x float64) {
		if x < best {
			best, chosen, length = x, k, long
		}
	}
	for _, n := range []int{long, max(long/3, int(least/f.width)), max(int(least/f.width), 1)} {
		step := max(n/4, 1)
		shorter := float64(0.03 * (1 - float64(n)/float64(long)))
		for k := lo - before - n; k >= 0; k -= step {
			try(k, n, worst(k, n)+shorter+float64(0.01*float64(lo-before-k-n))/float64(n))
		}
		for k := hi + beside; k+n <= f.n; k += step {
			try(k, n, worst(k, n)+shorter+float64(0.05*float64(k-hi-beside+n))/float64(n))
		}
	}
	if chosen < 0 && hi > lo {
		n := max((hi-lo)/6, int(least/f.width)/2, 1)
		for k := lo; k+n <= hi; k += max(n/4, 1) {
			if q.r.At == 0 || f.begin(k) > q.r.At || f.begin(k+n) < q.r.At {
				try(k, n, score(k, n))
			}
		}
		if best > 0.5*mean(bad[lo:hi]) && best > 0.1 {
			return
		}
	}
	if chosen >= 0 {
		q.calm = query.Window{Hosts: q.w.Hosts, From: f.begin(chosen), To: f.begin(chosen + length)}
	}
}

// steady reports whether the recording went on from one instant to another.
func (q *question) steady(from, to int64) bool {
	for _, b := range q.silences {
		if b.To > from && b.From < to {
			return false
		}
	}
	return true
}

// badness returns how bad each slot was: zero where all signals were ordinary, NaN where nothing
// was recorded. With usual, what is usual for a signal throughout the field is not bad.
func (f *field) badness(usual bool) []float64 {
	bad := make([]float64, f.n)
	read := make([]bool, f.n)
	for i := range signals { // in their order, on which the last digits of a sum depend
		for _, c := range f.of[signals[i].name] {
			of, calm := max(c.signal.weight, c.signal.harm), 0.0
			if usual {
				calm = c.signal.share(quantile(c.x, 0.75))
			}
			for k, x := range c.x {
				if x == x {
					read[k] = true
					bad[k] += float64(of * max(c.signal.share(x)-calm, 0))
				}
			}
		}
	}
	f.stir(bad, usual)
	for k := range bad {
		if !read[k] {
			bad[k] = math.NaN()
		}
	}
	return bad
}

// stir adds a little for the processors that were used, far below what counts: among stretches in
// which nothing was bad, the busiest is the worst, and the idlest the calm one. One core of many
// in a loop is no trouble of the machine.
func (f *field) stir(bad []float64, usual bool) {
	const little = 0.05
	for _, c := range f.of["cpu"] {
		base := 0.0
		if usual {
			base = orZero(quantile(c.x, 0.5))
		}
		for k, x := range c.x {
			if x == x {
				bad[k] += float64(little * max(x-base, 0))
			}
		}
	}
}

// wide is the ratio of a signal's severe to its least from which on each factor of ten in between
// counts the same.
const wide = 25

// judged reports whether share is ever more than 0.
func (s *signal) judged() bool { return s.severe > s.least }

// share returns how bad a value is: 0 if it is not worth a line, 1 if it cannot be worse.
func (s *signal) share(x float64) float64 {
	if !s.judged() {
		return 0
	}
	if s.least > 0 && s.severe >= wide*s.least {
		return logShare(x, s.least, s.severe)
	}
	return min(max((x-s.least)/(s.severe-s.least), 0), 1)
}

// logShare returns where x lies between least and severe, on a logarithmic scale. It is rounded,
// as processors differ in the last digits of a logarithm.
func logShare(x, least, severe float64) float64 {
	if !(x > least) {
		return 0
	}
	return min(math.Round(1e6*math.Log(x/least)/math.Log(severe/least))/1e6, 1)
}

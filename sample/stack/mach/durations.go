package mach

import (
	"slices"
	"time"

	"tachograph/sample/stack"
)

// durations are lengths of suspensions in nanoseconds; last has the most recent ones.
type durations struct {
	n            int
	sum, longest int64
	spread       stack.Spread
	last         []int64
}

// kept is how many are kept to compute the median.
const kept = 1 << 16

func (d *durations) add(ns int64) {
	d.sum += ns
	d.longest = max(d.longest, ns)
	d.spread.Add(time.Duration(ns))
	if len(d.last) < kept {
		d.last = append(d.last, ns)
	} else {
		d.last[d.n%kept] = ns
	}
	d.n++
}

func (d *durations) median() int64 {
	if len(d.last) == 0 {
		return 0
	}
	slices.Sort(d.last)
	return d.last[len(d.last)/2]
}

// count puts them into the statistics of a session.
func (d *durations) count(s *stack.Statistics) {
	s.Suspensions, s.Suspended, s.Spread = d.n, d.sum, d.spread
	s.Median, s.Longest = d.median(), d.longest
}

package mach

import "slices"

// durations are lengths of suspensions; last has the most recent ones.
type durations struct {
	n       int
	longest int64
	last    []int64
}

// kept is how many are kept to compute the median.
const kept = 1 << 16

func (d *durations) add(ns int64) {
	d.longest = max(d.longest, ns)
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

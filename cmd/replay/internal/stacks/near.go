package stacks

import (
	"slices"
	"time"

	"tachograph/sample/stack"
	"tachograph/store/query"
)

const (
	// together is the longest distance between ticks of the same sampling.
	together = int64(5 * time.Second)
	// second is how long before its instant a tick began.
	second = int64(time.Second)
	// maxTicks bounds the number of ticks to look at.
	maxTicks = 1 << 16
)

// Near returns the window of the sampling at an instant, or nearest to it within reach, for one
// host; false if there was none.
func Near(a query.Archive, host string, at int64, reach time.Duration) (w query.Window, ok bool) {
	w = query.Window{Hosts: []string{host}, From: at - int64(reach), To: at + int64(reach)}
	if a.Lookup(stack.Samples) == nil {
		return w, false
	}
	seen := make(map[int64]bool)
	for run := range runs(a, w, stack.Samples) {
		for _, wall := range run.Wall {
			if len(seen) < maxTicks {
				seen[wall] = true
			}
		}
	}
	if len(seen) == 0 {
		return w, false
	}
	ticks := make([]int64, 0, len(seen))
	for wall := range seen {
		ticks = append(ticks, wall)
	}
	slices.Sort(ticks)
	best := 0
	for i, wall := range ticks {
		if away(wall, at) < away(ticks[best], at) {
			best = i
		}
	}
	first, last := best, best
	for first > 0 && ticks[first]-ticks[first-1] <= together {
		first--
	}
	for last+1 < len(ticks) && ticks[last+1]-ticks[last] <= together {
		last++
	}
	w.From, w.To = ticks[first], ticks[last]
	return w, true
}

// away returns how far the second that a tick describes is from an instant.
func away(tick, at int64) int64 {
	switch {
	case at > tick:
		return at - tick
	case at < tick-second:
		return tick - second - at
	}
	return 0
}

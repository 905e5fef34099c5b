package query

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"tachograph/store"
)

// An archive may cover much more time than was recorded in it, because a clock was wrong for a
// while, or because of an index that a stranger wrote. Nothing here takes time for empty time,
// and no question reaches so far from 1970 that the distance of two times overflows an int64 of
// nanoseconds.

const (
	// farthest is 146 years, as far as the index of an archive goes.
	farthest = 1<<62 - 1
	// maxSteps is how many steps an answer may have, not counting those between archives: 24 days
	// of seconds, 4 years of minutes.
	maxSteps = 1 << 21
	// maxParts is how many steps may be answered one at a time.
	maxParts = 1 << 16
)

// checkSteps refuses a request with too many steps.
func checkSteps(a Archive, r Request, most int64) error {
	if r.Step <= 0 {
		return nil
	}
	n := float64(0)
	spans := covering(a, r.Window)
	for _, s := range spans {
		n += float64(s.To-s.From)/float64(r.Step) + 1
	}
	if n <= float64(most) {
		return nil
	}
	show := func(wall int64) string { return time.Unix(0, wall).UTC().Format("2006-01-02 15:04") }
	return fmt.Errorf("steps of %s from %s to %s (UTC) are %.0f, and at most %d are computed: take longer steps, or a shorter window",
		time.Duration(r.Step), show(spans[0].From), show(spans[len(spans)-1].To), n, most)
}

// covering returns the spans that archives cover in a window, in order; spans that overlap or
// meet are joined.
func covering(a Archive, w Window) []Window {
	_, _, list := Covered(a, w)
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(x, y *store.ArchiveInfo) int { return cmp.Compare(x.From, y.From) })
	var out []Window
	for _, info := range list {
		s := Window{Hosts: w.Hosts, From: max(info.From, w.From, -farthest), To: min(info.To, farthest)}
		if w.To != 0 {
			s.To = min(s.To, w.To)
		}
		if n := len(out); n > 0 && s.From <= out[n-1].To+1 {
			out[n-1].To = max(out[n-1].To, s.To)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// longGap is how many steps that no archive covers are still shown as steps without a value;
// longer stretches are left out.
const longGap = 4096

// uncovered returns the next step after n that an archive covers; n itself if that is covered, or
// if the next one is near.
func (t *stepper) uncovered(n int64) int64 {
	begin := t.steps.edge(n - 1)
	i, _ := slices.BinarySearchFunc(t.covered, begin, func(s Window, at int64) int { return cmp.Compare(s.To, at) })
	if i == len(t.covered) || t.covered[i].From <= begin {
		return n
	}
	if next := t.number(t.covered[i].From); next > n+longGap {
		return next
	}
	return n
}

// fit cuts the ticks up to hi to the number that one slice may have, and returns where the slice
// ends. Where there are few ticks, the next slice covers more time, so that time in which next to
// nothing was recorded costs next to nothing; where there are too many, the next slice is as
// short as usual.
func (ev *evaluator) fit(g grid, hi int64) (grid, int64) {
	switch ticks := ev.sliceTicks(); {
	case len(g) > 4*ticks:
		ev.wide = 1
		g, hi = g[:ticks], g[ticks]-1
	case len(g) < ticks/8 && ev.wide < widest:
		ev.wide *= 4
	default:
		return g, hi
	}
	if ev.misfits++; ev.misfits == manyMisfits {
		margin := ev.tick
		ev.e.root.leaves(func(n *node) { margin = max(margin, 3*ev.longest(n.desc)+ev.tick) })
		ev.a = newMemo(ev.a, hi-margin)
	}
	return g, hi
}

// manyMisfits is how many slices may have too few or too many ticks before values are remembered
// from one slice to the next.
const manyMisfits = 3

// widest is the largest multiple of a slice that is still a length of time.
const widest = 1 << 40

// firstPart returns the first step from n on for which r has a result. Empty steps are passed
// over in leaps.
func firstPart(a Archive, r RangeRequest, steps division, n, end int64) (int64, error) {
	some := func(from, to int64) (bool, error) {
		part := r
		part.Step, part.Percentiles = 0, false
		part.From, part.To = max(steps.edge(from-1), r.From), steps.edge(to)-1
		for _, err := range Ranges(a, part) {
			return err == nil, err
		}
		return false, nil
	}
	for leap := int64(1); n <= end; leap *= 2 {
		to := min(n+leap-1, end)
		found, err := some(n, to)
		if err != nil {
			return 0, err
		}
		if !found {
			n = to + 1
			continue
		}
		for n < to {
			half := n + (to-n)/2
			if found, err = some(n, half); err != nil {
				return 0, err
			} else if found {
				to = half
			} else {
				n = half + 1
			}
		}
		return n, nil
	}
	return n, nil
}

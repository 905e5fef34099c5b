package main

import (
	"iter"
	"slices"
	"sort"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/follow"
	"tachograph/store/layout"
	"tachograph/store/query"
)

// upTo is an archive without the ticks behind a position: what a follower delivers
// from there on.
type upTo struct {
	query.Archive
	pos   follow.Position
	read  clocks
	later map[string]bool // IDs of archives behind that of the position
}

// clocks are continuous clocks by class. Those of a tick and of what was read in it
// differ: groups are read one after the other.
type clocks [metric.NumClasses]int64

// cohorted is an archive that parts very many instances: a *store.Reader.
type cohorted interface {
	Cohorts(sel store.Selection, size int) iter.Seq[store.Selection]
	CohortLives(c *store.Cohort, indom string, from, to int64) iter.Seq[*store.Life]
}

// cohortedUpTo is one that can do that.
type cohortedUpTo struct {
	*upTo
	cohorted
}

// upTo is an archive up to where the follower went on.
func (f *following) upTo(a query.Archive) *upTo {
	pos := f.begin
	u := &upTo{Archive: a, pos: pos, read: f.read, later: make(map[string]bool)}
	behind := ""
	for _, info := range a.Archives() {
		if info.ID == pos.Archive {
			behind = info.Host.ID
		} else if behind != "" && info.Host.ID == behind {
			u.later[info.ID] = true
		}
	}
	return u
}

// whole is u with what else its archive can do.
func (u *upTo) whole() query.Archive {
	if c, ok := u.Archive.(cohorted); ok {
		return &cohortedUpTo{u, c}
	}
	return u
}

// Select leaves out ticks behind the position.
func (u *upTo) Select(sel store.Selection) iter.Seq[*store.Run] {
	return func(yield func(*store.Run) bool) {
		for run := range u.Archive.Select(sel) {
			if u.later[run.Archive.ID] {
				continue
			}
			if run.Archive.ID == u.pos.Archive {
				limit := max(u.pos.Ticks[run.Metric.Class], u.read[run.Metric.Class])
				n := sort.Search(len(run.Cont), func(i int) bool { return run.Cont[i] > limit })
				if n == 0 {
					continue
				}
				run = cut(run, n)
			}
			if !yield(run) {
				return
			}
		}
	}
}

// cut is the beginning of a run.
func cut(run *store.Run, n int) *store.Run {
	if n == len(run.Wall) {
		return run
	}
	part := *run
	part.Wall, part.Cont, part.Bits = run.Wall[:n], run.Cont[:n], run.Bits[:n]
	if run.Miss != nil {
		part.Miss = run.Miss[:n]
	}
	return &part
}

// eventsUpTo is an archive without the events behind a position, which counts them.
type eventsUpTo struct{ *upTo }

// Events leaves out those behind the position.
func (u eventsUpTo) Events(from, to int64, kinds ...metric.EventKind) iter.Seq[*store.Event] {
	return func(yield func(*store.Event) bool) {
		var churn, rest uint64
		for e := range u.Archive.Events(0, 0) {
			if u.later[e.Archive.ID] {
				continue
			}
			if e.Archive.ID == u.pos.Archive {
				n, limit := &rest, u.pos.Events
				if layout.IsChurn(e.Kind) {
					n, limit = &churn, u.pos.Churn
				}
				if *n++; *n > limit {
					continue
				}
			}
			if e.At.Wall < from || to != 0 && e.At.Wall > to || len(kinds) > 0 && !slices.Contains(kinds, e.Kind) {
				continue
			}
			if !yield(e) {
				return
			}
		}
	}
}

// Package query computes answers from archives: rates, ranges, steps, derived
// expressions, differences between windows, and who did what. It decodes only what a
// question needs, and prints nothing.
package query

import (
	"iter"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
)

// Archive is what questions are asked of.
type Archive = store.Archive

// cohortSize is about how many instances are in a part of an answer.
var cohortSize = 4 << 10

// briefly is the length of a window of which few chunks are open at a time. Its cohorts have twice as many
// instances: each cohort of each metric costs a look at all keys and names.
const briefly = 2 * time.Hour

// cohortSize returns about how many instances are in a part of the answer to r.
func (r Request) cohortSize() int {
	if r.To != 0 && r.To-r.From <= int64(briefly) {
		return 2 * cohortSize
	}
	return cohortSize
}

// cohorts divides r, if it asks for one metric of processes or threads, into independent parts,
// so that nothing need be kept from one to the next. size is about how many instances are in each.
func cohorts(a Archive, r Request, size int) iter.Seq[Request] {
	return func(yield func(Request) bool) {
		if len(r.Metrics) != 1 || r.Cohort != nil {
			yield(r)
			return
		}
		if d := a.Lookup(r.Metrics[0]); d == nil || !metric.PerBoot(d.Indom) {
			yield(r)
			return
		}
		sel := r.selection()
		sel.Prior = true
		for part := range a.Cohorts(sel, size) {
			r.Cohort = part.Cohort
			if !yield(r) {
				return
			}
		}
	}
}

// Window is the span of wall clock time, both ends inclusive, and the hosts that a question is
// about. A zero To means the end of the archive; nil Hosts means all.
type Window struct {
	Hosts    []string
	From, To int64
}

// Wants reports whether the window's hosts include id.
func (w Window) Wants(id string) bool {
	if w.Hosts == nil {
		return true
	}
	for _, h := range w.Hosts {
		if h == id {
			return true
		}
	}
	return false
}

// Holds reports whether wall lies in the window.
func (w Window) Holds(wall int64) bool {
	return wall >= w.From && (w.To == 0 || wall <= w.To)
}

// Selection returns the window as a selection of the store.
func (w Window) Selection(metrics ...string) store.Selection {
	return store.Selection{Hosts: w.Hosts, From: w.From, To: w.To, Metrics: metrics}
}

// Covered returns the span that the archives of the window's hosts cover, and the archives that
// overlap the window.
func Covered(a Archive, w Window) (from, to int64, overlapping []*store.ArchiveInfo) {
	for _, info := range a.Archives() {
		if !w.Wants(info.Host.ID) {
			continue
		}
		if from == 0 || info.Begin() < from {
			from = info.Begin()
		}
		to = max(to, info.To)
		if info.To >= w.From && (w.To == 0 || info.Begin() <= w.To) {
			overlapping = append(overlapping, info)
		}
	}
	return max(from, -farthest), min(to, farthest), overlapping
}

// interval returns how often a class was read in the archive, in nanoseconds; zero where it was
// not read repeatedly.
func interval(info *store.ArchiveInfo, c metric.Class) int64 {
	every := info.Intervals[c]
	if every <= 0 || every > longestInterval {
		return 0
	}
	return int64(every)
}

// longestInterval is the longest interval of a class that counts as read repeatedly.
const longestInterval = 366 * 24 * time.Hour

// seriesID identifies a series of a Reader, also in the next archive.
type seriesID struct {
	host, boot, metric, key string
}

func idOf(info *store.ArchiveInfo, d *metric.Desc, in *metric.Instance) seriesID {
	id := seriesID{host: info.Host.ID, metric: d.Name}
	if in != nil {
		id.key = in.Key
		if metric.PerBoot(d.Indom) {
			id.boot = info.BootID
		}
	}
	return id
}

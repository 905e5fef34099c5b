// Package query computes answers from archives: rates, ranges, steps, derived
// expressions, differences between windows, and who did what. It reads through
// the small Archive interface, decodes only what a question needs, and prints
// nothing.
package query

import (
	"iter"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
)

// Archive is what questions are put to: a *store.Reader, which shows one or
// many archives as one timeline.
type Archive interface {
	Hosts() []metric.Host
	Archives() []*store.ArchiveInfo
	Metrics() []*metric.Desc
	Lookup(name string) *metric.Desc
	Select(store.Selection) iter.Seq[*store.Run]
	Summarize(store.Selection) iter.Seq[*store.Summary]
	Lives(indom string, from, to int64, keys ...string) iter.Seq[*store.Life]
	Events(from, to int64, kinds ...metric.EventKind) iter.Seq[*store.Event]
}

// chunkwise is an Archive that sums up chunk by chunk and keeps nothing of the
// instances that pass: a *store.Reader.
type chunkwise interface {
	SummarizeByChunk(store.Selection) iter.Seq[[]store.Summary]
}

// totalling is an Archive that has totals of processes that came and went: a
// *store.Reader.
type totalling interface {
	Total(store.Selection, func(*store.Totals) bool) iter.Seq[store.Part]
}

// reading is an Archive that tells when something was read last, whatever there was
// to read: a *store.Reader.
type reading interface {
	LastRead(store.Selection) int64
}

// timekeeper is an Archive that tells when instances were read without what was
// read: a *store.Reader.
type timekeeper interface {
	Readings(store.Selection) iter.Seq2[*metric.Instance, []int64]
}

// readTimes are when the instances that sel wants were read.
func readTimes(a Archive, sel store.Selection) iter.Seq2[*metric.Instance, []int64] {
	if t, ok := a.(timekeeper); ok {
		return t.Readings(sel)
	}
	return func(yield func(*metric.Instance, []int64) bool) {
		for run := range a.Select(sel) {
			if run.Instance != nil && !yield(run.Instance, run.Wall) {
				return
			}
		}
	}
}

// totals are the summaries of sel by chunk, and totals where there are some and
// decode does not say otherwise.
func totals(a Archive, sel store.Selection, decode func(*store.Totals) bool) iter.Seq[store.Part] {
	if t, ok := a.(totalling); ok && decode != nil {
		return t.Total(sel, decode)
	}
	return func(yield func(store.Part) bool) {
		for list := range byChunk(a, sel) {
			if !yield(store.Part{Summaries: list}) {
				return
			}
		}
	}
}

// parting is an Archive that parts very many instances into cohorts: a
// *store.Reader.
type parting interface {
	Cohorts(sel store.Selection, size int) iter.Seq[store.Selection]
	CohortLives(c *store.Cohort, indom string, from, to int64) iter.Seq[*store.Life]
}

// cohortSize is about how many instances are answered for at once.
var cohortSize = 4 << 10

// cohorts are the parts of r, which asks for one metric of processes or threads,
// so that nothing need be kept from one to the next.
func cohorts(a Archive, r Request) iter.Seq[Request] {
	return func(yield func(Request) bool) {
		p, ok := a.(parting)
		if !ok || len(r.Metrics) != 1 || r.Cohort != nil {
			yield(r)
			return
		}
		if d := a.Lookup(r.Metrics[0]); d == nil || !metric.PerBoot(d.Indom) {
			yield(r)
			return
		}
		sel := r.selection()
		sel.Prior = true
		for part := range p.Cohorts(sel, cohortSize) {
			r.Cohort = part.Cohort
			if !yield(r) {
				return
			}
		}
	}
}

// byChunk are the summaries of sel by chunk, in the order of time; all at once
// where the archive cannot do better.
func byChunk(a Archive, sel store.Selection) iter.Seq[[]store.Summary] {
	if p, ok := a.(chunkwise); ok {
		return p.SummarizeByChunk(sel)
	}
	return func(yield func([]store.Summary) bool) {
		var all []store.Summary
		for s := range a.Summarize(sel) {
			all = append(all, *s)
		}
		yield(all)
	}
}

// Window is the span of wall clock, both ends inclusive, and the hosts that a
// question is about. A zero To means the end of the archive; nil Hosts means
// all.
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

// Selection is the window as the store wants it.
func (w Window) Selection(metrics ...string) store.Selection {
	return store.Selection{Hosts: w.Hosts, From: w.From, To: w.To, Metrics: metrics}
}

// Covered is the span that the archives of the window's hosts cover, and the
// archives that overlap the window.
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

// interval is how often a class was read in the archive, in
// nanoseconds; zero where it was not read repeatedly.
func interval(info *store.ArchiveInfo, c metric.Class) int64 {
	every := info.Intervals[c]
	if every <= 0 || every > longestInterval {
		return 0
	}
	return int64(every)
}

// longestInterval is that of a class which is still read repeatedly.
const longestInterval = 366 * 24 * time.Hour

// seriesID tells series of a Reader apart and finds the same one again in the
// next archive.
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

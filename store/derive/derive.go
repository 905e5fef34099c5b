// Package derive answers questions from the values of an archive, for archives in memory,
// which keep only the values. A store.Reader answers them faster from its chunks.
package derive

import (
	"context"
	"iter"

	"tachograph/sample/metric"
	"tachograph/store"
)

// From is an archive in memory.
type From interface {
	// Parts returns the parts, in the order of time, for one question.
	Parts() []store.Part
	Lives(indom string, from, to int64, keys ...string) iter.Seq[*store.Life]
}

// Answers are the methods of store.Archive that select values. An archive embeds them.
type Answers struct{ From }

var _ store.Derived = Answers{}

// Archives returns the descriptions of the parts.
func (a Answers) Archives() []*store.ArchiveInfo {
	var infos []*store.ArchiveInfo
	for _, p := range a.Parts() {
		infos = append(infos, p.Describe())
	}
	return infos
}

// Hosts returns the hosts that were recorded, each as its latest archive describes it.
func (a Answers) Hosts() []metric.Host { return store.HostsOf(a.Archives()) }

// Select yields values in the same order as a store.Reader. There are no cohorts.
func (a Answers) Select(sel store.Selection) iter.Seq[*store.Run] {
	return store.Select(a.Parts(), sel)
}

// Total yields all summaries at once and no totals, as there are no chunks.
func (a Answers) Total(sel store.Selection, _ func(*store.Totals) bool) iter.Seq[store.Subtotal] {
	return func(yield func(store.Subtotal) bool) {
		var all []store.Summary
		for s := range a.Summarize(sel) {
			all = append(all, *s)
		}
		yield(store.Subtotal{Summaries: all})
	}
}

// Values has nothing to decode: summaries already have their values.
func (a Answers) Values([]store.Place, func(n int, values []store.Repeated)) {}

func (a Answers) Readings(sel store.Selection) iter.Seq2[*metric.Instance, []int64] {
	return func(yield func(*metric.Instance, []int64) bool) {
		for run := range a.Select(sel) {
			if run.Instance != nil && !yield(run.Instance, run.Wall) {
				return
			}
		}
	}
}

func (a Answers) LastRead(sel store.Selection) int64 {
	last := int64(0)
	for run := range a.Select(sel) {
		last = max(last, run.Wall[len(run.Wall)-1])
	}
	return last
}

// Cohorts yields the whole selection as one cohort.
func (a Answers) Cohorts(sel store.Selection, _ int) iter.Seq[store.Selection] {
	return func(yield func(store.Selection) bool) { yield(sel) }
}

func (a Answers) CohortLives(_ *store.Cohort, indom string, from, to int64) iter.Seq[*store.Life] {
	return a.Lives(indom, from, to)
}

// Keys returns false: only Select finds the instances.
func (a Answers) Keys(string, int64, int64, *store.Sought, func(in *metric.Instance) bool) (keys []string, ok bool) {
	return nil, false
}

func (a Answers) Seams([]string, int64, int64) []int64 { return nil }

// Until does nothing: no question takes long.
func (a Answers) Until(context.Context) {}

// Twin returns nil: there is no twin.
func (a Answers) Twin() (twin store.Archive, end func()) { return nil, nil }

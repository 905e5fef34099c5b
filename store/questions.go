package store

import (
	"context"
	"iter"

	"tachograph/sample/metric"
)

// An Archive answers questions about a recording: a Reader, a view of one, its twin, or the
// latest readings in memory. The methods are documented at Reader.
type Archive interface {
	Hosts() []metric.Host
	Archives() []*ArchiveInfo
	Metrics() []*metric.Desc
	Lookup(name string) *metric.Desc
	LookupIn(info *ArchiveInfo, name string) *metric.Desc

	Select(Selection) iter.Seq[*Run]
	Lives(indom string, from, to int64, keys ...string) iter.Seq[*Life]
	Events(from, to int64, kinds ...metric.EventKind) iter.Seq[*Event]

	Derived

	View(Limits) Archive
	Twin() (twin Archive, end func())
	Until(context.Context)
}

// Derived are the questions whose answers follow from Select and Lives. A Reader answers
// them from data that it has besides the values; package derive answers them for all others.
type Derived interface {
	Summarize(Selection) iter.Seq[*Summary]
	Total(sel Selection, decode func(*Totals) bool) iter.Seq[Subtotal]
	Values(places []Place, fn func(n int, values []Repeated))
	Readings(Selection) iter.Seq2[*metric.Instance, []int64]
	LastRead(Selection) int64

	Cohorts(sel Selection, size int) iter.Seq[Selection]
	CohortLives(c *Cohort, indom string, from, to int64) iter.Seq[*Life]
	Keys(indom string, from, to int64, s *Sought, accept func(in *metric.Instance) bool) (keys []string, ok bool)
	Seams(hosts []string, from, to int64) []int64
}

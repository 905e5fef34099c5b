package stacks

import (
	"iter"

	"tachograph/store"
	"tachograph/store/query"
)

// parting is an archive that parts very many instances into cohorts: a *store.Reader.
type parting interface {
	Cohorts(sel store.Selection, size int) iter.Seq[store.Selection]
	CohortLives(c *store.Cohort, indom string, from, to int64) iter.Seq[*store.Life]
}

// cohortSize is about how many instances are known at once.
const cohortSize = 1 << 16

// runs are those of a metric in a window. Where there are very many instances not all of
// them are known at once.
func runs(a query.Archive, w query.Window, metric string) iter.Seq[*store.Run] {
	sel := w.Selection(metric)
	p, ok := a.(parting)
	if !ok {
		return a.Select(sel)
	}
	return func(yield func(*store.Run) bool) {
		for part := range p.Cohorts(sel, cohortSize) {
			for run := range a.Select(part) {
				if !yield(run) {
					return
				}
			}
		}
	}
}

// lives are the instances of a domain in a window, of which metric tells. Where there are
// very many not all of them are known at once.
func lives(a query.Archive, w query.Window, indom, metric string) iter.Seq[*store.Life] {
	p, ok := a.(parting)
	if !ok {
		return a.Lives(indom, w.From, w.To)
	}
	return func(yield func(*store.Life) bool) {
		for part := range p.Cohorts(w.Selection(metric), cohortSize) {
			for l := range p.CohortLives(part.Cohort, indom, w.From, w.To) {
				if !yield(l) {
					return
				}
			}
		}
	}
}

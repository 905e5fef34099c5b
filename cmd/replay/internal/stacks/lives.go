package stacks

import (
	"iter"

	"tachograph/store"
	"tachograph/store/query"
)

// cohortSize is about how many instances are held in memory at once.
const cohortSize = 1 << 16

// runs yields the runs of a metric in a window. If there are very many instances, it does not
// hold all of them in memory at once.
func runs(a query.Archive, w query.Window, metric string) iter.Seq[*store.Run] {
	return func(yield func(*store.Run) bool) {
		for part := range a.Cohorts(w.Selection(metric), cohortSize) {
			for run := range a.Select(part) {
				if !yield(run) {
					return
				}
			}
		}
	}
}

// lives yields the instances of a domain in a window that have the metric. If there are very
// many, it does not hold all of them in memory at once.
func lives(a query.Archive, w query.Window, indom, metric string) iter.Seq[*store.Life] {
	return func(yield func(*store.Life) bool) {
		for part := range a.Cohorts(w.Selection(metric), cohortSize) {
			for l := range a.CohortLives(part.Cohort, indom, w.From, w.To) {
				if !yield(l) {
					return
				}
			}
		}
	}
}

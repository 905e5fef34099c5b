package export

import (
	"iter"

	"tachograph/store"
	"tachograph/store/query"
)

// cohortSize is about how many processes are kept in memory at once.
var cohortSize = 4 << 10

// Cohorts yields the lives of a domain's instances in a window, in groups of those that were
// first seen in the same chunks, in the order of these. The caller must go through each group
// before the next: it is released then, so that the processes of days are never all in memory.
func (r *Request) Cohorts(w query.Window, indom string) iter.Seq[iter.Seq[*store.Life]] {
	return func(yield func(iter.Seq[*store.Life]) bool) {
		var names []string
		for _, d := range r.Archive.Metrics() {
			if d.Indom == indom {
				names = append(names, d.Name)
			}
		}
		for part := range r.Archive.Cohorts(w.Selection(names...), cohortSize) {
			if !yield(r.Archive.CohortLives(part.Cohort, indom, w.From, w.To)) {
				return
			}
		}
	}
}

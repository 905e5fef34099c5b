package export

import (
	"iter"

	"tachograph/store"
	"tachograph/store/query"
)

// cohortSize is about how many processes are known at once.
var cohortSize = 4 << 10

// Cohorts are the lives of a domain's instances in a window, those together that were first
// seen in the same chunks, in the order of these. Each is to be gone through before the next
// one is: what is known of it is let go then, so that the processes of days are never known
// all at once.
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

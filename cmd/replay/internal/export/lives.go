package export

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

// cohortSize is about how many processes are known at once.
var cohortSize = 4 << 10

// Cohorts are the lives of a domain's instances in a window, those together that were first
// seen in the same chunks, in the order of these. Each is to be gone through before the next
// one is: what is known of it is let go then, so that the processes of days are never known
// all at once.
func (r *Request) Cohorts(w query.Window, indom string) iter.Seq[iter.Seq[*store.Life]] {
	return func(yield func(iter.Seq[*store.Life]) bool) {
		p, ok := r.Archive.(parting)
		if !ok {
			yield(r.Archive.Lives(indom, w.From, w.To))
			return
		}
		var names []string
		for _, d := range r.Archive.Metrics() {
			if d.Indom == indom {
				names = append(names, d.Name)
			}
		}
		for part := range p.Cohorts(w.Selection(names...), cohortSize) {
			if !yield(p.CohortLives(part.Cohort, indom, w.From, w.To)) {
				return
			}
		}
	}
}

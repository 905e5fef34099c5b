package moment

import (
	"time"

	"tachograph/store/query"
)

// aside is the longest length of the windows that represent two moments.
const aside = int64(5 * time.Minute)

// Around returns the windows that represent two moments, the earlier one first: the minutes
// around them, as far as these do not overlap.
func Around(a, b int64) (first, second query.Window) {
	a, b = min(a, b), max(a, b)
	width := max(min(aside, (b-a)/2), int64(10*time.Second))
	return query.Window{From: a - width/2, To: a + width/2 - 1}, query.Window{From: b - width/2, To: b + width/2 - 1}
}

// Diff returns what changed from one moment to another, most surprising first: it compares the
// windows around them.
func (r *Recording) Diff(a, b int64) ([]*query.Change, error) {
	first, second := Around(a, b)
	r.progress.set(0, 1)
	changes, err := query.Diff(r.a, query.DiffRequest{Host: r.host.ID, A: r.window(first.From, first.To), B: r.window(second.From, second.To)})
	if given := r.given(); given != nil {
		return nil, given
	}
	return changes, err
}

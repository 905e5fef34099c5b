package store

import (
	"slices"

	"tachograph/store/source"
)

// View returns an Archive that shows what r shows now, within limits. A view of a view keeps
// the limits of both. The goroutine that uses the Reader may use its views, until the Reader
// is refreshed or closed.
func (r *Reader) View(l Limits) Archive {
	if l.Near = l.Near || r.limits.Near; l.UpTo == nil {
		l.UpTo = r.limits.UpTo // what was after a mark stays hidden
	}
	v := *r
	v.limits = l
	behind := ""
	v.archives = slices.DeleteFunc(slices.Clone(r.archives), func(a *source.Source) bool {
		if l.UpTo != nil {
			if behind == a.Info.Host.ID {
				return true
			}
			if a.Info.ID == l.UpTo.Archive {
				behind = a.Info.Host.ID
			}
		}
		return l.Archives != nil && !slices.Contains(l.Archives, &a.Info)
	})
	return &v
}

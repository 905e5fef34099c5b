package moment

import (
	"tachograph/store"
	"tachograph/store/query"
)

// reach is how long before an instant the values at that instant may have been read: the longest
// interval between repeated readings, and a gap.
const reach = 26 * block

// near narrows the recording to the archives about an instant: those that were recorded in the
// time before it, or the last one before that. A search then covers a few archives, not each of a
// month.
func (r *Recording) near(at int64) query.Archive {
	var list []*store.ArchiveInfo
	var last *store.ArchiveInfo
	for _, info := range r.a.Archives() {
		if info.Host.ID != r.host.ID {
			continue
		}
		if info.To >= at-reach && info.From <= at+block {
			list = append(list, info)
		}
		if info.From <= at {
			last = info
		}
	}
	if len(list) == 0 && last != nil {
		list = append(list, last)
	}
	return r.only(list...)
}

// only narrows the recording to some archives, or to none.
func (r *Recording) only(list ...*store.ArchiveInfo) query.Archive {
	return r.a.View(store.Limits{Archives: append([]*store.ArchiveInfo{}, list...), Near: true})
}

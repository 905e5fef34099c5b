package moment

import (
	"iter"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

// near is an archive of which only what lies about an instant is asked: what
// would be looked up in each of a month of archives is looked up in a few.
type near struct {
	query.Archive
	list []*store.ArchiveInfo
}

// reach is how far before an instant what it shows may have been read: the
// distance of the most rarely repeated readings, and a gap.
const reach = 26 * block

// near narrows the recording to the archives about an instant: those that were
// recorded in the time before it, or the last ones before that.
func (r *Recording) near(at int64) query.Archive {
	n := &near{Archive: r.a}
	var last *store.ArchiveInfo
	for _, info := range r.a.Archives() {
		if info.Host.ID != r.host.ID {
			continue
		}
		if info.To >= at-reach && info.From <= at+block {
			n.list = append(n.list, info)
		}
		if info.From <= at {
			last = info
		}
	}
	if len(n.list) == 0 && last != nil {
		n.list = append(n.list, last)
	}
	return n
}

// Archives are those that are near.
func (n *near) Archives() []*store.ArchiveInfo { return n.list }

// LookupIn tells how one of the archives describes a metric.
func (n *near) LookupIn(info *store.ArchiveInfo, name string) *metric.Desc {
	if l, ok := n.Archive.(interface {
		LookupIn(*store.ArchiveInfo, string) *metric.Desc
	}); ok {
		return l.LookupIn(info, name)
	}
	return n.Archive.Lookup(name)
}

// Select looks for what came before a window only where that can be: in the
// intervals before it or, of what is read rarely, since the archive began. A
// reader would look in every boot that there was.
func (n *near) Select(sel store.Selection) iter.Seq[*store.Run] {
	if !sel.Prior || len(sel.Metrics) == 0 {
		return n.Archive.Select(sel)
	}
	sel.Prior = false
	often, rarely := sel, sel
	often.Metrics, rarely.Metrics = nil, nil
	back := int64(0)
	for _, name := range sel.Metrics {
		d := n.Lookup(name)
		switch {
		case d == nil:
		case d.Class == metric.Static || d.Class == metric.Constrained || d.Class == metric.Disabled:
			rarely.Metrics = append(rarely.Metrics, name)
		default:
			often.Metrics = append(often.Metrics, name)
			back = max(back, 5*every(n.list, d.Class, sel.From)/2)
		}
	}
	often.From -= back
	for _, info := range n.list {
		if info.From <= sel.From || info == n.list[0] {
			rarely.From = min(info.From, sel.From)
		}
	}
	return func(yield func(*store.Run) bool) {
		for _, part := range []store.Selection{rarely, often} {
			if len(part.Metrics) == 0 {
				continue
			}
			for run := range n.Archive.Select(part) {
				if !yield(run) {
					return
				}
			}
		}
	}
}

// LastRead is when something was read last.
func (n *near) LastRead(sel store.Selection) int64 {
	if l, ok := n.Archive.(interface {
		LastRead(store.Selection) int64
	}); ok {
		return l.LastRead(sel)
	}
	last := int64(0)
	for run := range n.Archive.Select(sel) {
		last = max(last, run.Wall[len(run.Wall)-1])
	}
	return last
}

// Narrowed is the same part of the archive's twin, if it has one.
func (n *near) Narrowed() (twin query.Archive, end func()) {
	t, ok := n.Archive.(twinned)
	if !ok {
		return nil, nil
	}
	other := t.Twin()
	of := &near{Archive: other}
	infos := other.Archives()
	for i, info := range n.Archive.Archives() {
		if slices.Contains(n.list, info) {
			of.list = append(of.list, infos[i])
		}
	}
	return of, func() { t.Join(other) }
}

// Readings are when instances were read.
func (n *near) Readings(sel store.Selection) iter.Seq2[*metric.Instance, []int64] {
	if l, ok := n.Archive.(interface {
		Readings(store.Selection) iter.Seq2[*metric.Instance, []int64]
	}); ok {
		return l.Readings(sel)
	}
	return func(yield func(*metric.Instance, []int64) bool) {
		for run := range n.Select(sel) {
			if run.Instance != nil && !yield(run.Instance, run.Wall) {
				return
			}
		}
	}
}

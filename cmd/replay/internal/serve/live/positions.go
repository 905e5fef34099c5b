package live

import (
	"slices"

	"tachograph/store/archive"
	"tachograph/store/follow"
	"tachograph/store/layout"
)

// isBefore reports whether an item is at or before p.
func isBefore(it *archive.Item, now follow.Position, p *follow.Position) bool {
	return it.Tick != nil && now.Archive == p.Archive && it.Tick.At.Cont <= p.Ticks[it.Tick.Class]
}

// has reports whether a client at a position has what a step brings. The hub may take things in
// another order than the client's own follower did.
func has(p *follow.Position, st *step) bool {
	now := &st.Position
	switch {
	case now.Archive != p.Archive:
		return true
	case st.tick:
		return now.Ticks[st.class] <= p.Ticks[st.class]
	case st.event != nil && layout.IsChurn(st.event.Kind):
		return now.Churn <= p.Churn
	case st.event != nil:
		return now.Events <= p.Events
	}
	return now.Churn <= p.Churn && now.Events <= p.Events
}

// covers reports whether a client at p has everything it wants until q, which is in the same
// archive. A p that came from the previous archive has clocks of that one for classes that have
// not been read since. A p that began with this archive has none for these.
func (s *stream) covers(p, q *follow.Position) bool {
	begin := slices.Max(p.Ticks[:])
	if s.first.archive == p.Archive {
		begin = s.first.cont
	}
	for c := range p.Ticks {
		if s.used[c] && p.Ticks[c] < q.Ticks[c] && (p.Ticks[c] != 0 || q.Ticks[c] >= begin) {
			return false
		}
	}
	return p.Events >= q.Events && (!s.processes || p.Churn >= q.Churn)
}

// reached reports whether p is in the archive of q, and not before q in anything.
func reached(p, q *follow.Position) bool {
	for c := range p.Ticks {
		if p.Ticks[c] < q.Ticks[c] {
			return false
		}
	}
	return p.Archive == q.Archive && p.Events >= q.Events && p.Churn >= q.Churn
}

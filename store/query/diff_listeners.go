package query

import (
	"cmp"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store"
)

// listenerScore is the score of a port on which somebody listens, or nobody any more: it seldom changes, but less
// often matters than a setting.
const listenerScore = 0.45

// listeners compares the ports that are listened on. A port is new if somebody listens on it at the end of the
// second window, and nobody did in the first nor, for some time, before the second; it is gone if somebody listened
// on it all through the first window, and nobody does at the end of the second.
func (d *differ) listeners() []*Change {
	if d.a.Lookup("network.listener.sockets") == nil {
		return nil
	}
	slack := 2 * int64(metric.Network.Interval())
	for _, info := range d.a.Archives() {
		if iv := interval(info, metric.Network); info.Host.ID == d.r.Host && iv > 0 {
			slack = 2 * iv
		}
	}
	if d.r.B.To-d.r.B.From < slack || d.r.A.To-d.r.A.From < slack {
		return nil // They were not read often enough.
	}
	before, after := cmp.Or(d.r.Against, d.r.Host), d.r.Host
	from := d.r.A.From
	for _, w := range d.usual {
		from = min(from, w.From)
	}
	was, through, is := make(map[string]bool), make(map[string]*store.Life), make(map[string]*store.Life)
	for l := range d.a.Lives(listenerIndom, min(from, d.r.B.From), max(d.r.A.To, d.r.B.To)) {
		key, host := l.Instance.Key, l.Archive.Host.ID
		if host == before && l.From <= d.r.A.To || host == after && l.From < d.r.B.From && l.To < d.r.B.To-slack {
			was[key] = true
		}
		if host == before && l.From <= d.r.A.From+slack && l.To >= d.r.A.To-slack {
			through[key] = l
		}
		if host == after && l.To >= d.r.B.To-slack && l.From <= d.r.B.To {
			is[key] = l
		}
	}
	var out []*Change
	add := func(kind ChangeKind, l *store.Life, at int64) {
		out = append(out, &Change{Kind: kind, Archive: l.Archive, Subject: l.Instance.Name, Listener: l.Instance, Whose: WhoseIs(l.Instance),
			At: at, Effect: 20, Impact: 0.1, Score: listenerScore})
	}
	for key, l := range is {
		if !was[key] {
			add(ListenerNew, l, l.From)
		}
	}
	for key, l := range through {
		if is[key] == nil {
			add(ListenerGone, l, l.To)
		}
	}
	slices.SortFunc(out, func(x, y *Change) int { return cmp.Compare(x.Subject, y.Subject) })
	return out
}

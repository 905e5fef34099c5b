package query

import (
	"cmp"
	"iter"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store"
)

// EventFilter accepts kinds that match any of the patterns; all, if there are none.
func EventFilter(patterns []string) (func(metric.EventKind) bool, error) {
	if len(patterns) == 0 {
		return func(metric.EventKind) bool { return true }, nil
	}
	var ps []*Pattern
	for _, s := range patterns {
		p, err := ParsePattern(s)
		if err != nil {
			return nil, err
		}
		ps = append(ps, p)
	}
	return func(k metric.EventKind) bool {
		for _, p := range ps {
			if p.Match(string(k)) {
				return true
			}
		}
		return false
	}, nil
}

// Everyday reports whether events of this kind happen all the time on a
// healthy machine.
func Everyday(k metric.EventKind) bool {
	switch k {
	case metric.EventProcessStart, metric.EventProcessExit, metric.EventProcessExec, metric.EventProcessExits:
		return true
	}
	return false
}

// sortBuffer is how many events are held back to be sorted: an event that was noticed late is not
// far from its place.
const sortBuffer = 8192

// SortedEvents returns the events of a window in the order they happened: those of one host boot
// by boot, and within a boot by the clock that is never set. A boot is yielded once, although
// each archive directory, and a recorder that ended before it had recorded anything, may have an
// event for it. So is the rotation from one archive to the next, which ends one and begins the
// other.
func SortedEvents(a Archive, w Window, kinds ...metric.EventKind) iter.Seq[*store.Event] {
	return func(yield func(*store.Event) bool) {
		var held []*store.Event
		booted := make(map[[2]string]bool)
		turned := make(map[string]metric.Stamp) // by host
		order := eventOrder{boots: make(map[[2]string]int)}
		sort := func() { held = order.sort(held) }
		for e := range a.Events(w.From, w.To, kinds...) {
			if !w.Wants(e.Archive.Host.ID) {
				continue
			}
			if e.Kind == metric.EventBoot {
				boot := [2]string{e.Archive.Host.ID, e.Archive.BootID}
				if booted[boot] {
					continue
				}
				booted[boot] = true
			}
			if host := e.Archive.Host.ID; e.Kind == metric.EventRotate {
				if at, ok := turned[host]; ok && at == e.At {
					continue
				}
				turned[host] = e.At
			}
			order.meet(e)
			c := *e
			held = append(held, &c)
			if len(held) >= 2*sortBuffer {
				sort()
				for _, h := range held[:sortBuffer] {
					if !yield(h) {
						return
					}
				}
				held = append(held[:0], held[sortBuffer:]...)
			}
		}
		sort()
		for _, h := range held {
			if !yield(h) {
				return
			}
		}
	}
}

// An eventOrder knows the boots of each host in the order in which they were met.
type eventOrder struct {
	boots map[[2]string]int
}

func (o *eventOrder) meet(e *store.Event) {
	boot := [2]string{e.Archive.Host.ID, e.Archive.BootID}
	if _, ok := o.boots[boot]; !ok {
		o.boots[boot] = len(o.boots)
	}
}

// sort orders events. The wall clock only decides how the events of several hosts follow each
// other, and orders those of a boot that have no other time stamp.
func (o *eventOrder) sort(list []*store.Event) []*store.Event {
	slices.SortStableFunc(list, func(x, y *store.Event) int { return cmp.Compare(x.At.Wall, y.At.Wall) })
	hosts := make(map[string][]*store.Event)
	for _, e := range list {
		hosts[e.Archive.Host.ID] = append(hosts[e.Archive.Host.ID], e)
	}
	for host, of := range hosts {
		slices.SortStableFunc(of, func(x, y *store.Event) int {
			return cmp.Or(cmp.Compare(o.boots[[2]string{host, x.Archive.BootID}], o.boots[[2]string{host, y.Archive.BootID}]),
				cmp.Compare(x.At.Cont, y.At.Cont))
		})
	}
	if len(hosts) < 2 {
		for _, of := range hosts {
			return of
		}
		return list
	}
	// Each place goes to the host whose turn it is by the wall clock.
	out := make([]*store.Event, len(list))
	for i, e := range list {
		host := e.Archive.Host.ID
		out[i], hosts[host] = hosts[host][0], hosts[host][1:]
	}
	return out
}

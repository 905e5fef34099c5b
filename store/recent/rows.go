package recent

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store"
)

// A row is an instance of which readings are kept.
type row struct {
	*metric.Instance // the instance for callers; never changed
	id               instanceID
	given            *metric.Instance // as the caller of Tick passed it
	rev              uint32           // of given
	names            []store.Naming   // in the order of time
	kept             int              // how many readings are kept
}

// An instanceID identifies an instance across archives.
type instanceID struct{ host, boot, indom, key string }

// rows are the instances.
type rows struct {
	byID    map[instanceID]*row
	byGiven map[*metric.Instance]*row
	nextID  uint64
}

func newRows() rows {
	return rows{byID: make(map[instanceID]*row), byGiven: make(map[*metric.Instance]*row)}
}

// of returns the row of an instance that was read at at.
func (r *rows) of(p *part, indom string, in *metric.Instance, at metric.Stamp) *row {
	w := r.byGiven[in]
	if w == nil || w.id.key != in.Key || w.id.indom != indom || w.id.host != p.Host.ID || w.id.boot != "" && w.id.boot != p.BootID {
		id := instanceID{host: p.Host.ID, indom: indom, key: in.Key}
		if metric.PerBoot(indom) {
			id.boot = p.BootID
		}
		if w = r.byID[id]; w == nil {
			r.nextID++
			w = &row{id: id, Instance: &metric.Instance{ID: r.nextID, Key: in.Key}}
			r.byID[id] = w
		}
		if w.given != nil && r.byGiven[w.given] == w {
			delete(r.byGiven, w.given)
		}
		w.given = in
		r.byGiven[in] = w
		w.call(in, at.Wall)
	} else if w.rev != in.Rev {
		w.call(in, at.Wall)
	}
	w.kept++
	return w
}

// mostNames is how many names of an instance are kept.
const mostNames = 64

// call notes the name of an instance from wall on.
func (w *row) call(in *metric.Instance, wall int64) {
	w.rev = in.Rev
	if n := len(w.names); n > 0 && w.Name == in.Name && slices.Equal(w.Labels, in.Labels) {
		return
	}
	called := *w.Instance
	called.Name, called.Labels = in.Name, slices.Clone(in.Labels)
	called.Rev++
	w.Instance = &called
	if len(w.names) == mostNames {
		w.names = slices.Delete(w.names, 0, mostNames/2)
	}
	w.names = append(w.names, store.Naming{From: wall, Name: called.Name, Labels: called.Labels})
}

// release drops a reading of each row.
func (r *rows) release(list []*row) {
	for _, w := range list {
		if w == nil {
			continue
		}
		if w.kept--; w.kept > 0 {
			continue
		}
		delete(r.byID, w.id)
		if r.byGiven[w.given] == w {
			delete(r.byGiven, w.given)
		}
	}
}

// Lives yields when each instance of a domain was seen between two wall clocks (to 0: no end),
// in the order in which they were first seen there. If keys are given, it yields only instances
// with one of them.
func (a *Archive) Lives(indom string, from, to int64, keys ...string) iter.Seq[*store.Life] {
	if to == 0 {
		to = math.MaxInt64
	}
	return func(yield func(*store.Life) bool) {
		byRow := make(map[*row]*store.Life)
		var order []*store.Life
		see := func(t *tick, b *block) {
			if b.group.Indom != indom || b.at.Wall < from || b.at.Wall > to {
				return
			}
			for _, w := range b.rows {
				if w == nil || len(keys) > 0 && !slices.Contains(keys, w.Key) {
					continue
				}
				l := byRow[w]
				if l == nil {
					l = &store.Life{Indom: indom, Instance: w.Instance, Archive: &t.part.Info, From: b.at.Wall, To: b.at.Wall, Names: w.names}
					byRow[w] = l
					order = append(order, l)
				}
				if b.at.Wall >= l.To {
					l.Archive = &t.part.Info
				}
				l.From, l.To = min(l.From, b.at.Wall), max(l.To, b.at.Wall)
			}
		}
		for _, list := range a.ticks {
			for _, t := range list {
				for i := range t.blocks {
					see(t, &t.blocks[i])
				}
			}
		}
		slices.SortStableFunc(order, func(x, y *store.Life) int { return cmp.Compare(x.From, y.From) })
		for _, l := range order {
			l.Names = named(l)
			if !yield(l) {
				return
			}
		}
	}
}

// named returns the names that were in force during l.
func named(l *store.Life) []store.Naming {
	n := len(l.Names)
	for i := n - 1; i > 0 && l.Names[i].From > l.From; i-- {
		n = i
	}
	return slices.Clone(l.Names[max(min(n, len(l.Names))-1, 0):])
}

// Events yields the events of the given kinds, all if none is given, whose wall clock is between
// from and to (0: no end), in the order of archives and, in an archive, of time since boot.
func (a *Archive) Events(from, to int64, kinds ...metric.EventKind) iter.Seq[*store.Event] {
	if to == 0 {
		to = math.MaxInt64
	}
	return func(yield func(*store.Event) bool) {
		for _, p := range a.parts {
			churn, rest := p.churn, p.rest
			for len(churn)+len(rest) > 0 {
				var e *metric.Event
				if len(rest) == 0 || len(churn) > 0 && churn[0].At.Cont < rest[0].At.Cont {
					e, churn = &churn[0], churn[1:]
				} else {
					e, rest = &rest[0], rest[1:]
				}
				if e.At.Wall < from || e.At.Wall > to || len(kinds) > 0 && !slices.Contains(kinds, e.Kind) {
					continue
				}
				if !yield(&store.Event{Event: *e, Archive: &p.Info}) {
					return
				}
			}
		}
	}
}

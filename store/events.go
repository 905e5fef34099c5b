package store

import (
	"iter"
	"math"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/source"
)

// Events yields the events of the given kinds, of all kinds if none is given, whose wall clock
// is between from and to (0: no end), in the order of archives and, within an archive, of time
// since boot.
func (r *Reader) Events(from, to int64, kinds ...metric.EventKind) iter.Seq[*Event] {
	if to == 0 {
		to = math.MaxInt64
	}
	return func(yield func(*Event) bool) {
		for _, a := range r.archives {
			from := max(from, a.Covered)
			// The two kinds of batches overlap in time; each is in order.
			var many, few eventStream
			shown := r.eventsShown(a)
			for i := range a.Events {
				ref := &a.Events[i]
				if shown == nil && (ref.Head.To < from || ref.Head.From > to || !ref.Has(kinds)) {
					continue
				}
				if ref.Churn {
					many.refs = append(many.refs, ref)
				} else {
					few.refs = append(few.refs, ref)
				}
			}
			for {
				m, f := many.peek(a), few.peek(a)
				switch {
				case m == nil && f == nil:
				case f == nil || m != nil && m.At.Cont < f.At.Cont:
					many.at++
				default:
					m = f
					few.at++
				}
				if m == nil {
					break
				}
				if shown != nil && !shown(m.Kind) {
					continue
				}
				if m.At.Wall < from || m.At.Wall > to || a.Hides(m.At.Wall) || len(kinds) > 0 && !slices.Contains(kinds, m.Kind) {
					continue
				}
				if !yield(&Event{Event: *m, Archive: &a.Info}) || r.over() {
					return
				}
			}
		}
	}
}

// An eventStream walks batches, decoding each when its turn comes.
type eventStream struct {
	refs   []*archive.EventBatch
	events []metric.Event
	at     int
}

// peek returns the next event, nil at the end.
func (s *eventStream) peek(a *source.Source) *metric.Event {
	for s.at >= len(s.events) {
		if len(s.refs) == 0 {
			return nil
		}
		var err error
		handed := false
		a.Contain(&handed, func() bool {
			s.events, err = s.refs[0].Events(a.File)
			return true
		})
		if err != nil {
			a.Lose(err)
		}
		s.refs, s.at = s.refs[1:], 0
	}
	return &s.events[s.at]
}

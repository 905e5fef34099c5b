package live

import (
	"time"

	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/cmd/replay/internal/serve/wire"
	"tachograph/sample/metric"
	"tachograph/store/follow"
	"tachograph/store/layout"
)

// A feed makes frames for one client. Its only clock is that of the ticks.
type feed struct {
	enc               *encoder
	events, processes bool
	every             int64                                                   // the interval in nanoseconds; 0: as recorded
	send              func(m *tachographv1.SubscribeResponse, size int) error // size is approximate, in bytes
	catching          bool

	state   *State // the last state that was taken
	counted *State // the last state that was taken or skipped
	plan    *plan
	used    [metric.NumClasses]bool // classes that wanted metrics are in
	fastest int64                   // the shortest interval of these
	pos     follow.Position         // the position after all that was taken
	shown   follow.Position         // the position that the client has
	moved   [metric.NumClasses]bool // classes whose clock has moved since then
	mark    marker
	time    int64 // wall clock of the tick that the next frame is for; 0: none
	merged  uint32
	left    uint32 // how many events were left out
	pending []*tachographv1.Event
	bytes   int // size of pending
	lost    []string
	due     int64 // continuous clock at which the next interval ends
	settle  int64 // until then ticks belong to the interval that has ended; 0: none has
}

// The most that may wait for the next frame.
const (
	mostPending      = 500
	mostPendingBytes = 256 << 10
)

// begin sends the state s, at pos.
func (f *feed) begin(s *State, pos follow.Position, errors []*tachographv1.ItemError) error {
	f.adopt(s)
	f.pos = only(pos, f.used)
	at := int64(0)
	for c, t := range f.pos.Ticks {
		if f.used[c] {
			at = max(at, t)
		}
	}
	if f.every > 0 && at > 0 {
		f.due = at + f.every
	}
	f.time = s.At.Wall
	if f.events {
		for _, d := range s.Distrusted {
			f.keep(&d.Begin.Event)
		}
	}
	err := f.emit(func(first *tachographv1.SubscribeResponse) {
		first.Snapshot, first.Errors = true, errors
	})
	f.enc.slim()
	return err
}

// adopt makes s the feed's state.
func (f *feed) adopt(s *State) {
	f.state, f.counted = s, s
	if s.plan == f.plan && f.plan != nil {
		return
	}
	f.plan, f.used, f.fastest = s.plan, [metric.NumClasses]bool{}, int64(metric.Once)
	for _, d := range f.enc.metrics {
		if w, ok := s.plan.metrics[d.Name]; ok {
			f.use(s.plan.groups[w.place].class)
		} else {
			f.use(d.Class)
		}
	}
}

func (f *feed) use(c metric.Class) {
	if c >= metric.NumClasses {
		return
	}
	f.used[c] = true
	if a := f.state.Archive; a != nil && a.Intervals[c] > 0 {
		f.fastest = min(f.fastest, int64(a.Intervals[c]))
	}
}

// skip notes a state that the client already has: it is only counted.
func (f *feed) skip(s *State) { f.counted = s }

// take takes a step, and sends a frame if one is due.
func (f *feed) take(s *step) error {
	if f.settle != 0 && s.tick && (s.At.Cont > f.settle || s.turned) {
		if err := f.emit(nil); err != nil {
			return err
		}
	}
	f.adopt(s.State)
	if s.turned || s.Position.Archive != f.pos.Archive {
		f.pos = only(s.Position, f.used)
	}
	now := false
	switch {
	case s.tick && f.used[s.class]:
		f.pos.Ticks[s.class], f.moved[s.class] = s.Position.Ticks[s.class], true
		f.time = s.At.Wall
		now = f.every == 0 || f.ended(s.At.Cont)
	case s.event != nil && layout.IsChurn(s.event.Kind):
		if f.processes {
			f.pos.Churn = s.Position.Churn
			f.keep(s.event)
		}
	case s.event != nil:
		f.pos.Events = s.Position.Events
		if f.events || breaks(s.event) {
			f.keep(s.event)
			now = f.every == 0
		}
	}
	if s.lost != nil {
		f.lost = append(f.lost, wire.Text(s.lost.Error()))
		now = now || f.every == 0
	}
	if now && f.every == 0 || len(f.pending) >= mostPending || f.bytes >= mostPendingBytes || len(f.lost) >= mostPending {
		return f.emit(nil)
	}
	return nil
}

func (f *feed) keep(e *metric.Event) {
	f.pending = append(f.pending, wire.Event(e))
	f.bytes += len(e.Text) + 100
}

// ended reports whether a tick at cont ends an interval. Ticks in the moment after it belong to
// the interval too, because classes are read one after the other.
func (f *feed) ended(cont int64) bool {
	slack := min(f.fastest, f.every) / 2
	if f.due > cont+2*f.every {
		f.due = 0 // another boot
	}
	if cont < f.due-slack {
		return false
	}
	if f.due == 0 {
		f.due = cont
	}
	f.due += (cont + slack - f.due + f.every) / f.every * f.every
	f.settle = cont + min(f.fastest/4, int64(settling))
	return true
}

// settling is how long it takes at most to read the classes of one instant, one after the other.
const settling = 250 * time.Millisecond

// merge continues with s, and leaves out the states before it.
func (f *feed) merge(s *State) error {
	before := f.counted
	for c := range s.Ticks {
		if f.used[c] && f.every == 0 {
			f.merged += uint32(s.Ticks[c] - before.Ticks[c])
		}
	}
	f.left += uint32(s.Breaks - before.Breaks)
	if f.events {
		f.left += uint32(s.Events - before.Events - (s.Breaks - before.Breaks))
	}
	if f.processes {
		f.left += uint32(s.Churn - before.Churn)
	}
	if f.merged > 0 {
		f.merged-- // without the frame itself
	}
	f.adopt(s)
	at := f.pos
	f.pos = only(s.Position, f.used)
	if at.Archive == f.pos.Archive { // one of two followers may be a little behind
		for c := range f.pos.Ticks {
			f.pos.Ticks[c] = max(f.pos.Ticks[c], at.Ticks[c])
		}
		f.pos.Churn, f.pos.Events = max(f.pos.Churn, at.Churn), max(f.pos.Events, at.Events)
	}
	f.time, f.shown = s.At.Wall, f.pos
	if f.every > 0 && s.At.Cont < f.due {
		return nil
	}
	if f.every > 0 {
		f.ended(s.At.Cont)
	}
	return f.emit(nil)
}

// waiting reports whether something must be sent soon: the values of an interval that has ended,
// or starts and ends of processes.
func (f *feed) waiting() bool { return f.settle != 0 || f.every == 0 && len(f.pending) > 0 }

// emit sends a frame with all that has been taken.
func (f *feed) emit(also func(first *tachographv1.SubscribeResponse)) error {
	before := f.enc.time
	begun := false
	send := func(m *tachographv1.SubscribeResponse) error {
		if !begun {
			begun = true
			m.Events, m.Lost = f.pending, f.lost
			m.Merged, m.EventsLeftOut = f.merged, f.left
			if also != nil {
				also(m)
			}
		}
		m.CatchingUp = f.catching
		return f.send(m, f.enc.size+f.bytes)
	}
	last, err := f.enc.frame(f.state, f.time, send)
	if err != nil {
		return err
	}
	if also == nil && f.nothing(last) {
		// A client that continues from the previous frame misses nothing.
		f.moved, f.time, f.settle, f.enc.time = [metric.NumClasses]bool{}, 0, 0, before
		return nil
	}
	last.Position, last.Advance = f.mark.mark(f.show())
	if err := send(last); err != nil {
		return err
	}
	f.time, f.settle, f.merged, f.left, f.bytes = 0, 0, 0, 0, 0
	f.pending, f.lost = nil, nil
	return nil
}

// nothing reports whether a frame has nothing that the client asked for.
func (f *feed) nothing(m *tachographv1.SubscribeResponse) bool {
	return f.enc.sent == 0 && !f.enc.exact && f.every == 0 && f.merged == 0 && f.left == 0 && len(f.pending)+len(f.lost) == 0 &&
		len(m.Gaps)+len(m.Rows)+len(m.Gone)+len(m.Texts)+len(m.Absences)+len(m.Renamed)+len(m.Tables) == 0 && m.Archive == nil
}

// show returns the position for the client. If only the clocks of ticks have moved, it has those
// of the classes that the client was sent.
func (f *feed) show() follow.Position {
	same := f.pos
	same.Ticks = f.shown.Ticks
	if same != f.shown {
		f.shown = f.pos
	}
	for c, moved := range f.moved {
		if moved {
			f.shown.Ticks[c] = f.pos.Ticks[c]
		}
	}
	f.moved = [metric.NumClasses]bool{}
	return f.shown
}

// idle sends an empty frame.
func (f *feed) idle() error {
	return f.send(&tachographv1.SubscribeResponse{CatchingUp: f.catching}, 0)
}

// classes returns the classes that a private follower must deliver. A configuration may move
// metrics from one class to another, but not between the classes of processes and those of the
// system.
func (f *feed) classes() []metric.Class {
	list := []metric.Class{metric.Static, metric.Constrained, metric.Polled, metric.Fast}
	if f.used[metric.Process] || f.used[metric.Thread] || f.used[metric.Costly] {
		list = append(list, metric.Process, metric.Thread, metric.Costly)
	}
	return list
}

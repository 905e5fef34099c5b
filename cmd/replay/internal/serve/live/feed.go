package live

import (
	"time"

	tachographv1 "tachograph/api/tachograph/v1"
	"tachograph/cmd/replay/internal/serve/wire"
	"tachograph/sample/metric"
	"tachograph/store/follow"
	"tachograph/store/layout"
)

// A feed makes frames of what is recorded, for one client. It has no clock of its
// own but those of ticks.
type feed struct {
	enc               *encoder
	events, processes bool
	every             int64                                                   // the interval in nanoseconds; 0: as recorded
	send              func(m *tachographv1.SubscribeResponse, size int) error // about so many bytes
	catching          bool

	state   *State // the latest that was taken in
	counted *State // the latest that was taken in or skipped
	plan    *plan
	used    [metric.NumClasses]bool // classes that something wanted is read with
	fastest int64                   // interval of these
	pos     follow.Position         // behind all that was taken in
	shown   follow.Position         // that the client is told
	moved   [metric.NumClasses]bool // since that
	mark    marker
	time    int64 // wall clock of the tick that a frame is to be made of; 0: none
	merged  uint32
	left    uint32 // events that were left out
	pending []*tachographv1.Event
	bytes   int // of these
	lost    []string
	due     int64 // continuous clock at which the next interval ends
	settle  int64 // until when what is read belongs to the one that has ended; 0: none has
}

// What may wait for the next frame at most.
const (
	mostPending      = 500
	mostPendingBytes = 256 << 10
)

// begin begins with how things stand: at pos.
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

// adopt makes s the state, whoever made it.
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

// skip takes note of what the client has already: it is only counted.
func (f *feed) skip(s *State) { f.counted = s }

// take takes a step in, and sends the frame that it makes, if it makes one.
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

// ended reports whether an interval has ended with a tick at cont. What else is
// read in the moment after belongs to it as well: classes are read one after the
// other.
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

// settling is how long, at most, classes that are read at the same instant are
// read one after the other.
const settling = 250 * time.Millisecond

// merge goes on with s: what came between is left out.
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
		f.merged-- // the frame itself
	}
	f.adopt(s)
	at := f.pos
	f.pos = only(s.Position, f.used)
	if at.Archive == f.pos.Archive { // of two followers one may be a little behind
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

// waiting reports whether something is to be sent soon: what an interval came
// to, or comings and goings of processes.
func (f *feed) waiting() bool { return f.settle != 0 || f.every == 0 && len(f.pending) > 0 }

// emit sends a frame of all that has been taken in.
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
		// Who goes on from the frame before misses nothing.
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

// nothing reports whether a frame tells nothing that the client wants to know.
func (f *feed) nothing(m *tachographv1.SubscribeResponse) bool {
	return f.enc.sent == 0 && !f.enc.exact && f.every == 0 && f.merged == 0 && f.left == 0 && len(f.pending)+len(f.lost) == 0 &&
		len(m.Gaps)+len(m.Rows)+len(m.Gone)+len(m.Texts)+len(m.Absences)+len(m.Renamed)+len(m.Tables) == 0 && m.Archive == nil
}

// show is the position that the client is told: where nothing but clocks of ticks
// has moved, with those of what it has been told.
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

// classes are those that a private follower must deliver. A configuration may
// move metrics from one class to another, but not what is read of processes to
// what is read of the system.
func (f *feed) classes() []metric.Class {
	list := []metric.Class{metric.Static, metric.Constrained, metric.Polled, metric.Fast}
	if f.used[metric.Process] || f.used[metric.Thread] || f.used[metric.Costly] {
		list = append(list, metric.Process, metric.Thread, metric.Costly)
	}
	return list
}

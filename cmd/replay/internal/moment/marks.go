package moment

import (
	"cmp"
	"slices"

	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/human"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

// MarkKind is what a mark means.
type MarkKind string

const (
	MarkGap      MarkKind = "gap"
	MarkSleep    MarkKind = "sleep"
	MarkOff      MarkKind = "off"
	MarkBoot     MarkKind = "boot"
	MarkShutdown MarkKind = "shutdown"
	MarkPanic    MarkKind = "panic"
	MarkCrash    MarkKind = "crash"
	MarkLost     MarkKind = "reading lost"
	MarkEvent    MarkKind = "event"
)

// Mark is something on the timeline: a break, or an event worth a mark. Text is one line and safe
// to print.
type Mark struct {
	From, To int64
	Kind     MarkKind
	Text     string
	Event    *store.Event // nil for breaks without an event
}

// Break reports whether nothing was recorded during m.
func (m Mark) Break() bool {
	return m.Kind == MarkGap || m.Kind == MarkSleep || m.Kind == MarkOff
}

// mostMarks bounds how many marks there are, whatever an archive holds.
const mostMarks = 1 << 16

// markedKinds are the events that are worth a mark of their own; breaks come from query.Breaks,
// crashes from exits.
var markedKinds = map[metric.EventKind]MarkKind{
	metric.EventBoot: MarkBoot, metric.EventShutdown: MarkShutdown, metric.EventPanic: MarkPanic,
	metric.EventErrorBegin: MarkLost, metric.EventOverrun: MarkLost, metric.EventBudget: MarkLost,
	metric.EventDistrustBegin: MarkLost,
	metric.EventClockStep:     MarkEvent, metric.EventTimeZone: MarkEvent, metric.EventTunableChange: MarkEvent,
	metric.EventPower: MarkEvent, metric.EventThrottle: MarkEvent, metric.EventMemory: MarkEvent,
	metric.EventUpdate: MarkEvent, metric.EventMount: MarkEvent, metric.EventDevice: MarkEvent, metric.EventTrigger: MarkEvent,
	metric.EventCrash: MarkCrash, metric.EventKill: MarkCrash, metric.EventHang: MarkEvent, metric.EventLimit: MarkEvent,
	metric.EventReset: MarkEvent, metric.EventKernel: MarkEvent, metric.EventService: MarkEvent, metric.EventSoftware: MarkEvent,
}

// findMarks lists the marks in the order of time, except for crashes: these are among the ends of
// processes, of which there may be millions.
func (r *Recording) findMarks() []Mark {
	var out []Mark
	w := r.window(r.from, r.to)
	for _, b := range query.Breaks(r.a, w) {
		if kind, ok := breakKind(&b); ok && len(out) < mostMarks {
			out = append(out, Mark{From: b.From, To: b.To, Kind: kind, Text: breakText(&b)})
		}
	}
	var kinds []metric.EventKind
	for k := range markedKinds {
		kinds = append(kinds, k)
	}
	slices.Sort(kinds)
	said, words := newSaying(), query.WordsIn(r.a, w)
	for e := range query.SortedEvents(r.a, w, kinds...) {
		mark := func() Mark { return markOf(e, query.EventText(r.a, e, human.Bytes), markedKinds[e.Kind]) }
		switch {
		case len(out) >= mostMarks || words.Less(e):
		case slices.Contains(metric.SaidKinds, e.Kind):
			out = said.add(out, e, mark)
		default:
			out = append(out, mark())
		}
	}
	said.count(out)
	slices.SortStableFunc(out, func(x, y Mark) int { return cmp.Compare(x.From, y.From) })
	return out
}

func markOf(e *store.Event, text string, kind MarkKind) Mark {
	return Mark{From: e.At.Wall, To: e.At.Wall, Kind: kind, Text: visible.Text(string(e.Kind) + ": " + text), Event: e}
}

// crashes are the processes that crashed, in the stretches of time that were searched so far.
type crashes struct {
	length int64 // of a stretch
	seen   map[int64]bool
	list   []Mark
}

// mostStretches bounds how many stretches there are, whatever time an archive spans.
const mostStretches = 10_000

// grown forgets the stretches that may have more crashes now.
func (c *crashes) grown(from, to, since int64) {
	if c.seen == nil {
		c.seen = make(map[int64]bool)
		c.length = max(block, (to-from)/mostStretches)
	}
	for k := range c.seen {
		if (k+1)*c.length > since {
			delete(c.seen, k)
		}
	}
	c.list = slices.DeleteFunc(c.list, func(m Mark) bool { return !c.seen[floorDiv(m.From, c.length)] })
}

// crashesIn searches for crashes in the stretch that an instant lies in, if that was not done
// before.
func (r *Recording) crashesIn(at int64) {
	c := &r.crashes
	k := floorDiv(at, c.length)
	if c.seen[k] {
		return
	}
	var found []Mark
	for e := range query.SortedEvents(r.a, r.window(k*c.length, (k+1)*c.length-1), metric.EventProcessExit) {
		if r.Crashed(e) && len(r.marks)+len(found) < mostMarks {
			found = append(found, markOf(e, e.Text, MarkCrash))
		}
	}
	if r.given() != nil {
		return // The whole stretch is searched again.
	}
	for _, m := range found {
		c.list = append(c.list, m)
		r.mark(m)
	}
	c.seen[k] = true
}

// said reports whether a mark says what the system said about the end of a process.
func (r *Recording) said(exit *store.Event) bool {
	i, _ := slices.BinarySearchFunc(r.marks, exit.At.Wall-sameMark, func(m Mark, at int64) int { return cmp.Compare(m.From, at) })
	for ; i < len(r.marks) && r.marks[i].From <= exit.At.Wall+sameMark; i++ {
		m := &r.marks[i]
		if m.Kind == MarkCrash && m.Event.Kind != metric.EventProcessExit && query.AboutOne(m.Event, exit) {
			return true
		}
	}
	return false
}

// mark inserts a mark in the order of time.
func (r *Recording) mark(m Mark) {
	i, _ := slices.BinarySearchFunc(r.marks, m.From+1, func(m Mark, at int64) int { return cmp.Compare(m.From, at) })
	r.marks = slices.Insert(r.marks, i, m)
}

// Crashed reports whether the end of a process is a crash with a mark of its own: the process was
// ended by a fault of its own, or by the kernel, and no other mark says so.
func (r *Recording) Crashed(exit *store.Event) bool {
	return (exit.Label("cause") != "" || query.Crashed(exit.Label("how"))) && !r.said(exit)
}

// breakKind returns the kind of the mark for a break that has a length.
func breakKind(b *query.Break) (MarkKind, bool) {
	if b.Length() <= 0 {
		return "", false
	}
	switch b.Kind {
	case metric.EventSleep, metric.EventWake:
		return MarkSleep, true
	case metric.EventBoot, metric.EventShutdown, metric.EventPanic:
		return MarkOff, true
	}
	return MarkGap, true
}

// breakText describes a break in a line.
func breakText(b *query.Break) string {
	text := "nothing was recorded"
	switch kind, _ := breakKind(b); kind {
	case MarkSleep:
		text = "the machine was asleep"
	case MarkOff:
		text = "the machine was down or starting"
	}
	if b.Text != "" && b.Text != text {
		text += ": " + b.Text
	}
	return visible.Text(text)
}

// Next returns the mark after an instant, or the one before it. It searches the whole way
// for crashes, which may take long. A caller that stops waiting cancels the context that it
// gave to Until.
func (r *Recording) Next(at int64, forward bool) (Mark, bool) {
	edge := at
	for {
		m, ok := r.nextMark(at, forward)
		end := r.to
		if !forward {
			end = r.from
		}
		if ok {
			end = m.From
		}
		over := forward && edge > end || !forward && edge < end
		if over || r.given() != nil {
			return m, ok
		}
		r.crashesIn(edge)
		k := floorDiv(edge, r.crashes.length)
		if edge = (k + 1) * r.crashes.length; !forward {
			edge = k*r.crashes.length - 1
		}
	}
}

// nextMark returns the next of the marks that are known.
func (r *Recording) nextMark(at int64, forward bool) (Mark, bool) {
	if !forward {
		at--
	}
	i, _ := slices.BinarySearchFunc(r.marks, at+1, func(m Mark, at int64) int { return cmp.Compare(m.From, at) })
	if !forward {
		i--
	}
	if i < 0 || i >= len(r.marks) {
		return Mark{}, false
	}
	return r.marks[i], true
}

// Marks returns the marks that lie in a stretch, in the order of time.
func (r *Recording) Marks(from, to int64) []Mark {
	var out []Mark
	for _, m := range r.marks {
		if m.From <= to && m.To >= from {
			out = append(out, m)
		}
	}
	return out
}

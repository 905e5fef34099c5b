package trigger

import (
	"math"
	"slices"

	"tachograph/config"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// trigger is a trigger with all that is known about it.
type trigger struct {
	cfg   config.Trigger
	live  *query.Live // nil if it is switched off
	indom string
	idle  string // why it is not evaluated; "" if it is

	cases []held // by slot of live
	visit func(query.Case)
	now   metric.Stamp
	best  due   // in the current look
	due   []int // the slots of all cases that are due

	limits
}

// limits are what a trigger has done, which decides what it may still do.
type limits struct {
	// fired has the continuous clock of each firing in the last day, the newest last; all
	// counts the firings since the recorder started.
	fired   []int64
	all     uint64
	refused uint64 // how often a limit kept it from firing
	untold  uint64 // how often a limit did since the last firing
	last    string // the sentence of the last firing
}

// held is the state of the condition for one instance.
type held struct {
	born uint64
	// since is when the condition began to hold, seen when it was last seen to hold, and ceased
	// when it stopped after a firing; awake clock, 0 for never.
	since, seen, ceased int64
	obeyed, refused     bool
}

// due is the worst of the cases that have held long enough.
type due struct {
	query.Case
	is   bool
	held int64
}

// patience is how long a condition may go without a value and still count as having held all
// the time.
const patience = int64(30e9)

// look takes in the value of one instance's condition.
func (t *trigger) look(c query.Case) {
	for c.Slot >= len(t.cases) {
		t.cases = append(t.cases, held{})
	}
	h := &t.cases[c.Slot]
	if h.born != c.Born {
		*h = held{born: c.Born}
	}
	now, hold := t.now.Awake, int64(t.cfg.For)
	switch {
	case math.IsNaN(c.Holds):
	case c.Holds == 0:
		h.since, h.refused = 0, false
		if h.obeyed && h.ceased == 0 {
			h.ceased = now
		}
		if h.obeyed && now-h.ceased >= hold {
			h.obeyed, h.ceased = false, 0
		}
	default:
		h.ceased = 0
		if h.since == 0 || now-h.seen > max(patience, hold/4) {
			h.since = now
		}
		h.seen = now
		if h.obeyed || now-h.since < hold {
			return
		}
		t.due = append(t.due, c.Slot)
		if !t.best.is || c.Value > t.best.Value {
			t.best.Case, t.best.is, t.best.held = c, true, now-h.since
		}
	}
}

// slept restarts all conditions: their values during the sleep are not known.
func (t *trigger) slept() {
	for i := range t.cases {
		t.cases[i].since = 0
	}
}

// see evaluates a tick, and reports whether the trigger is due.
func (t *trigger) see(tick *metric.Tick, stall *metric.Block) bool {
	if t.live == nil {
		return false
	}
	seen := false
	for _, b := range tick.Blocks {
		seen = t.live.See(b) || seen
	}
	if stall != nil {
		seen = t.live.See(stall) || seen
	}
	if !seen {
		return false
	}
	t.now, t.best, t.due = tick.At, due{}, t.due[:0]
	t.live.Each(tick.At, t.visit)
	return t.best.is
}

// may reports whether the limits let t fire now. A refusal is counted once for each time that a
// condition began to hold.
func (t *trigger) may() bool {
	now := t.now.Cont
	t.fired = slices.DeleteFunc(t.fired, func(at int64) bool { return now-at >= aDay })
	n := len(t.fired)
	if n < t.cfg.PerDay && (n == 0 || now-t.fired[n-1] >= int64(t.cfg.CoolDown)) {
		return true
	}
	for _, slot := range t.due {
		if h := &t.cases[slot]; !h.refused {
			h.refused = true
			t.refused++
			t.untold++
		}
	}
	return false
}

// obey notes that t fires, for all cases that are due.
func (t *trigger) obey() {
	for _, slot := range t.due {
		t.cases[slot].obeyed = true
	}
	t.fired = append(t.fired, t.now.Cont)
	t.all++
	t.untold = 0
}

package trigger

import (
	"math"
	"slices"

	"tachograph/config"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// trigger is one with everything that is known about it.
type trigger struct {
	cfg   config.Trigger
	live  *query.Live // nil where it is switched off
	indom string
	idle  string // why it is not looked at; "" where it is

	cases []held // by slot of live
	visit func(query.Case)
	now   metric.Stamp
	best  due   // of the look under way
	due   []int // the slots of all that are due

	limits
}

// limits are what a trigger has done, and what it may do yet.
type limits struct {
	// fired are the continuous clocks of when it fired in the last day, the newest
	// last; all is how often it did since the recorder started.
	fired   []int64
	all     uint64
	refused uint64 // how often a limit kept it from firing
	untold  uint64 // of these since it fired last
	last    string // the sentence of when it fired last
}

// held is how a condition stands for one instance.
type held struct {
	born uint64
	// since is when it began to hold, seen when it was seen to hold last, ceased
	// when it ceased after it was obeyed; awake clock, 0 for never.
	since, seen, ceased int64
	obeyed, refused     bool
}

// due is a case that has held long enough, the worst of several.
type due struct {
	query.Case
	is   bool
	held int64
}

// patience is for how long a condition may go without a value and still count as
// having held all the time.
const patience = int64(30e9)

// look is what an instance's condition came to.
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

// slept has all conditions hold from now on: nobody knows how it was meanwhile.
func (t *trigger) slept() {
	for i := range t.cases {
		t.cases[i].since = 0
	}
}

// see looks at a tick, and reports whether there is something to obey.
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

// may reports whether the limits let t fire now. What they refuse is counted
// once for each time that a condition came to hold.
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

// obey notes that t fires, for all that are due together.
func (t *trigger) obey() {
	for _, slot := range t.due {
		t.cases[slot].obeyed = true
	}
	t.fired = append(t.fired, t.now.Cont)
	t.all++
	t.untold = 0
}

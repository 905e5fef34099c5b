package trigger

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"tachograph/config"
	"tachograph/sample/engine"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// Firing is a trigger whose condition has held long enough.
type Firing struct {
	Name string
	// Reason is a sentence, Value the number in it.
	Reason, Value string
	// Instance is the instance whose condition held; nil for the machine.
	Instance *metric.Instance
	// PID is the process of the instance, whose stacks may be sampled; 0 if there is none.
	PID int32
}

// Actions are what a firing may begin. None may take long; an error says why it was not begun.
// A nil action is not available here.
type Actions struct {
	Stacks func(f Firing, w config.StacksWish) error
	Burst  func(engine.Burst) error
	Run    func(f Firing, command []string) error
}

// Watcher evaluates triggers on ticks.
type Watcher struct {
	act Actions

	mu     sync.Mutex
	list   []*trigger
	asleep int64 // continuous clock minus awake clock
	stall  *metric.Block
}

// New makes a Watcher of a set.
func New(s *Set, act Actions) *Watcher {
	return &Watcher{act: act, list: s.list, stall: &metric.Block{
		Group: stallGroup, Rows: []*metric.Instance{nil}, Cols: []metric.Column{{Bits: make([]uint64, 1)}},
	}}
}

// Apply changes to another set. A trigger that has not changed continues undisturbed, and one
// of the same name keeps its limits.
func (w *Watcher) Apply(s *Set) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, t := range s.list {
		for _, old := range w.list {
			switch {
			case old.cfg.Name != t.cfg.Name:
			case old.cfg.Same(&t.cfg) && old.idle == t.idle:
				s.list[i] = old
			default:
				t.limits = old.limits
			}
		}
	}
	w.list = s.list
}

// leastSleep is how far the continuous clock must move ahead of the awake one for the machine
// to count as having slept.
const leastSleep = int64(500 * time.Millisecond)

// Look evaluates a tick that was late by stall, begins the actions of triggers that fire, and
// returns their events.
func (w *Watcher) Look(tick *metric.Tick, stall time.Duration) (events []metric.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	asleep := tick.At.Cont - tick.At.Awake
	slept := asleep-w.asleep >= leastSleep
	w.asleep = asleep
	var late *metric.Block
	if tick.Class == metric.Fast {
		late = w.stall
		late.At, late.Cols[0].Bits[0] = tick.At, uint64(stall)
	}
	for _, t := range w.list {
		if slept {
			t.slept()
		}
		if t.see(tick, late) && t.may() {
			events = append(events, w.fire(t))
		}
	}
	return events
}

// fire begins the actions of t, and returns its event.
func (w *Watcher) fire(t *trigger) metric.Event {
	untold := t.untold
	t.obey()
	f := t.firing()
	ev := metric.Event{At: t.now, Kind: metric.EventTrigger, Text: f.Reason, Indom: t.indom, Labels: []metric.Label{
		{Name: "trigger", Value: f.Name}, {Name: "when", Value: t.cfg.When}, {Name: "value", Value: f.Value},
	}}
	if f.Instance != nil {
		ev.Key = f.Instance.Key
	}
	if untold > 0 {
		ev.Labels = append(ev.Labels, metric.Label{Name: "refused", Value: strconv.FormatUint(untold, 10)})
	}
	tell := func(what, begun string, err error) {
		result := "begun"
		if err != nil {
			result, begun = err.Error(), "no "+what+": "+err.Error()
		}
		ev.Text += "; " + begun
		ev.Labels = append(ev.Labels, metric.Label{Name: what, Value: result})
	}
	if wish := t.cfg.Stacks; wish.For > 0 {
		if wish.Of == "all" {
			f.PID = 0
		}
		tell("stacks", "stacks are sampled for "+config.FormatDuration(wish.For), w.stacks(f, wish))
	}
	if wish := t.cfg.Burst; wish.For > 0 {
		tell("burst", burstWords(wish), w.burst(wish))
	}
	if len(t.cfg.Run) > 0 {
		tell("command", "a command is run", w.run(t.firing(), t.cfg.Run))
	}
	t.last = ev.Text
	return ev
}

var errNotHere = errors.New("this program cannot do that here")

func (w *Watcher) stacks(f Firing, wish config.StacksWish) error {
	if w.act.Stacks == nil {
		return errNotHere
	}
	return w.act.Stacks(f, wish)
}

func (w *Watcher) burst(b config.BurstWish) error {
	if w.act.Burst == nil {
		return errNotHere
	}
	return w.act.Burst(engine.Burst{Classes: b.Classes, Every: b.Every, For: b.For, Before: b.Before})
}

func (w *Watcher) run(f Firing, command []string) error {
	if w.act.Run == nil {
		return errNotHere
	}
	return w.act.Run(f, command)
}

// firing describes t's best case.
func (t *trigger) firing() Firing {
	f := Firing{Name: t.cfg.Name, Reason: t.cfg.Name + ": ", Instance: t.best.Instance}
	if in := f.Instance; in != nil {
		f.Reason += in.Name + ": "
		if ofProcesses(t.indom) {
			f.PID = pid(in)
		}
	}
	f.Reason += t.cfg.When
	if held := time.Duration(t.best.held).Truncate(time.Second); held > 0 {
		f.Reason += " for " + config.FormatDuration(held)
	}
	if v := t.best.Value; !math.IsNaN(v) {
		units, factor := t.live.Shown()
		v *= factor
		f.Value = strconv.FormatFloat(v, 'g', -1, 64)
		f.Reason += ", last " + metric.Quantity(v, units)
	}
	if n := len(t.due) - 1; n > 0 {
		f.Reason += fmt.Sprintf(", and %d more", n)
	}
	return f
}

// pid returns the process ID of a process or thread instance, 0 if unknown. The key is not the
// process ID: on macOS it is another number.
func pid(in *metric.Instance) int32 {
	n := query.ProcessID(in)
	if n <= 0 || n > math.MaxInt32 {
		return 0
	}
	return int32(n)
}

// Status is the state of a trigger.
type Status struct {
	Name string `json:"name"`
	When string `json:"when"`
	// Idle is why it is not evaluated; empty if it is.
	Idle string `json:"idle,omitempty"`
	// Holds is for how many instances its condition holds now.
	Holds int `json:"holds"`
	// Fired has the times of its firings in the last day; All counts the firings since the
	// recorder started, Refused how often a limit kept it from firing.
	Fired   []time.Time `json:"fired,omitempty"`
	PerDay  int         `json:"per_day"`
	All     uint64      `json:"all"`
	Refused uint64      `json:"refused,omitempty"`
	// Last is the sentence of the last firing.
	Last string `json:"last,omitempty"`
	// Wait is why it does not fire now although its condition may hold.
	Wait string `json:"wait,omitempty"`
}

// Status returns the state of all triggers.
func (w *Watcher) Status(now metric.Stamp) []Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []Status
	for _, t := range w.list {
		st := Status{Name: t.cfg.Name, When: t.cfg.When, Idle: t.idle, PerDay: t.cfg.PerDay, All: t.all, Refused: t.refused, Last: t.last}
		for i := range t.cases {
			if c := &t.cases[i]; c.since != 0 && c.seen == t.now.Awake {
				st.Holds++
			}
		}
		for _, at := range t.fired {
			if now.Cont-at < aDay {
				st.Fired = append(st.Fired, now.Time().Add(-time.Duration(now.Cont-at)))
			}
		}
		if n := len(t.fired); n > 0 {
			until := t.fired[n-1] + int64(t.cfg.CoolDown)
			why := "it cools down"
			if len(st.Fired) >= t.cfg.PerDay {
				why = "it has fired as often as it may in a day"
				until = max(until, t.fired[n-t.cfg.PerDay]+aDay)
			}
			if left := time.Duration(until - now.Cont).Truncate(time.Second); left > 0 {
				st.Wait = fmt.Sprintf("%s, for another %s", why, config.FormatDuration(left))
			}
		}
		all = append(all, st)
	}
	return all
}

// Restore makes the limits count what triggers did before the recorder was restarted, according
// to the status of that time. It ignores times in the future, and more firings than possible.
func (w *Watcher) Restore(before []Status, now metric.Stamp) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range w.list {
		for i := range before {
			if before[i].Name != t.cfg.Name {
				continue
			}
			for _, at := range before[i].Fired {
				if ago := now.Time().Sub(at); ago >= 0 && int64(ago) < aDay && len(t.fired) < t.cfg.PerDay {
					t.fired = append(t.fired, now.Cont-int64(ago))
				}
			}
			slices.Sort(t.fired)
			t.last = before[i].Last
		}
	}
}

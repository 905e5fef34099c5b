package engine

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"tachograph/sample"
	"tachograph/sample/metric"
)

// Options configure an engine. Sources, Sink and Now are required.
type Options struct {
	Sources []sample.Source
	Plan    Plan
	Sink    sample.Sink
	// Now reads the three clocks.
	Now func() metric.Stamp
	// Zone returns the name of the time zone in force.
	Zone func() string
	// Slept returns the wall clocks of the last sleep and wake, where the kernel reports them.
	Slept func() (sleep, wake time.Time, ok bool)
	// WakeReason is why the machine last woke, where the kernel reports it.
	WakeReason func() string
	// Usage is what the recorder itself uses.
	Usage func() Usage
	// Worked is the processor time that the recorder has used so far. Without it, elapsed time
	// counts as work.
	Worked func() time.Duration
	// Upkeep, if set, reports whether an archive is being put in order. That costs the same
	// however often anything is read, and passes.
	Upkeep func() bool
	// Spending, if set, reports whether an activity limited by Spare is going on.
	Spending func() bool
	// Written counts the bytes written to the archive's files.
	Written func() uint64
	// Notice, if set, finds events in a recorded tick. Stall is how late the tick was, counted
	// from the first deadline missed before it. Notice may begin a Burst.
	Notice func(t *metric.Tick, stall time.Duration) []metric.Event
	// Late stores a tick that is older than others of its class. Without it nothing of the time
	// before a Burst is kept in memory.
	Late func(t *metric.Tick) error
	// Before are events from before the engine's start: a boot, a panic, the gap since the last
	// run.
	Before []metric.Event
	Log    *slog.Logger
}

// Usage is the processor time and memory of a process.
type Usage struct {
	User, System      time.Duration
	Resident, Virtual int64 // bytes
}

// Engine reads sources into a sink. Make one with New, then Run it.
type Engine struct {
	opt     Options
	log     *slog.Logger
	clock   steadyClock
	sources []*source
	classes [metric.NumClasses]*class // nil for Disabled
	faults  faults
	budget  budget
	bursts  bursts
	started metric.Stamp

	missedTold int64 // awake clock; used by the keeper only

	stop     chan struct{}
	woke     chan struct{} // signals that the machine woke: what it has may have changed
	stopped  atomic.Bool
	running  sync.WaitGroup
	planning sync.Mutex // held by Apply and Renew
	plan     Plan       // guarded by planning

	watching sync.Mutex
	watch    watch

	storing sync.Mutex
	closed  bool // guarded by storing, as are the next two
	values  uint64
	events  uint64
}

// New plans the reading of sources; nothing is read before Run. It adds a source of the engine's
// own numbers.
func New(opt Options) (*Engine, error) {
	if opt.Sink == nil || opt.Now == nil {
		return nil, errors.New("engine: no sink or no clock")
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	e := &Engine{opt: opt, log: opt.Log, plan: opt.Plan, stop: make(chan struct{}), woke: make(chan struct{}, 1)}
	e.clock.raw = opt.Now
	e.started = e.clock.now()
	e.watch.slept, e.watch.reason = opt.Slept, opt.WakeReason
	e.faults = faults{event: e.Event, log: opt.Log, open: make(map[string]*fault)}
	e.budget = newBudget(e)
	for _, id := range read {
		e.classes[id] = newClass(e, id)
	}
	for _, s := range opt.Sources {
		e.sources = append(e.sources, newSource(s))
	}
	e.sources = append(e.sources, newSource(newSelf(e)))
	seen := make(map[string]bool)
	for _, s := range e.sources {
		if seen[s.name] {
			return nil, errors.New("engine: two sources are called " + s.name)
		}
		seen[s.name] = true
		s.plan(&e.plan)
	}
	return e, nil
}

// Run reads until ctx is done, passes everything read to the sink, and returns. It does not
// close the sink or the sources.
func (e *Engine) Run(ctx context.Context) error {
	now := e.clock.now()
	for _, ev := range e.opt.Before {
		e.event(ev)
	}
	e.event(metric.Event{At: now, Kind: metric.EventStart, Text: "the recorder started"})
	e.watching.Lock()
	e.watch.last = now
	if e.opt.Zone != nil {
		e.watch.zone = e.opt.Zone()
	}
	e.watching.Unlock()
	e.planning.Lock()
	e.adopt(true)
	e.planning.Unlock()
	for _, id := range read {
		c := e.classes[id]
		e.running.Add(1)
		go c.newReader(0).run(-1)
	}
	e.running.Add(1)
	go e.seek()
	e.keep(ctx)
	e.shutDown()
	return nil
}

// stopWithin is how long the readings under way may take to end when the engine stops. One that
// hangs is left behind.
const stopWithin = 500 * time.Millisecond

func (e *Engine) shutDown() {
	e.stopped.Store(true)
	close(e.stop)
	done := make(chan struct{})
	go func() { e.running.Wait(); close(done) }()
	timer := time.NewTimer(stopWithin)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
	e.tellMissed(e.clock.now(), true)
	e.event(metric.Event{At: e.clock.now(), Kind: metric.EventStop, Text: "the recorder stopped"})
	e.storing.Lock()
	e.closed = true
	e.storing.Unlock()
}

func (e *Engine) stopping() bool { return e.stopped.Load() }

// adopt gives the plan to the classes. Static metrics are read if again is set or if their
// sources changed. The caller holds planning.
func (e *Engine) adopt(again bool) {
	now := e.clock.now()
	for _, id := range read {
		var members []*source
		for _, s := range e.sources {
			// members may change only while planning is held, so reading them without turn is safe
			// here.
			if s.members[id] != nil {
				members = append(members, s)
			}
		}
		interval := e.plan.Intervals[id]
		if id == metric.Static && interval != 0 {
			interval = metric.Once
		}
		c := e.classes[id]
		c.adopt(interval, members, now, again)
		c.mu.Lock()
		c.foresee(e.plan.Before[id], now)
		c.mu.Unlock()
	}
}

// event stores events.
func (e *Engine) event(list ...metric.Event) {
	for i := range list {
		if list[i].At == (metric.Stamp{}) {
			list[i].At = e.clock.now()
		}
	}
	e.storing.Lock()
	defer e.storing.Unlock()
	if e.closed || len(list) == 0 {
		return
	}
	e.events += uint64(len(list))
	if err := e.opt.Sink.Event(list...); err != nil {
		// Reporting it as a fault would make another event.
		e.log.Debug("events could not be stored", "events", len(list), "first", list[0].Text, "error", err)
	}
}

// Event stores an event from outside the engine.
func (e *Engine) Event(ev metric.Event) { e.event(ev) }

// Append stores a tick that the engine did not read.
func (e *Engine) Append(t *metric.Tick) error {
	e.storing.Lock()
	defer e.storing.Unlock()
	if e.closed {
		return errStopped
	}
	err := e.opt.Sink.Append(t)
	if err == nil {
		e.values += uint64(t.Values())
	}
	return err
}

// errStopped is the error of storing a tick after the end.
var errStopped = errors.New("the recorder has stopped")

// append stores a tick that came late by stall and returns how many values it had.
func (e *Engine) append(t *metric.Tick, stall time.Duration) uint64 {
	if len(t.Blocks) == 0 {
		return 0
	}
	n := uint64(t.Values())
	e.storing.Lock()
	if e.closed {
		e.storing.Unlock()
		return 0
	}
	err := e.opt.Sink.Append(t)
	if err == nil {
		e.values += n
	}
	e.storing.Unlock()
	if err != nil {
		e.faults.report(t.At, time.Minute, "archive", err.Error())
		return 0
	}
	if e.opt.Notice != nil {
		e.tell(e.opt.Notice(t, stall))
	}
	return n
}

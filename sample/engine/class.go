package engine

import (
	"slices"
	"sync"
	"time"

	"tachograph/sample"
	"tachograph/sample/metric"
)

// class reads the sources of one class at its deadlines.
type class struct {
	e  *Engine
	id metric.Class
	// poke makes a sleeping class look at its plan again.
	poke chan struct{}
	// giveUp makes a class stop waiting for a source that another class is reading.
	giveUp chan struct{}
	// stored signals that a tick has been stored.
	stored chan struct{}

	mu       sync.Mutex
	interval time.Duration // what the plan sets; 0: off
	stretch  int           // the budget's factor, a power of two
	deadline int64         // awake clock
	wander   wander        // how far the deadline is off a fixed grid
	behind   int64         // how late the first skipped deadline since the last tick was
	// burst is the interval of the current burst, 0 for none. It lasts until burstUntil. grid is
	// what the deadline would be without the burst.
	burst      time.Duration
	burstUntil int64 // awake clock
	grid       int64
	// before says what of c to keep in memory. ahead is the interval at which c is now read for
	// that, 0 for not; grid is then the deadline of the next recorded tick.
	before   Before
	ahead    time.Duration
	ring     ring
	last     int64 // deadline of the last tick
	due      bool  // a static class to be read
	unstored bool  // a tick has begun and is not stored
	sources  []*source
	stats    classStats
	missed   missedTicks
	parts    partTold

	// The tick under way. owner changes when a goroutine is left behind in a
	// source that hangs; only the owner may touch tick and list.
	owner   uint64
	at      int           // place in list of the source being read
	since   int64         // awake clock: since when
	waiting bool          // for another class to finish with it
	reading bool          // a tick is under way
	list    []*source     // sources that this tick reads
	tick    metric.Tick   //
	begun   metric.Stamp  //
	spent   time.Duration // in sources, by this tick
	stall   time.Duration // how late the tick came, counting deadlines missed before it
	glanced bool          // the tick is only for the ring
	late    []lateReading // for the next tick
	served  []*source     // sources of late that this tick includes
}

// A lateReading came back after the class had given it up. Its values go with the next tick,
// stamped with the time at which they were read.
type lateReading struct {
	source *source
	blocks []*metric.Block
}

// takeLate adds the late readings to the tick, except those of sources that are about to be read
// again, into the same blocks. The caller holds mu.
func (c *class) takeLate(now int64) {
	c.served = c.served[:0]
	for _, l := range c.late {
		if slices.Contains(c.list, l.source) && !l.source.ready(now) {
			c.tick.Blocks = append(c.tick.Blocks, l.blocks...)
			c.served = append(c.served, l.source)
		}
	}
	clear(c.late)
	c.late = c.late[:0]
}

// classStats is guarded by class.mu.
type classStats struct {
	Ticks, Overruns, Values uint64
	Last                    metric.Stamp
	Duration, TotalDuration time.Duration
	Late, MaxLate           time.Duration
	TotalLate               time.Duration
}

func newClass(e *Engine, id metric.Class) *class {
	return &class{e: e, id: id, stretch: 1, poke: make(chan struct{}, 1), giveUp: make(chan struct{}, 1), stored: make(chan struct{}, 1)}
}

// effective is the interval after stretching, or that of a burst. The caller holds mu.
func (c *class) effective() time.Duration {
	every := c.usual()
	if c.burst != 0 && every != 0 {
		return min(every, c.burst)
	}
	return every
}

// usual is effective without bursts.
func (c *class) usual() time.Duration {
	if c.interval == metric.Once {
		return c.interval
	}
	return c.interval * time.Duration(c.stretch)
}

// reader is one goroutine's turn at a class.
type reader struct {
	c      *class
	turn   uint64
	ctx    sample.Context
	stamp  metric.Stamp
	timer  *time.Timer
	slice  time.Duration // how long a source may work for this tick
	within time.Duration // and how much time may pass meanwhile
	// The source being read and the events that it has emitted. asked is when it first asked
	// whether to stop, 0 if it has not. worked is the processor time that the recorder had used
	// by then.
	source *source
	events []metric.Event
	asked  int64
	worked time.Duration
	told   bool // the tick under way has emitted an event
	// awake is the awake clock at the end of the last step, which is the beginning of the next.
	// Reading the clocks costs as much as reading a small source.
	awake int64
}

// sameInstant is how far apart two readings of a tick may be and still share a stamp: another
// stamp takes more space than most sources' values.
const sameInstant = int64(time.Millisecond)

func (c *class) newReader(turn uint64) *reader {
	r := &reader{c: c, turn: turn, timer: time.NewTimer(time.Hour)}
	r.ctx.Class = c.id
	r.ctx.Enough = r.enough
	// Storing an event can wait for other storing. Wait after the source is read, because the
	// wait would count against its patience.
	r.ctx.Emit = func(ev metric.Event) {
		if ev.At == (metric.Stamp{}) {
			ev.At = c.e.clock.now()
		}
		r.events = append(r.events, ev)
		r.told = true
	}
	r.ctx.Now = func() metric.Stamp {
		now := c.e.clock.now()
		if r.source != nil {
			r.source.alive.Store(now.Awake)
		}
		if now.Awake-r.stamp.Awake >= sameInstant || now.Awake < r.stamp.Awake {
			r.stamp = now
		}
		return r.stamp
	}
	return r
}

// run keeps the class's deadlines until the engine stops. A reader that takes over from one left
// behind first finishes that one's tick, from the source at resume on.
func (r *reader) run(resume int) {
	defer r.c.e.running.Done()
	defer r.timer.Stop()
	if resume >= 0 {
		r.awake = r.c.e.clock.now().Awake
		if !r.finish(resume) {
			return
		}
	}
	for r.wait() {
		r.begin()
		if !r.finish(0) {
			return
		}
	}
}

// wait returns true at the class's next deadline, false when the engine stops.
func (r *reader) wait() bool {
	for {
		now := r.c.e.clock.now()
		// look must come first: deadlines missed while the recorder did not run belong to its gap
		// event.
		r.c.e.look(now)
		left, due := r.c.left(now)
		if due {
			return !r.c.e.stopping()
		}
		r.timer.Reset(left)
		select {
		case <-r.timer.C:
		case <-r.c.poke:
		case <-r.c.e.stop:
			return false
		}
	}
}

// forever is longer than any wait.
const forever = 24 * time.Hour

// left returns the time to the next deadline, and due when it has come. It counts and skips
// missed deadlines, so that one tick, on the old grid, follows a stall, and not a burst of
// ticks.
func (c *class) left(now metric.Stamp) (left time.Duration, due bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.burst != 0 && now.Awake >= c.burstUntil {
		c.calm(now)
	}
	switch interval := c.effective(); {
	case interval == 0 || len(c.sources) == 0:
		return forever, false
	case interval == metric.Once:
		return forever, c.due
	default:
		if n, late := c.skip(now); n > 0 {
			c.missed.add(n, now, late)
		}
		late := now.Awake - c.deadline
		return time.Duration(-late), late >= 0
	}
}

// settle waits until a class that is read once per archive has nothing due or under way, but no
// longer than limit.
func (c *class) settle(limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		c.mu.Lock()
		settled := c.interval != metric.Once || len(c.sources) == 0 || !c.due && !c.unstored
		c.mu.Unlock()
		if settled {
			return
		}
		select {
		case <-c.stored:
		case <-timer.C:
			return
		case <-c.e.stop:
			return
		}
	}
}

// begin starts a tick.
func (r *reader) begin() {
	c := r.c
	now := c.e.clock.now()
	r.stamp, r.awake = now, now.Awake
	c.e.look(now)
	if c.hurried() {
		c.e.afford(now)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r.told, c.glanced = false, c.ahead != 0 && c.burst == 0 && c.deadline < c.grid
	switch {
	case c.glanced:
		c.stall = 0
		c.glance()
	case c.interval != metric.Once:
		late := time.Duration(now.Awake - c.deadline)
		c.stall, c.behind = max(late, time.Duration(c.behind)), 0
		c.stats.Late = late
		c.stats.TotalLate += late
		c.stats.MaxLate = max(c.stats.MaxLate, late)
		c.last = c.deadline
		if c.ahead != 0 && c.burst == 0 {
			c.glance()
			break
		}
		c.deadline += int64(c.effective())
		if wanders(c.id) && c.burst == 0 {
			c.deadline += c.wander.next(int64(c.effective()))
		}
	}
	r.slice, r.within = slice(c.effective())
	c.due = false
	c.reading, c.unstored = true, true
	c.begun = now
	c.spent = 0
	c.list = c.sources
	c.tick.Class = c.id
	c.tick.At = now
	c.tick.Blocks = c.tick.Blocks[:0]
	c.takeLate(now.Awake)
}

// finish reads the tick's sources from the i-th on and stores the tick. It returns false when
// this reader was left behind meanwhile.
func (r *reader) finish(i int) bool {
	c := r.c
	for ; i < len(c.list); i++ {
		if c.e.stopping() {
			break
		}
		s := c.list[i]
		if s.ready(r.awake) && !slices.Contains(c.served, s) && !r.readOne(i, s) {
			return false
		}
	}
	c.mu.Lock()
	if c.owner != r.turn {
		c.mu.Unlock()
		return false
	}
	c.reading = false
	long := c.before.For
	c.mu.Unlock()
	// Events are stored together with the values of their tick: no other tick has the last values
	// of a process.
	if c.glanced && !r.told {
		c.ring.keep(&c.tick, long)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.unstored = false
		c.stats.TotalDuration += time.Duration(c.e.clock.now().Awake - c.begun.Awake)
		return true
	}
	values := c.e.append(&c.tick, c.stall)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unstored = false
	select {
	case c.stored <- struct{}{}:
	default:
	}
	c.stats.Ticks++
	c.stats.Values += values
	c.stats.Last = c.tick.At
	c.stats.Duration = time.Duration(c.e.clock.now().Awake - c.begun.Awake)
	c.stats.TotalDuration += c.stats.Duration
	return true
}

// readOne reads one source. It returns false when this goroutine was left behind in it.
func (r *reader) readOne(i int, s *source) bool {
	c := r.c
	if !r.take(i, s) {
		return true
	}
	began := r.awake
	r.source, r.asked = s, 0
	blocks, lapse, err := s.read(&r.ctx, c.id)
	r.tellEvents()
	if notice, isNew := s.heed(); isNew {
		c.e.log.Warn(notice, "source", s.name)
	}
	now := c.e.clock.now().Awake
	r.awake = now
	took := time.Duration(now - began)

	c.mu.Lock()
	mine := c.owner == r.turn
	if mine {
		c.tick.Blocks = append(c.tick.Blocks, blocks...)
		c.at = -1
	} else if err == nil {
		c.late = append(c.late, lateReading{s, blocks})
	}
	c.mu.Unlock()
	read, of := r.ctx.Part()
	if !mine {
		s.returned(now)
		<-s.turn
		return false
	}
	<-s.turn
	s.came(c.id, took, err != nil || lapse != "", of > 0)
	if of > 0 && !c.e.stopping() {
		c.tellPart(s.name, read, of, took.Round(10*time.Millisecond))
	}
	if err != nil {
		lapse = err.Error()
	}
	if lapse != "" {
		c.e.faults.report(c.e.clock.now(), c.quiet(), "source "+s.name, lapse)
	}
	return true
}

// enough reports whether the source being read must stop. Time counts from its first call, when
// the source knows how much there is to read. Finding that out may take long as well, and must
// not be all that a reading does.
func (r *reader) enough() bool {
	now := r.ctx.Now().Awake
	work := r.c.e.opt.Worked
	if r.asked == 0 {
		r.asked = now
		if work != nil {
			r.worked = work()
		}
	}
	took := time.Duration(now - r.asked)
	switch {
	case r.c.e.stopping():
		return true
	case took < r.slice:
		return false
	}
	return work == nil || took >= r.within || work()-r.worked >= r.slice
}

// tellEvents stores the events that the source has emitted.
func (r *reader) tellEvents() {
	r.c.e.event(r.events...)
	clear(r.events)
	r.events = r.events[:0]
}

// take waits for the turn of s; false when it gave up waiting.
func (r *reader) take(i int, s *source) bool {
	c := r.c
	select {
	case s.turn <- struct{}{}:
	default:
		got := r.await(i, s)
		r.awake = c.e.clock.now().Awake
		if !got {
			return false
		}
	}
	c.mu.Lock()
	c.at, c.since, c.waiting = i, r.awake, false
	c.mu.Unlock()
	return true
}

// await waits for another class to finish with s.
func (r *reader) await(i int, s *source) bool {
	c := r.c
	c.mu.Lock()
	c.at, c.since, c.waiting = i, r.awake, true
	c.mu.Unlock()
	// Drop a request to give up that came too late for the last wait.
	select {
	case <-c.giveUp:
	default:
	}
	select {
	case s.turn <- struct{}{}:
		return true
	case <-c.giveUp:
	case <-c.e.stop:
	}
	return false
}

// check is the keeper's look at a class. It ends waits that take too long and leaves behind a
// goroutine that is stuck in a source. A source that reads the clocks is not stuck, whichever
// class reads it.
func (c *class) check(now metric.Stamp) {
	c.mu.Lock()
	defer c.mu.Unlock()
	limit := patience(c.effective())
	if !c.reading || c.at < 0 || c.at >= len(c.list) {
		return
	}
	s := c.list[c.at]
	if time.Duration(now.Awake-max(c.since, s.alive.Load())) < limit {
		return
	}
	if c.waiting {
		select {
		case c.giveUp <- struct{}{}:
		default:
		}
		return
	}
	s.hangs(c.id, c.since)
	c.e.faults.report(now, quietFor(c.effective()), "source "+s.name, "it does not answer: given up after "+limit.String()+", the others go on")
	c.owner++
	resume := c.at + 1
	c.at = -1
	r := c.newReader(c.owner)
	r.slice, r.within = slice(c.effective())
	c.e.running.Add(1)
	go r.run(resume)
}

// adopt gives the class a new plan. The next deadline is counted from the last one, so that no
// tick is lost and none comes early. A class that is read once is read again if again is set, or
// if its interval or sources changed.
func (c *class) adopt(interval time.Duration, sources []*source, now metric.Stamp, again bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := c.interval != interval
	idle := len(c.sources) == 0
	if again || changed || !slices.Equal(c.sources, sources) {
		c.due = true
	}
	c.interval, c.sources = interval, sources
	if changed {
		c.stretch = 1
	}
	if changed || idle {
		c.replan(now)
	}
	c.wake()
}

// replan sets the deadline after the interval changed; the caller holds mu.
func (c *class) replan(now metric.Stamp) {
	switch interval := c.effective(); {
	case interval == 0 || interval == metric.Once:
	case c.last == 0:
		c.deadline = now.Awake + int64(phase(c.id))
	default:
		c.deadline = max(c.last+int64(interval), now.Awake)
	}
	if c.ahead != 0 && c.burst == 0 {
		c.grid = c.deadline
		c.deadline = min(c.grid, now.Awake+int64(c.ahead))
	}
}

// hurried reports whether a burst of c is going on.
func (c *class) hurried() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.burst != 0
}

func (c *class) wake() {
	select {
	case c.poke <- struct{}{}:
	default:
	}
}

package perf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"golang.org/x/sys/unix"

	"tachograph/sample/stack"
)

// switches measures how long the threads of a process wait, and finds who wakes them. A nil one
// measures nothing.
type switches struct {
	s       *session
	waits   *waits
	events  *events            // of the threads: they go to sleep, and go on
	wakes   *events            // of all threads: they wake others; without rings if tracefs does not say how
	waking  unix.PerfEventAttr // of the events of wakes
	fields  wakeFields
	sources []source
	pace    pace
	// losses is how often records of the current second were lost.
	losses  int
	flushed uint64
	chain   []byte
	// interpreted is how many waits of the current second were looked up in a program in Python.
	interpreted int
	// filter is what the kernel lets through of the wakes, since filtered.
	filter   string
	filtered uint64
}

// source is a ring and what was taken from it.
type source struct {
	ring  *ring
	wakes bool
	taken []byte
	rest  []byte // of taken: after head
	head  switched
	size  int  // of the head's record
	ok    bool // head is there
}

const (
	// mostLosses is how often records may be lost before it gives up.
	mostLosses = 8
	// mostFiltered is how many threads a filter names.
	mostFiltered = 64
	// mostInterpreted is how many waits of a second are looked up in a program in Python, beside
	// those that a look finds.
	mostInterpreted = 200
	// switchPages is a ring's usual size; all rings together have at most mostSwitchPages. With
	// copies of stacks both are four times as much.
	switchPages, mostSwitchPages = 128, 4096
)

// measure starts to measure the waits of a process, if the kernel allows it. It says in the
// statistics why not.
func (x *session) measure(threads []int32) {
	m, err := newSwitches(x, threads)
	if err != nil {
		x.statistics.WaitsWhy = err.Error()
		return
	}
	x.switches = m
}

func newSwitches(x *session, threads []int32) (*switches, error) {
	cpus, err := processors()
	if err != nil {
		return nil, err
	}
	switch {
	case !x.events.kernel:
		return nil, fmt.Errorf("waits are not measured: the kernel shows this user nothing of itself")
	case len(threads)*len(cpus) > mostEvents:
		return nil, fmt.Errorf("waits are not measured: %d threads are too many", len(threads))
	}
	m := &switches{s: x, events: &events{calls: x.calls, rate: 1, depth: x.events.depth, kernel: true}, wakes: &events{}}
	pages := switchPages
	for pages > leastPages && pages*len(cpus) > mostSwitchPages {
		pages /= 2
	}
	if x.events.copies > 0 {
		m.events.copies = switchCopy
		err = m.open(cpus, threads, 4*pages)
	}
	if x.events.copies == 0 || err != nil { // there may be too little memory for copies
		m.events.copies = 0
		err = m.open(cpus, threads, pages)
	}
	if err != nil {
		return nil, fmt.Errorf("waits are not measured: %w", err)
	}
	now := monotonic()
	m.waits, m.flushed, m.pace = newWaits(x.wish.PID, now, threads), now, pace{fds: m.pace.fds, stacks: x.stacks, checked: now, on: true, since: now, every: 1}
	if err := m.wake(threads, pages); err != nil {
		m.wakes.close()
		x.statistics.WaitsWhy = "who ended waits is unknown: " + err.Error()
		if errors.Is(err, fs.ErrNotExist) {
			x.statistics.WaitsWhy = "who ended waits is unknown: mount tracefs at /sys/kernel/tracing"
		}
	}
	m.listen()
	return m, nil
}

// open opens the events of the threads; if that fails, none are open.
func (m *switches) open(cpus []int, threads []int32, pages int) error {
	var err error
	for _, m.events.switches = range []switchKind{switchRecords, switchStacks} {
		m.pace.fds = len(m.events.fds)
		if err == nil {
			err = m.events.openWith(cpus, threads, pages)
		}
		if err == nil {
			err = m.catchUp(cpus, threads)
		}
	}
	if err != nil {
		m.events.close()
	}
	return err
}

// listen makes the sources of the events that are open.
func (m *switches) listen() {
	m.sources = m.sources[:0]
	for i := range m.events.rings {
		m.sources = append(m.sources, source{ring: &m.events.rings[i]})
	}
	for i := range m.wakes.rings {
		m.sources = append(m.sources, source{ring: &m.wakes.rings[i], wakes: true})
	}
}

// withoutCopies goes on without copies of stacks, which fill the rings sooner than they are read.
func (m *switches) withoutCopies() {
	m.events.close()
	m.events.copies, m.losses = 0, 0
	m.waits.forget()
	cpus, err := processors()
	threads, err2 := threadsOf(m.s.wish.PID)
	if err != nil || err2 != nil || m.open(cpus, threads, switchPages) != nil {
		m.stop()
		return
	}
	m.pace.on, m.pace.since = true, monotonic()
	m.listen()
}

// catchUp follows the threads that were started while the others began to be followed. A thread
// that is followed twice is heard twice, which changes nothing.
func (m *switches) catchUp(cpus []int, threads []int32) error {
	now, err := threadsOf(m.s.wish.PID)
	if err != nil {
		return nil // the process has ended, which is found out soon enough
	}
	for _, tid := range now {
		if slices.Contains(threads, tid) {
			continue
		}
		if err := m.events.follow(cpus, tid, leastPages); err != nil && err != unix.ESRCH {
			return err
		}
	}
	return nil
}

// drain takes in the records from before an instant. It returns whether some of the threads of
// which it heard are still to be named.
func (m *switches) drain(until uint64) bool {
	if m == nil || len(m.sources) == 0 {
		return false
	}
	for i := range m.sources {
		m.sources[i].take()
	}
	for {
		// Each ring is in the order of time.
		var first *source
		for i := range m.sources {
			if c := &m.sources[i]; c.ok && c.head.time < until && (first == nil || c.head.time < first.head.time) {
				first = c
			}
		}
		if first == nil {
			break
		}
		m.hear(&first.head, first.wakes)
		first.advance()
		if m.waits.full() {
			m.flush()
		}
	}
	m.interpret()
	for i := range m.sources {
		m.sources[i].clear()
	}
	now := monotonic()
	if m.pace.choose(now, m.waits.left) {
		m.pace.turn(m.events.fds[m.pace.fds:])
	}
	switch {
	case m.losses > 0 && m.events.copies > 0:
		m.withoutCopies()
	case m.losses > mostLosses:
		m.stop()
	case now-m.flushed >= 1e9:
		m.flushed, m.losses, m.interpreted = now, 0, 0
		m.flush()
		return false
	}
	return true
}

// left returns what has been taken and is still to be heard.
func (c *source) left() []byte {
	if c.ok {
		return c.taken[len(c.taken)-len(c.rest)-c.size:]
	}
	return c.rest
}

// clear removes what has been heard: it may be copies of stacks.
func (c *source) clear() { clear(c.taken[:len(c.taken)-len(c.left())]) }

// take takes what is in the ring, behind what is left.
func (c *source) take() {
	left := c.left()
	c.taken = c.ring.drain(append(c.taken[:0], left...))
	c.rest = c.taken
	c.advance()
}

// advance goes to the next record. What is damaged is dropped.
func (c *source) advance() {
	for {
		rec, rest := next(c.rest)
		if rec == nil {
			c.rest, c.ok = nil, false
			return
		}
		c.rest = rest
		if c.head.parse(rec) {
			c.size, c.ok = len(rec), true
			return
		}
	}
}

func (m *switches) hear(r *switched, wakes bool) {
	switch {
	case r.kind == kindLost || r.kind == kindLostSamples:
		m.s.statistics.WaitsLost += int(min(r.lost, 1<<31))
		m.losses++
		m.waits.forget()
	case !wakes:
		chain, end := m.chainOf(r)
		m.waits.hear(r, chain, end)
	case r.kind == kindSample:
		if tid, interrupt, ok := m.fields.read(r); ok {
			m.waits.woken(tid, r, interrupt)
		}
	}
}

// chainOf returns the stack of a thread that goes to sleep, as the kernel's chains are: by its
// copy if there is one; and how the walk along that ended.
func (m *switches) chainOf(r *switched) ([]byte, stack.End) {
	if r.registers == nil || r.pid != m.waits.pid {
		return r.chain, stack.Whole
	}
	x := m.s
	order := binary.NativeEndian
	m.chain, x.chain = m.chain[:0], x.chain[:0]
	(&record{chain: r.chain}).frames(func(address uint64, kernel bool) {
		if !kernel {
			x.chain = append(x.chain, address)
			return
		}
		if len(m.chain) == 0 {
			m.chain = order.AppendUint64(m.chain, markKernel)
		}
		m.chain = order.AppendUint64(m.chain, address)
	})
	registers := own.content(r.registers)
	user, end := x.walk(x.processes.get(r.pid), &registers, r.stack, x.events.depth-len(m.chain)/8, x.chain, stack.Whole)
	m.chain = order.AppendUint64(m.chain, markUser)
	for _, address := range user {
		m.chain = order.AppendUint64(m.chain, address)
	}
	return m.chain, end
}

// look gives a sample of a thread that waits, and returns false if nothing is known of it.
func (m *switches) look(tid int32, count uint32) bool {
	if m == nil {
		return false
	}
	w := m.waits.waiting(tid)
	if w == nil {
		return false
	}
	if w.python.at == 0 {
		m.s.ask(m.s.processes.get(m.waits.pid), tid, &w.python, true)
	}
	m.give(tid, w, stack.Sample{Count: count})
	return true
}

// found takes in what a look in /proc found.
func (m *switches) found(tid int32, frames []stack.Frame, what string) {
	if m != nil && len(m.sources) > 0 && m.s.statistics.WaitsLost == 0 {
		m.waits.found(tid, frames, what)
	}
}

func (m *switches) flush() {
	m.waits.flush(func(s *sum) { m.give(s.tid, &s.wait, stack.Sample{Waited: s.waited, Waker: m.waker(&s.waker)}) })
}

// give gives a sample of a wait.
func (m *switches) give(tid int32, w *wait, s stack.Sample) {
	x := m.s
	q := x.processes.get(m.waits.pid)
	s.State, s.Frames, s.Wait = stack.Waiting, w.frames, w.what
	if w.frames == nil {
		if s.Frames, s.End = x.stackOf(q, &record{chain: w.chain}); s.End == stack.Whole {
			s.End = w.end
		}
		// The functions that each wait ends in say nothing of it.
		for len(s.Frames) > 1 && s.Frames[1].Kernel && x.kernel().schedules(s.Frames[0].Address) {
			s.Frames = s.Frames[1:]
		}
		if len(s.Frames) > 0 && s.Frames[0].Kernel {
			s.Wait = s.Frames[0].Name
		}
	}
	if len(s.Frames) > 0 {
		x.pythons.given = &w.python
		x.send(q, tid, s)
		x.pythons.given = nil
	}
}

// interpret reads where threads that have begun to wait are in their program in Python. Waits that
// are over by now, and too many in a second, stay without.
func (m *switches) interpret() {
	q := m.s.processes.get(m.waits.pid)
	for _, tid := range m.waits.fresh {
		if w := m.waits.waiting(tid); w != nil && w.python.at == 0 && m.interpreted < mostInterpreted {
			m.interpreted++
			m.s.ask(q, tid, &w.python, true)
		}
	}
	m.waits.fresh = m.waits.fresh[:0]
}

// waker returns who ended a wait, nil if that is unknown.
func (m *switches) waker(w *wakeup) *stack.Waker {
	if !w.known {
		return nil
	}
	x := m.s
	q := x.processes.get(w.pid)
	frames, _ := x.stackOf(q, &record{chain: w.chain})
	x.written.name(q, frames)
	by := &stack.Waker{Frames: slices.Clone(frames)}
	if !w.interrupt {
		by.Thread = x.thread(q, w.tid)
	}
	return by
}

// stop stops to measure, because that is too much.
func (m *switches) stop() {
	m.s.statistics.WaitsWhy = "waits were not measured until the end: there were more than could be read"
	m.waits.forget()
	m.flush()
	m.close()
}

// finish gives what is left at the end of the session.
func (m *switches) finish() {
	if m == nil {
		return
	}
	m.waits.close(monotonic())
	m.flush()
	m.s.statistics.Waits = m.waits.measured
	m.close()
}

func (m *switches) close() {
	m.sources = nil
	m.events.close()
	m.wakes.close()
}

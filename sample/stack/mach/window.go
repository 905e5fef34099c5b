package mach

import (
	"encoding/binary"

	"tachograph/sample/stack"
	"tachograph/sample/stack/chain"
)

// While a task is suspended all of its threads are, so a window reads as many of the running
// threads as it has time for, and at least one.
const (
	// maxWindow is when reading suspended threads ends, even if stacks are incomplete. The goal
	// is never to keep a process from running for a millisecond; one more call may be under way
	// at that moment.
	maxWindow = 500_000 // nanoseconds
	// shortWindow is until when another thread may be begun.
	shortWindow = 50_000
	maxBatch    = 16
	// relearn is how often threads may be read again in one round because something about the
	// functions on their stacks had not been read before.
	relearn = 8
)

// glance is what is read of a thread: while the thread stands still, nothing in it needs to be
// allocated or looked up.
type glance struct {
	registers chain.Registers
	top       [2]uint64 // of the stack
	ruled     bool      // the walk knew how the innermost function uses the stack
	frames    []uint64
	end       stack.End
	late      bool   // there was no time to read all of it
	queue     uint64 // the address of its dispatch queue, 0 for none
	failed    code   // why there is nothing
}

// memory reads a task's memory: once, and then until a time limit.
type memory struct {
	k     kernel
	task  port
	until uint64 // 0: no limit
	again bool
	late  bool
}

func (m *memory) Read(addr uint64, b []byte) bool {
	if m.late || m.until != 0 && m.again && m.k.Now() > m.until {
		m.late = true
		return false
	}
	m.again = true
	return m.k.Read(m.task, addr, b)
}

// eye reads the threads of a task.
type eye struct {
	k          kernel
	task       port
	translated bool
	mem        memory
	walker     chain.Walker
	rules      rules
	word       [8]byte
	seen       [maxBatch]glance // with room for the deepest stacks
	lengths    durations
	guard      guard
}

func newEye(k kernel) *eye {
	e := &eye{k: k}
	for i := range e.seen {
		e.seen[i].frames = make([]uint64, 0, stack.MaxDepth)
	}
	return e
}

// read reads a thread that does not move now, as far as we know.
func (e *eye) read(t *thread, s *glance, until uint64) code {
	if s.failed = e.k.Registers(t.port, e.translated, &s.registers); s.failed != 0 {
		return s.failed
	}
	e.mem = memory{k: e.k, task: e.task, until: until}
	e.walker.Rules = nil
	if s.registers.LR == 0 {
		// Where there is a register for return addresses, only the innermost function can be
		// without a frame, and what it needs is in registers.
		e.walker.Rules = &e.rules
	}
	s.frames, s.end = e.walker.Walk(&e.mem, &s.registers, s.frames[:0])
	s.top, s.ruled = e.walker.Top, e.walker.Ruled
	e.readQueue(t, s)
	if s.late = e.mem.late; s.late {
		s.end = stack.Truncated
	}
	return 0
}

func (e *eye) readQueue(t *thread, s *glance) {
	s.queue = 0
	if t.who.queue != 0 && e.mem.Read(t.who.queue, e.word[:]) {
		s.queue = binary.LittleEndian.Uint64(e.word[:])
	}
}

// look reads a waiting thread into the first glance; ok is false if the thread runs, or has
// moved meanwhile.
func (e *eye) look(t *thread) (ok bool, c code) {
	var now, after description
	if c := e.k.Describe(t.port, &now); c != 0 {
		return false, c
	}
	known := t.known && now == t.described
	t.known, t.described = false, now
	if t.running = now.state == stateRunning; t.running {
		return false, 0
	}
	s := &e.seen[0]
	e.rules.n = 0
	if known {
		// It has not used any CPU time since it was last seen: it has not moved.
		if c := e.k.Registers(t.port, e.translated, &s.registers); c != 0 {
			return false, c
		}
		if s.registers == t.last.registers {
			frames := append(s.frames[:0], t.last.frames...)
			*s, t.known = t.last, true
			s.frames = frames
			return true, 0
		}
	}
	for again := 0; again == 0 || again < relearn && e.rules.learn(); again++ {
		if c := e.read(t, s, 0); c != 0 {
			return false, c
		}
	}
	if c := e.k.Describe(t.port, &after); c != 0 {
		return false, c
	}
	var again chain.Registers
	if c := e.k.Registers(t.port, e.translated, &again); c != 0 {
		return false, c
	}
	if after != now || again != s.registers {
		return false, 0
	}
	t.remember(s)
	return true, 0
}

// window suspends the task for as long as it takes to read some of its threads: n of them, each
// into a glance of its own.
func (e *eye) window(list []*thread) (n int, c code) {
	e.rules.n = 0
	begin := e.k.Now()
	token, c := e.k.Suspend(e.task)
	switch {
	case c == kernInvalidArgument:
		return 0, notSupported // this system requires more than the right to read
	case c != 0:
		return 0, c
	}
	held := e.guard.hold(token)
	// Whatever happens, the task continues.
	defer func() {
		ended := !e.guard.release(held)
		if !ended && e.k.Resume(token) != 0 {
			e.k.Close(token)
		}
		e.lengths.add(int64(e.k.Now() - begin))
		for i := range n {
			switch s := &e.seen[i]; {
			case ended:
				s.failed = timedOut
			case s.failed == 0 && s.late:
				e.mem = memory{k: e.k, task: e.task}
				e.readQueue(list[i], s) // there was no time for it before
			}
		}
	}()
	for n < min(len(list), maxBatch) && (n == 0 || e.k.Now() < begin+shortWindow) {
		e.read(list[n], &e.seen[n], begin+maxWindow)
		n++
	}
	return n, 0
}

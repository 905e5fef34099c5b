package mach

import (
	"encoding/binary"

	"tachograph/sample/stack"
	"tachograph/sample/stack/chain"
)

// maxWindow is when a look at a suspended thread ends, whatever is still to be
// read of its stack. The goal is never to keep a process from running for a
// millisecond; one more call may be under way at that moment.
const maxWindow = 500_000 // nanoseconds

// glance is what is read of a thread: nothing in it needs to be allocated, and
// nothing to be looked up while the thread stands still.
type glance struct {
	registers chain.Registers
	top       [2]uint64 // of the stack
	frames    []uint64
	end       stack.End
	queue     uint64 // the address of its dispatch queue, 0 for none
}

// memory is what can be read of a task, once and then until a time has come.
type memory struct {
	k     kernel
	task  port
	until uint64 // 0 is without end
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

// eye looks at the threads of a task.
type eye struct {
	k          kernel
	task       port
	translated bool
	mem        memory
	walker     chain.Walker
	word       [8]byte
	seen       glance // with room for the deepest stack
	lengths    durations
	guard      guard
}

func newEye(k kernel) *eye {
	return &eye{k: k, seen: glance{frames: make([]uint64, 0, stack.MaxDepth)}}
}

// read reads a thread that does not move now, or so we think.
func (e *eye) read(t *thread, until uint64) code {
	s := &e.seen
	if c := e.k.Registers(t.port, e.translated, &s.registers); c != 0 {
		return c
	}
	e.mem = memory{k: e.k, task: e.task, until: until}
	s.frames, s.end = e.walker.Walk(&e.mem, &s.registers, s.frames[:0])
	s.top = e.walker.Top
	if e.mem.late {
		s.end = stack.Truncated
	}
	e.readQueue(t)
	return 0
}

func (e *eye) readQueue(t *thread) {
	e.seen.queue = 0
	if t.who.queue != 0 && e.mem.Read(t.who.queue, e.word[:]) {
		e.seen.queue = binary.LittleEndian.Uint64(e.word[:])
	}
}

// look reads a thread and leaves in seen what it saw. One that runs is read inside
// a suspension, and only if that may be now; ok is false if it may not.
func (e *eye) look(t *thread, suspend bool) (ok bool, c code) {
	var now description
	if c := e.k.Describe(t.port, &now); c != 0 {
		return false, c
	}
	if t.running = now.state == stateRunning; !t.running {
		if ok, c := e.waiting(t, &now); ok || c != 0 {
			return ok, c
		}
	}
	t.known, t.described = false, now
	if !suspend {
		return false, 0
	}
	return true, e.window(t)
}

// waiting reads a thread that waits; ok is false if it has moved meanwhile.
func (e *eye) waiting(t *thread, now *description) (ok bool, c code) {
	if t.known && *now == t.described {
		// It has not used any time since it was seen last: it is where it was.
		if c := e.k.Registers(t.port, e.translated, &e.seen.registers); c != 0 {
			return false, c
		}
		if e.seen.registers == t.last.registers {
			e.seen.frames = append(e.seen.frames[:0], t.last.frames...)
			e.seen.end, e.seen.queue, e.seen.top = t.last.end, t.last.queue, t.last.top
			return true, 0
		}
	}
	if c := e.read(t, 0); c != 0 {
		return false, c
	}
	var after description
	if c := e.k.Describe(t.port, &after); c != 0 {
		return false, c
	}
	var again chain.Registers
	if c := e.k.Registers(t.port, e.translated, &again); c != 0 {
		return false, c
	}
	if after != *now || again != e.seen.registers {
		return false, 0
	}
	t.remember(now, &e.seen)
	return true, 0
}

// window suspends the task for as long as it takes to read one thread.
func (e *eye) window(t *thread) (c code) {
	begin := e.k.Now()
	token, c := e.k.Suspend(e.task)
	switch {
	case c == kernInvalidArgument:
		return notSupported // a system in which this takes more than the right to read
	case c != 0:
		return c
	}
	held := e.guard.hold(token)
	// Whatever happens, it goes on.
	defer func() {
		if !e.guard.release(held) {
			c = timedOut
		} else if e.k.Resume(token) != 0 {
			e.k.Close(token)
		}
		e.lengths.add(int64(e.k.Now() - begin))
		if c == 0 && e.mem.late {
			e.mem = memory{k: e.k, task: e.task}
			e.readQueue(t) // there was no time for it
		}
	}()
	return e.read(t, begin+maxWindow)
}

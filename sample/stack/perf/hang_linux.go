package perf

import (
	"context"
	"fmt"
	"path"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"tachograph/sample/stack"
)

// Some calls may never return: the kernel makes them wait for a process that itself waits for a
// disk or a server, while it begins another program or while it holds its memory's lock.
const (
	callEvents = iota + 1
	// callStack is also /proc/PID/syscall, which waits for the same lock.
	callStack
	callWait
	callMemory
)

var callNames = [...]string{callEvents: "perf_event_open", callStack: "/proc/PID/stack", callWait: "/proc/PID/wchan", callMemory: "process_vm_readv"}

// callOf returns the call that reads one of the small files of a thread.
func callOf(file string) int {
	switch path.Base(file) {
	case "syscall", "stack":
		return callStack
	}
	return callWait
}

// calls are the watched calls of a session.
type calls struct {
	stack.Calls
	without []string // names of those that are not made
	every   time.Duration
}

// hung returns the error of a call that hung before.
func (c *calls) hung(call int) error {
	if slices.Contains(c.without, callNames[call]) {
		return stack.Hung(callNames[call], c.every)
	}
	return nil
}

// do makes a call, unless it hung before.
func (c *calls) do(call int, f func() error) error {
	if err := c.hung(call); err != nil {
		return err
	}
	c.Begin(call)
	defer c.End()
	return f()
}

// Sample implements stack.Sampler. If a call hangs, it goes on without it.
func (s *Sampler) Sample(ctx context.Context, wish stack.Wish, give func(*stack.Sample)) (stack.Statistics, error) {
	var all stack.Statistics
	if wish.Rate < 1 || wish.Rate > stack.MaxRate {
		return all, fmt.Errorf("a rate of %d a second cannot be sampled: 1 to %d can", wish.Rate, stack.MaxRate)
	}
	end := time.Now().Add(wish.For)
	for {
		st, err := s.watched(ctx, wish, give)
		hung := st.Hung
		st.After(&all)
		if all = st; len(hung) == 0 {
			return all, err
		}
		wish.Without = append(slices.Clone(wish.Without), hung...)
		if wish.For = time.Until(end); wish.For <= 0 || ctx.Err() != nil {
			return all, nil
		}
	}
}

// watched is a session on a goroutine of its own, which it abandons if a call does not return. If
// the call returns later, that goroutine only frees what it holds.
func (s *Sampler) watched(ctx context.Context, wish stack.Wish, give func(*stack.Sample)) (stack.Statistics, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.images = newImages()
	gate, done := stack.NewGate(give), make(chan struct{})
	x := &session{wish: wish, give: gate.Give, calls: &calls{without: wish.Without, every: s.every},
		processes: newProcesses(), images: s.images, written: newWritten(), open: s.open, stacks: s.stacks, pythons: pythons{left: pythonTime}}
	began := time.Now()
	var err error
	go func() {
		defer close(done)
		err = x.sampling(ctx, s.refuse)
	}()
	call := x.calls.Watch(done, s.every)
	if call == 0 {
		return x.statistics, err
	}
	st := stack.Statistics{How: "perf", Samples: gate.Close(), Hung: []string{callNames[call]}, Why: stack.Hung(callNames[call], s.every).Error()}
	st.Rounds = int(time.Since(began).Seconds() * float64(wish.Rate))
	if call != callEvents && x.events != nil {
		x.events.disable()
	}
	return st, nil
}

// disable ends the kernel's sampling. What it has written can still be read.
func (e *events) disable() {
	for _, fd := range e.fds {
		_ = unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_DISABLE, 0)
	}
	for _, r := range e.rings {
		_ = unix.IoctlSetInt(r.fd, unix.PERF_EVENT_IOC_DISABLE, 0)
	}
}

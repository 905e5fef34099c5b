package mach

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"tachograph/sample/stack"
)

// Sampler is a stack.Sampler. It looks at one process by its task, and at all, or at those whose tasks it
// does not get, by stackshots.
type Sampler struct {
	open    func() kernel
	refused *refusals
}

// refusals are what is not to be asked for again: the keys of processes, and the calls
// that did not return.
type refusals struct {
	mu   sync.Mutex
	keys map[string]bool
	task error // why nobody's task is asked for
	shot error // why there are no stackshots
}

// giveUp notes a call that did not return: it has cost a thread, and would cost another.
func (r *refusals) giveUp(call int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if call == callShot {
		r.shot = hung(call)
		return r.shot
	}
	r.task = hung(call)
	return r.task
}

func (r *refusals) givenUp() (task, shot error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.task, r.shot
}

// maxRefused bounds what is remembered of those who refuse; they are asked anew
// when it is full.
const maxRefused = 4096

func (r *refusals) has(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.keys[key]
}

func (r *refusals) add(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.keys) >= maxRefused || r.keys == nil {
		r.keys = make(map[string]bool)
	}
	r.keys[key] = true
}

// Sample looks as it is wished. What cannot be had of a task because a call does not
// return, may be had without one.
func (s *Sampler) Sample(ctx context.Context, wish stack.Wish, give func(*stack.Sample)) (stack.Statistics, error) {
	st, err := s.session(ctx, wish, give)
	if st.Hung == 0 || st.Samples > 0 || wish.PID == 0 || ctx.Err() != nil {
		return st, err
	}
	again, err := s.session(ctx, wish, give)
	again.Hung += st.Hung
	again.Tasks += st.Tasks
	if again.Why == "" {
		again.Why = st.Why
	}
	return again, err
}

// session looks from a thread of its own, which is left behind where a call does not
// return. Should it do so later, nothing but what it holds is looked after.
func (s *Sampler) session(ctx context.Context, wish stack.Wish, give func(*stack.Sample)) (st stack.Statistics, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, name := range wish.Without {
		if call := callOf(name); call != 0 {
			_ = s.refused.giveUp(call)
		}
	}
	k, g, done := &watched{kernel: s.open()}, &gate{to: give}, make(chan struct{})
	var own stack.Statistics
	var ownErr error
	go func() {
		defer close(done)
		// What errors are about, and rights to threads, stay with one thread.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		own, ownErr = s.look(ctx, k, wish, g.give)
	}()
	call := k.watch(done)
	if call == 0 {
		return own, ownErr
	}
	err = s.refused.giveUp(call)
	st = stack.Statistics{How: "mach", Samples: g.close(), Hung: 1, HungCall: callNames[call], Why: err.Error(), Tasks: int(k.asked.Load())}
	if call == callOpen {
		st.Tasks++
	}
	if st.Samples > 0 {
		return st, nil
	}
	return st, err
}

// look is a session.
func (s *Sampler) look(ctx context.Context, k kernel, wish stack.Wish, give func(*stack.Sample)) (stack.Statistics, error) {
	rate := min(max(wish.Rate, 1), stack.MaxRate)
	if wish.PID == 0 {
		return s.shots(ctx, k, everybody, wish, give)
	}
	p, ok := k.Process(wish.PID)
	if !ok {
		return stack.Statistics{}, fmt.Errorf("process %d: %w", wish.PID, errGone)
	}
	right, asked, why := s.task(k, p)
	if why != nil {
		if errors.Is(why, errGone) {
			return stack.Statistics{Tasks: asked}, fmt.Errorf("process %d: %w", wish.PID, why)
		}
		st, err := s.shots(ctx, k, p.pid, wish, give)
		st.Tasks = asked
		if err != nil {
			err = fmt.Errorf("process %d: its task is not to be had: %w; and without it: %w", wish.PID, why, err)
		}
		return st, err
	}
	st := newTask(k, p, right, asked, give).run(ctx, newPace(time.Second/time.Duration(rate), wish.For, time.Now()))
	if st.Samples == 0 && ctx.Err() == nil {
		why := st.Why
		if why == "" {
			why = "it ended"
		}
		return st, fmt.Errorf("process %d: no thread of it could be looked at: %s", wish.PID, why)
	}
	return st, nil
}

// shots looks by stackshots.
func (s *Sampler) shots(ctx context.Context, k kernel, pid int32, wish stack.Wish, give func(*stack.Sample)) (stack.Statistics, error) {
	if _, why := s.refused.givenUp(); why != nil {
		return stack.Statistics{}, why
	}
	return newShots(k, pid, give).run(ctx, shotPace(min(max(wish.Rate, 1), stack.MaxRate), wish.For))
}

// Why a process is not asked for its task.
var (
	errOurselves = errors.New("a process cannot suspend itself")
	errAskedOnce = errors.New("the kernel has refused it before")
)

// task asks for the task of a process, unless it is known to be refused.
func (s *Sampler) task(k kernel, p process) (right port, asked int, err error) {
	if p.pid == int32(os.Getpid()) {
		return 0, 0, errOurselves
	}
	if why, _ := s.refused.givenUp(); why != nil {
		return 0, 0, why
	}
	if s.refused.has(p.key) {
		return 0, 0, errAskedOnce
	}
	right, asked, err = k.Open(p.pid)
	if errors.Is(err, errRefused) {
		s.refused.add(p.key)
	}
	return right, asked, err
}

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

// Sampler is a stack.Sampler. It samples one process by its task. It uses stackshots for all
// processes, and for a process whose task it does not get.
type Sampler struct {
	open    func() kernel
	refused *refusals
}

// refusals are what must not be asked for again: tasks of processes, by key, and calls that did
// not return.
type refusals struct {
	mu   sync.Mutex
	keys map[string]bool
	task error // if set, why no task is asked for
	shot error // if set, why no stackshots are taken
}

// giveUp notes a call that did not return: it has used up a thread, and would use up another. What
// needs it is given up.
func (r *refusals) giveUp(call int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	why := hung(call)
	if call != callShot {
		r.task = why
	}
	if call == callShot || call == callProcess { // nothing is sampled without the latter
		r.shot = why
	}
	return why
}

func (r *refusals) givenUp() (task, shot error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.task, r.shot
}

// maxRefused bounds how many refused processes are remembered; when it is reached, all are
// forgotten and may be asked for again.
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

// Sample samples as wish says. If a call for the task does not return, it tries again without
// the task.
func (s *Sampler) Sample(ctx context.Context, wish stack.Wish, give func(*stack.Sample)) (stack.Statistics, error) {
	st, err := s.session(ctx, wish, give)
	if len(st.Hung) == 0 || st.Samples > 0 || wish.PID == 0 || ctx.Err() != nil {
		return st, err
	}
	again, err := s.session(ctx, wish, give)
	again.After(&st)
	return again, err
}

// session samples on a thread of its own, which it abandons if a call does not return. If the
// call returns later, that thread only frees what it holds.
func (s *Sampler) session(ctx context.Context, wish stack.Wish, give func(*stack.Sample)) (st stack.Statistics, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, name := range wish.Without {
		if call := callOf(name); call != 0 {
			_ = s.refused.giveUp(call)
		}
	}
	k, g, done := &watched{kernel: s.open()}, stack.NewGate(give), make(chan struct{})
	var own stack.Statistics
	var ownErr error
	go func() {
		defer close(done)
		// Errors and rights to threads belong to one thread.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		own, ownErr = s.look(ctx, k, wish, g.Give)
	}()
	call := k.watch(done)
	if call == 0 {
		return own, ownErr
	}
	err = s.refused.giveUp(call)
	st = stack.Statistics{How: "mach", Samples: g.Close(), Hung: []string{callNames[call]}, Why: err.Error(), Tasks: int(k.asked.Load())}
	if call == callOpen {
		st.Tasks++
	}
	if st.Samples > 0 {
		return st, nil
	}
	return st, err
}

// look runs a session.
func (s *Sampler) look(ctx context.Context, k kernel, wish stack.Wish, give func(*stack.Sample)) (stack.Statistics, error) {
	rate := min(max(wish.Rate, 1), stack.MaxRate)
	if task, shot := s.refused.givenUp(); task != nil && shot != nil {
		return stack.Statistics{}, task
	}
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

// shots samples with stackshots.
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

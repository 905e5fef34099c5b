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

// refusals are the keys of processes that are not to be asked for again.
type refusals struct {
	mu   sync.Mutex
	keys map[string]bool
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

// Sample looks as it is wished.
func (s *Sampler) Sample(ctx context.Context, wish stack.Wish, give func(*stack.Sample)) (stack.Statistics, error) {
	// What errors are about, and rights to threads, stay with one thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	k := s.open()
	rate := min(max(wish.Rate, 1), stack.MaxRate)
	if wish.PID == 0 {
		return newShots(k, everybody, give).run(ctx, shotPace(rate, wish.For))
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
		st, err := newShots(k, p.pid, give).run(ctx, shotPace(rate, wish.For))
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
	if s.refused.has(p.key) {
		return 0, 0, errAskedOnce
	}
	right, asked, err = k.Open(p.pid)
	if errors.Is(err, errRefused) {
		s.refused.add(p.key)
	}
	return right, asked, err
}

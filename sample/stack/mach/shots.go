package mach

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"tachograph/sample/stack"
	"tachograph/sample/stack/kcdata"
)

// everybody stands for all processes instead of a pid.
const everybody = -1

// maxShots is the most stackshots per second: while one is taken, nothing else runs on the
// whole machine.
const maxShots = 2

// Flags of a stackshot, as <kern/debug.h> numbers them.
const (
	shotQueues     = 0x1
	shotLoads      = 0x2
	shotKernel     = 0x100
	shotFormat     = 0x10000
	shotFaultStack = 0x20000
	shotLayout     = 0x80000
	shotFaultUUID  = 0x200000
	shotNoIO       = 0x800000
	shotWaits      = 0x1000000
	shotUsual      = shotFormat | shotQueues | shotLoads | shotFaultStack | shotFaultUUID | shotNoIO | shotWaits
)

func shotPace(rate int, length time.Duration) *pace {
	return newPace(time.Second/time.Duration(min(rate, maxShots)), length, time.Now())
}

// shots is a session of stackshots.
type shots struct {
	k        kernel
	pid      int32
	where    *whereabouts
	lengths  durations
	at, last uint64 // when this stackshot was taken, and the one before
	statuses stack.Statistics
	sample   stack.Sample
	waker    stack.Waker
	give     func(*stack.Sample)
}

func newShots(k kernel, pid int32, give func(*stack.Sample)) *shots {
	return &shots{k: k, pid: pid, where: newWhereabouts(k), give: give, sample: stack.Sample{Count: 1}}
}

// run takes a stackshot whenever one is due. If the kernel cannot take it now, run waits for
// the next time.
func (s *shots) run(ctx context.Context, p *pace) (stack.Statistics, error) {
	var last error
	s.kernelImage()
	for p.due(ctx) {
		begin, before := time.Now(), s.lengths.sum
		switch err := s.take(); {
		case err == nil:
		case errors.Is(err, syscall.ENOENT) || errors.Is(err, errGone):
			s.statuses.Gone++
			last = errGone
			p.until = p.next
		case errors.Is(err, syscall.EBUSY), errors.Is(err, syscall.ETIMEDOUT), errors.Is(err, syscall.EINTR),
			errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.ENOMEM):
			s.statuses.Failed++
			last = err
		default:
			if errors.Is(err, syscall.EPERM) {
				err = fmt.Errorf("only root may see the stacks of all processes: %w", err)
			}
			return s.result(p, err), err
		}
		p.done(begin, time.Now(), time.Duration(s.lengths.sum-before))
	}
	if s.statuses.Samples > 0 || ctx.Err() != nil {
		return s.result(p, last), nil
	}
	return s.result(p, last), last
}

func (s *shots) result(p *pace, last error) stack.Statistics {
	st := &s.statuses
	st.Rounds, st.Missed = p.rounds, p.missed
	if last != nil {
		st.Why = last.Error()
	}
	s.lengths.count(st)
	st.How = "stackshot"
	if st.Suspensions > 0 {
		st.How = fmt.Sprintf("stackshot (at most %d a second: each stops all processors, for %v)", maxShots, time.Duration(st.Median))
	}
	return *st
}

// kernelImage finds the address of the kernel.
func (s *shots) kernelImage() {
	s.shot(0, shotFormat|shotLoads|shotKernel|shotNoIO, func(t *kcdata.Task) {
		if t.PID == 0 && len(t.Images) > 0 {
			s.where.kernelAt(t.Images[0])
		}
	})
}

// take takes a stackshot and gives its samples.
func (s *shots) take() error {
	flags := uint64(shotUsual)
	if !s.where.laidOut {
		flags |= shotLayout
	}
	seen := 0
	s.last = s.at
	err := s.shot(s.pid, flags, func(t *kcdata.Task) {
		seen++
		s.at = t.At
		s.task(t)
	})
	s.where.laidOut = s.where.laidOut || err == nil
	if err == nil && seen == 0 {
		return errGone
	}
	return err
}

func (s *shots) shot(pid int32, flags uint64, each func(*kcdata.Task)) error {
	var damage error
	err := s.k.Shot(pid, flags, func(b []byte) {
		// The caches come before the processes, the duration at the end.
		all, err := kcdata.Read(b, func(t *kcdata.Task, caches []kcdata.Cache) {
			s.where.layOut(caches)
			each(t)
		})
		damage = err
		if all.Nanoseconds > 0 {
			s.lengths.add(int64(all.Nanoseconds))
		}
	})
	if err == nil && damage != nil {
		return fmt.Errorf("%w: %w", syscall.EBUSY, damage)
	}
	return err
}

// task gives the samples of a process's threads.
func (s *shots) task(t *kcdata.Task) {
	who := s.where.enter(t)
	for i := range t.Threads {
		h := &t.Threads[i]
		s.sample.Thread = stack.Thread{
			PID: t.PID, Process: who.key, Command: who.command, TID: h.ID, Name: printable(h.Name), Queue: printable(h.Queue),
		}
		s.sample.State, s.sample.Wait = stack.Waiting, h.Wait.String()
		if h.State&kcdata.StateRunning != 0 {
			s.sample.State, s.sample.Wait = stack.Running, ""
		}
		s.waited(t, h)
		s.sample.End = stack.Whole
		if h.Flags&kcdata.FlagTruncated != 0 {
			s.sample.End = stack.Broken
		}
		f := s.sample.Frames[:0]
		for _, addr := range h.Kernel {
			f = append(f, s.where.inKernel(addr))
		}
		for i, addr := range h.User {
			f = append(f, s.where.frame(addr, i > 0))
		}
		if len(f) > stack.MaxDepth {
			f, s.sample.End = f[:stack.MaxDepth], stack.Truncated
		}
		if s.sample.Frames = f; len(f) > 0 {
			s.statuses.Samples++
			s.give(&s.sample)
		}
	}
}

// waited says of a waiting thread how long it has waited since the last stackshot, and whom it
// waits for.
func (s *shots) waited(t *kcdata.Task, h *kcdata.Thread) {
	s.sample.Waited, s.sample.Waker = 0, nil
	if s.sample.State != stack.Waiting {
		return
	}
	if s.last > 0 && s.last < t.At {
		s.sample.Waited = min(h.Off, t.At-s.last)
	}
	if id := h.Wait.Thread(); id != 0 {
		for i := range t.Threads {
			if o := &t.Threads[i]; o.ID == id {
				who := s.sample.Thread
				who.TID, who.Name, who.Queue = id, printable(o.Name), printable(o.Queue)
				s.waker.Thread = who
				s.sample.Waker = &s.waker
				return
			}
		}
	}
}

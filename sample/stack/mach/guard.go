package mach

import (
	"sync/atomic"
	"time"
)

// patience is the longest that a suspension may last if the sampler does not end it, for
// example because the memory that it reads is on a disk that does not answer.
const patience = 20 * time.Millisecond

// guard ends suspensions in the sampler's place. Whichever of the two takes a token out of the
// guard ends that suspension.
type guard struct {
	held  atomic.Uint64 // a number, and the token in the lower half; 0 if none
	count uint64
	stop  chan struct{}
}

// hold puts a token into the guard.
func (g *guard) hold(token port) (held uint64) {
	g.count++
	held = g.count<<32 | uint64(token)
	g.held.Store(held)
	return held
}

// release takes the token back; it returns false if the guard has ended the suspension.
func (g *guard) release(held uint64) bool { return g.held.CompareAndSwap(held, 0) }

// watch looks twice in the time of patience, until dismiss. Looks that come late, and then
// follow each other closely, count as one.
func (g *guard) watch(resume func(token port)) {
	g.stop = make(chan struct{})
	go func() {
		ticker := time.NewTicker(patience / 2)
		defer ticker.Stop()
		var before uint64
		var seen time.Time // when it was seen first
		for {
			select {
			case <-g.stop:
				return
			case <-ticker.C:
			}
			now := g.held.Load()
			switch {
			case now != before:
				before, seen = now, time.Now()
			case now != 0 && time.Since(seen) > patience/4 && g.held.CompareAndSwap(now, 0):
				resume(port(uint32(now)))
			}
		}
	}()
}

func (g *guard) dismiss() { close(g.stop) }

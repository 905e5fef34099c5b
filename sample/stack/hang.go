package stack

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Calls records which of a session's calls of the kernel is under way, so that one that never
// returns is noticed. Calls have numbers from 1 to 255.
type Calls struct {
	under atomic.Uint64 // a number, and the call in the lowest byte; 0 if none
	count uint64
}

// A call hangs if it was under way at hangLooks looks in a row, HangLook apart, so that this program
// certainly got to run.
const (
	HangLook  = 500 * time.Millisecond
	hangLooks = 10
)

// Begin is called before a call, by the session's own goroutine.
func (c *Calls) Begin(call int) {
	c.count++
	c.under.Store(c.count<<8 | uint64(call))
}

// End is called after it.
func (c *Calls) End() { c.under.Store(0) }

// Watch waits until a session is done, or one of its calls hangs, which it finds out by a look every
// so often (HangLook, but for tests); it returns that call, or 0.
func (c *Calls) Watch(done <-chan struct{}, every time.Duration) (hangs int) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	var before uint64
	for looks := 0; looks < hangLooks; {
		select {
		case <-done:
			return 0
		case <-ticker.C:
		}
		if now := c.under.Load(); now == 0 || now != before {
			before, looks = now, 0
		} else {
			looks++
		}
	}
	return int(before & 0xff)
}

// Hung is the error of a call that is not made again.
func Hung(call string, every time.Duration) error {
	return fmt.Errorf("%s did not return within %v, and is not called again until the machine is restarted", call, every*hangLooks)
}

// A Gate lets samples through until it is closed: samples of a session that was given up must not
// reach the caller.
type Gate struct {
	mu   sync.Mutex
	to   func(*Sample)
	shut bool
	n    int
}

// NewGate makes a Gate that passes samples to to.
func NewGate(to func(*Sample)) *Gate { return &Gate{to: to} }

// Give passes s on, unless the gate is closed.
func (g *Gate) Give(s *Sample) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.shut {
		g.n++
		g.to(s)
	}
}

// Close closes the gate, and returns how many samples went through.
func (g *Gate) Close() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
	return g.n
}

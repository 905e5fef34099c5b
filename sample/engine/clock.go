package engine

import (
	"math"
	"sync"

	"tachograph/sample/metric"
)

// jitter is how far the offsets between the clocks may seem to move only because they are read
// one after the other.
const jitter = 10_000

// steadyClock reads the three clocks as one: whole microseconds of the awake clock, plus the
// offsets of the other two. It keeps the offsets until one has moved by more than jitter.
// Archives store the offsets, and an unchanged offset costs nothing.
type steadyClock struct {
	raw func() metric.Stamp

	mu         sync.Mutex
	set        bool
	wall, cont int64 // minus awake
}

func (c *steadyClock) now() metric.Stamp {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.raw()
	if !c.set || !c.holds(s) {
		s = c.settle(s)
	}
	awake := s.Awake - s.Awake%1000
	return metric.Stamp{Wall: awake + c.wall, Awake: awake, Cont: awake + c.cont}
}

func (c *steadyClock) holds(s metric.Stamp) bool {
	return near(s.Wall-s.Awake, c.wall) && near(s.Cont-s.Awake, c.cont)
}

// settle finds out whether an offset moved or whether this thread was merely interrupted between
// two clocks. The clocks of one reading were read no further apart than the time to the next
// reading, so of several readings the quickest is the most accurate.
func (c *steadyClock) settle(s metric.Stamp) metric.Stamp {
	best, quickest := s, int64(math.MaxInt64)
	for range maxReadings {
		next := c.raw()
		if c.set && c.holds(next) {
			return next
		}
		if took := next.Awake - s.Awake; took < quickest {
			best, quickest = s, took
		}
		if quickest < jitter {
			break
		}
		s = next
	}
	c.wall = wholeMicros(best.Wall - best.Awake)
	c.cont = wholeMicros(best.Cont - best.Awake)
	c.set = true
	return best
}

const maxReadings = 8

func near(a, b int64) bool { return a-b < jitter && b-a < jitter }

func wholeMicros(ns int64) int64 { return ns - ns%1000 }

package engine

import (
	"sync"

	"tachograph/sample/metric"
)

// jitter is how far the offsets between the clocks may seem to move only
// because they are read one after the other.
const jitter = 10_000

// steadyClock reads the three clocks as one: whole microseconds of the awake
// clock, with the offsets of the other two held until they really move.
// Archives keep the offsets, and an offset that stands still costs nothing.
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

// settle finds out whether an offset moved or whether this thread was merely
// interrupted between two clocks: only a real move is seen twice.
func (c *steadyClock) settle(s metric.Stamp) metric.Stamp {
	for range 4 {
		prev := s
		s = c.raw()
		if c.set && c.holds(s) {
			return s
		}
		if near(s.Wall-s.Awake, prev.Wall-prev.Awake) && near(s.Cont-s.Awake, prev.Cont-prev.Awake) {
			break
		}
	}
	c.wall = wholeMicros(s.Wall - s.Awake)
	c.cont = wholeMicros(s.Cont - s.Awake)
	c.set = true
	return s
}

func near(a, b int64) bool { return a-b < jitter && b-a < jitter }

func wholeMicros(ns int64) int64 { return ns - ns%1000 }

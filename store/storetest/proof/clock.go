package proof

import (
	"sync/atomic"

	"tachograph/sample/metric"
)

// A Clock is a reading of the clocks that a test hands to a writer's
// goroutines.
type Clock struct{ at atomic.Pointer[metric.Stamp] }

// NewClock returns a clock that stands at at.
func NewClock(at metric.Stamp) *Clock {
	c := new(Clock)
	c.Set(at)
	return c
}

func (c *Clock) Set(at metric.Stamp) { c.at.Store(&at) }
func (c *Clock) Now() metric.Stamp   { return *c.at.Load() }

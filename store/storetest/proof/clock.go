package proof

import (
	"sync/atomic"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
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

// The codec of chunks keeps channels, which may not be made in a bubble if others
// are to use them.
func init() {
	if _, err := chunk.Unpack(chunk.Pack(make([]byte, 64)), 64); err != nil {
		panic(err)
	}
}

// Passing are clocks in a bubble of synctest: they pass with its time.
type Passing struct {
	from  metric.Stamp
	began time.Time
}

// From returns clocks that stand at at now.
func From(at metric.Stamp) Passing { return Passing{at, time.Now()} }

// Now reads the clocks.
func (p Passing) Now() metric.Stamp {
	d := int64(time.Since(p.began))
	return metric.Stamp{Wall: p.from.Wall + d, Awake: p.from.Awake + d, Cont: p.from.Cont + d}
}

// Until lets time pass.
func (p Passing) Until(at metric.Stamp) { time.Sleep(time.Duration(at.Cont - p.Now().Cont)) }

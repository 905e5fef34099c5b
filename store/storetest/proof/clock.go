package proof

import (
	"sync/atomic"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
)

// A Clock gives a writer's goroutines the time that a test has set.
type Clock struct{ at atomic.Pointer[metric.Stamp] }

// NewClock returns a clock that shows at.
func NewClock(at metric.Stamp) *Clock {
	c := new(Clock)
	c.Set(at)
	return c
}

func (c *Clock) Set(at metric.Stamp) { c.at.Store(&at) }
func (c *Clock) Now() metric.Stamp   { return *c.at.Load() }

// The codec of chunks keeps channels. If one is made in a bubble, nothing outside can use it, so
// they are made here.
func init() {
	if _, err := chunk.Unpack(chunk.Pack(make([]byte, 64)), 64); err != nil {
		panic(err)
	}
}

// Passing is clocks in a bubble of synctest: they advance with its time.
type Passing struct {
	from  metric.Stamp
	began time.Time
}

// From returns clocks that show at now.
func From(at metric.Stamp) Passing { return Passing{at, time.Now()} }

// Now reads the clocks.
func (p Passing) Now() metric.Stamp {
	d := int64(time.Since(p.began))
	return metric.Stamp{Wall: p.from.Wall + d, Awake: p.from.Awake + d, Cont: p.from.Cont + d}
}

// Until sleeps until the clocks show at.
func (p Passing) Until(at metric.Stamp) { time.Sleep(time.Duration(at.Cont - p.Now().Cont)) }

package engine

import (
	"testing"

	"tachograph/sample/metric"
)

// readings returns a clock that gives one reading after the other, and then the last one for
// ever.
func readings(stamps ...metric.Stamp) *steadyClock {
	i := -1
	return &steadyClock{raw: func() metric.Stamp {
		if i < len(stamps)-1 {
			i++
		}
		return stamps[i]
	}}
}

func TestSteadyClockHoldsItsOffsets(t *testing.T) {
	const base = int64(1e15)
	at := func(awake, wall, cont int64) metric.Stamp {
		return metric.Stamp{Awake: awake, Wall: base + awake + wall, Cont: awake + cont}
	}
	c := readings(
		at(1000_500, 0, 0), at(1000_900, 0, 0), // settles
		at(2000_700, 300, -200),                        // jitter
		at(3000_000, 5_000_000, 0), at(8000_100, 0, 0), // interrupted between two clocks
		at(9000_000, 7_000_000_000, 0), at(9000_400, 7_000_000_000, 0), // the wall clock was set
	)
	for i, want := range []metric.Stamp{
		at(1000_000, 0, 0), at(2000_000, 0, 0), at(8000_000, 0, 0), at(9000_000, 7_000_000_000, 0),
	} {
		if got := c.now(); got != want {
			t.Errorf("reading %d is %+v, want %+v", i, got, want)
		}
	}
}

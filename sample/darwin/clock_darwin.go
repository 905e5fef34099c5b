package darwin

import (
	"math/bits"
	"sync"
	"time"

	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

// timebase converts this process's Mach ticks to nanoseconds. It is specific to the process: a
// translated program has other ticks than the kernel, for both clocks and timebase alike.
var timebase = sync.OnceValue(func() (t struct{ numer, denom uint64 }) {
	n, d := sys.Timebase()
	t.numer, t.denom = uint64(n), uint64(d)
	if n == 0 || d == 0 {
		t.numer, t.denom = 1, 1
	}
	return t
})

func nanoseconds(ticks uint64) int64 {
	t := timebase()
	hi, lo := bits.Mul64(ticks, t.numer)
	ns, _ := bits.Div64(hi%t.denom, lo, t.denom)
	return int64(ns)
}

// Now reads the three clocks. Go's monotonic clock is of no use here: it stops in sleep, like
// Mach absolute time.
func Now() metric.Stamp {
	return metric.Stamp{
		Wall:  time.Now().UnixNano(),
		Awake: nanoseconds(sys.AbsoluteTime()),
		Cont:  nanoseconds(sys.ContinuousTime()),
	}
}

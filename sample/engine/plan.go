package engine

import (
	"time"

	"tachograph/sample/metric"
)

// Plan assigns each metric to a class, and an interval to each class.
type Plan struct {
	// Intervals by class. Static is read once per archive whatever its interval, unless that is
	// zero.
	Intervals metric.Intervals
	// Class is the class that a metric is read with.
	Class func(*metric.Desc) metric.Class
	// MaxCPU, in cores, and MaxMemory, in bytes, limit what the recorder itself may use. Zero
	// means no limit.
	MaxCPU    float64
	MaxMemory int64
	// Before is, by class, what is kept in memory for the time before a burst.
	Before [metric.NumClasses]Before
}

// read are the classes that have a goroutine.
var read = []metric.Class{
	metric.Static, metric.Constrained, metric.Polled, metric.Fast, metric.Process, metric.Thread, metric.Costly,
	metric.Network,
}

// phase is how long after the start a class has its first deadline: without phases, classes
// whose intervals divide each other would always be due together.
func phase(c metric.Class) time.Duration {
	switch c {
	case metric.Fast:
		return 0
	case metric.Process:
		return 150 * time.Millisecond
	case metric.Polled:
		return 350 * time.Millisecond
	case metric.Thread:
		return 500 * time.Millisecond
	case metric.Costly:
		return 600 * time.Millisecond
	case metric.Network:
		return 700 * time.Millisecond
	case metric.Constrained:
		return 800 * time.Millisecond
	}
	return 0
}

// wanders reports whether the deadlines of a class leave the fixed grid. On a fixed grid,
// processes that begin and end in a rhythm, such as a service that is restarted every ten
// seconds, could always fall between two sweeps.
func wanders(c metric.Class) bool {
	return c == metric.Process || c == metric.Thread || c == metric.Costly
}

// wander moves a phase through the interval, back and forth.
type wander struct {
	offset int64
	back   bool
}

// wanderStep is how far the phase moves each time, as a share of the interval. It is so small
// that ticks stay about an interval apart. It does not divide the interval, so that on the way
// back the phase takes other values than on the way there.
const wanderStep = 2 / (25 + 0.6180339887)

// next returns how much longer (or, if negative, shorter) than the interval the time to the next
// deadline is.
func (w *wander) next(interval int64) int64 {
	before := w.offset
	step := int64(wanderStep*float64(interval)) / int64(time.Millisecond) * int64(time.Millisecond)
	if w.back {
		step = -step
	}
	switch w.offset += step; {
	case w.offset > interval:
		w.offset, w.back = max(2*interval-w.offset, 0), true
	case w.offset < 0:
		w.offset, w.back = -w.offset, false
	}
	return min(max(w.offset-before, -interval/4), interval/4)
}

// patience is how long a class waits for one source before it goes on without it: half its
// interval, within limits.
func patience(interval time.Duration) time.Duration {
	if interval == metric.Once {
		return 10 * time.Second
	}
	return min(max(interval/2, 2*time.Second), 5*time.Minute)
}

// slice limits one reading of a source. After work of processor time it must stop and keep what
// it has, so that a machine with more processes than can be read in time still has values, some
// at each tick. While other programs occupy the processors it may go on until wait has passed: a
// whole sweep that is late is worth more than a part of one in time.
func slice(interval time.Duration) (work, wait time.Duration) {
	if interval == metric.Once {
		return time.Second, time.Second
	}
	return min(max(interval/5, 200*time.Millisecond), time.Second), min(max(interval, 2*time.Second), 5*time.Second)
}

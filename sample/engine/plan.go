package engine

import (
	"time"

	"tachograph/sample/metric"
)

// Plan says with which class each metric is read, and how often each class is.
type Plan struct {
	// Intervals by class. Static is read once an archive whatever stands here,
	// unless it is zero.
	Intervals metric.Intervals
	// Class is the class that a metric is read with.
	Class func(*metric.Desc) metric.Class
	// MaxCPU, in cores, and MaxMemory, in bytes, bound what the recorder
	// itself may use. Zero means no bound.
	MaxCPU    float64
	MaxMemory int64
	// Before is, by class, what is kept in memory of the time before a burst.
	Before [metric.NumClasses]Before
}

// read are the classes that have a goroutine.
var read = []metric.Class{
	metric.Static, metric.Constrained, metric.Polled, metric.Fast, metric.Process, metric.Thread, metric.Costly,
}

// phase is how long after the start a class has its first deadline: classes
// whose intervals divide each other would otherwise always come together.
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
	case metric.Constrained:
		return 800 * time.Millisecond
	}
	return 0
}

// wanders reports whether the deadlines of a class leave the fixed grid. What
// begins and ends by itself with a rhythm, as a service that is restarted every
// ten seconds, could otherwise always fall between two sweeps.
func wanders(c metric.Class) bool {
	return c == metric.Process || c == metric.Thread || c == metric.Costly
}

// wander is the way of a phase through its interval, forth and back.
type wander struct {
	offset int64
	back   bool
}

// wanderStep is how far the phase moves each time, as a share of the interval:
// small enough for all ticks to come about an interval apart, and no whole
// part of it, so that the way back passes between the marks of the way there.
const wanderStep = 2 / (25 + 0.6180339887)

// next is how much longer than the interval, or shorter, it is to the next
// deadline.
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

// patience is how long a class waits for one source before it goes on without
// it: half its interval, within reason.
func patience(interval time.Duration) time.Duration {
	if interval == metric.Once {
		return 10 * time.Second
	}
	return min(max(interval/2, 2*time.Second), 5*time.Minute)
}

// slice is for how long one reading of a source may work before it shall stop
// and keep what it has, so that a machine with more processes than can be read
// in time still has values, some at each tick; and how long it may take for
// that where others have the processors: a whole sweep late says more than a
// piece of one in time.
func slice(interval time.Duration) (work, wait time.Duration) {
	if interval == metric.Once {
		return time.Second, time.Second
	}
	return min(max(interval/5, 200*time.Millisecond), time.Second), min(max(interval, 2*time.Second), 5*time.Second)
}

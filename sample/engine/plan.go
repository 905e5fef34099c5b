package engine

import (
	"time"

	"tachograph/sample/metric"
)

// Plan says with which class each metric is read, and how often each class is.
type Plan struct {
	// Intervals by class; zero: the class is not read. Static is read once
	// an archive whatever stands here, unless it is zero.
	Intervals [metric.NumClasses]time.Duration
	// Class is the class that a metric is read with.
	Class func(*metric.Desc) metric.Class
	// MaxCPU, in cores, and MaxMemory, in bytes, bound what the recorder
	// itself may use. Zero means no bound.
	MaxCPU    float64
	MaxMemory int64
}

// DefaultPlan reads everything by nature, without bounds, and no threads.
func DefaultPlan() Plan {
	var p Plan
	for c := metric.Class(0); c < metric.NumClasses; c++ {
		p.Intervals[c] = c.Interval()
	}
	p.Intervals[metric.Thread] = 0
	p.Intervals[metric.Disabled] = 0
	p.Class = func(d *metric.Desc) metric.Class { return d.Class }
	return p
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

// patience is how long a class waits for one source before it goes on without
// it: half its interval, within reason.
func patience(interval time.Duration) time.Duration {
	if interval == metric.Once {
		return 10 * time.Second
	}
	return min(max(interval/2, 2*time.Second), 5*time.Minute)
}

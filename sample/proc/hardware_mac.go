package proc

import (
	"time"

	"tachograph/sample/metric"
	"tachograph/sample/proc/libproc"
)

// hardware is something that a processor counts for the processes that it runs.
type hardware struct {
	found bool // it has been other than zero
	rests bool // it may stay the same while processes run, if only some cores count it
	moved bool // it has changed since the list of processes was read
	still time.Duration
}

// standsAfter is how much CPU time processes must have used without a change of a counter
// before the counter is taken to stand still. The counters of macOS 27 stand still unless a
// privileged program has them collected.
const standsAfter = 10 * time.Second

var standsStill = metric.ReasonFor("the counter stands still while processes run")

// absent returns why the counter's value is missing, or Present.
func (h *hardware) absent() metric.Reason {
	switch {
	case !h.found:
		return noCounter
	case !h.rests && h.still >= standsAfter:
		return standsStill
	}
	return metric.Present
}

// sweep ends a sweep in which processes used this many nanoseconds of CPU time.
func (h *hardware) sweep(computed uint64) {
	if h.still += time.Duration(computed); h.moved {
		h.still = 0
	}
	h.moved = false
}

// mostHardware is the most members of an answer that the hardware counts.
const mostHardware = 12

// hardwareCounts are an answer's hardware counts, by leaf.
type hardwareCounts [mostHardware]uint64

// hardwareIn returns the hardware counts in an answer.
func (a *answered) hardwareIn(answer []byte) (counts hardwareCounts) {
	a.Answer = answer
	n := 0
	for i, h := range a.counts {
		if h != nil && n < mostHardware {
			counts[n] = a.Struct.Leaf(i).Bits
			n++
		}
	}
	return counts
}

// compare notes which counters have changed between two answers about the same.
func (a *answered) compare(before, now *hardwareCounts) {
	n := 0
	for _, h := range a.counts {
		if h != nil && n < mostHardware {
			h.moved = h.moved || before[n] != now[n]
			n++
		}
	}
}

// lookForCounters notes what this machine counts. On a machine that does not count them, the
// fields are zero for every process, and recording zero would be wrong.
func (a *answered) lookForCounters(answer []byte) {
	a.Answer = answer
	for i, counted := range a.counts {
		if counted != nil && !counted.found {
			counted.found = a.Struct.Leaf(i).Bits > 0
		}
	}
}

// usageOf holds a process's hardware counts, and its CPU time.
type usageOf struct {
	counts hardwareCounts
	time   uint64
	start  uint64
}

func (m *macKernel) hardwareOf(usage []byte) (u usageOf) {
	u.counts = m.usage.hardwareIn(usage)
	user, _ := libproc.UUser.Uint(usage)
	system, _ := libproc.USystem.Uint(usage)
	u.time = user + system
	u.start, _ = libproc.UStart.Uint(usage)
	return u
}

// compare notes which counters have changed between two readings of a process.
func (m *macKernel) compare(before, now usageOf) {
	m.usage.compare(&before.counts, &now.counts)
	m.used += now.time - min(before.time, now.time)
}

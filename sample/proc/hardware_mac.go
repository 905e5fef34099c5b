package proc

import (
	"time"

	"tachograph/sample/metric"
	"tachograph/sample/proc/libproc"
)

// hardware is something that a processor counts for the processes that it runs.
type hardware struct {
	found bool // it has been seen at something else than zero
	rests bool // it may stand while processes run, as what only some cores count
	moved bool // since the list of processes was read
	still time.Duration
}

// standsAfter is how much time processes must have computed, with none of them counted
// anything, for a counter to stand still. Those of macOS 27 do so where only a privileged
// program has them collected.
const standsAfter = 10 * time.Second

var standsStill = metric.ReasonFor("the counter stands still while processes run")

// absent is why what it has counted is no count.
func (h *hardware) absent() metric.Reason {
	switch {
	case !h.found:
		return noCounter
	case !h.rests && h.still >= standsAfter:
		return standsStill
	}
	return metric.Present
}

// sweep ends a sweep, in which processes have computed for so many nanoseconds.
func (h *hardware) sweep(computed uint64) {
	if h.still += time.Duration(computed); h.moved {
		h.still = 0
	}
	h.moved = false
}

// mostHardware is how many members of rusage the hardware counts at most.
const mostHardware = 12

// usageOf are what the hardware has counted for a process, by leaves, and its time.
type usageOf struct {
	counts [mostHardware]uint64
	time   uint64
	start  uint64
}

func (m *macKernel) hardwareOf(usage []byte) (u usageOf) {
	m.usage.Answer = usage
	n := 0
	for i, h := range m.usage.counts {
		if h != nil && n < mostHardware {
			u.counts[n] = m.usage.Struct.Leaf(i).Bits
			n++
		}
	}
	user, _ := libproc.UUser.Uint(usage)
	system, _ := libproc.USystem.Uint(usage)
	u.time = user + system
	u.start, _ = libproc.UStart.Uint(usage)
	return u
}

// compare notes what has moved from one reading of a process to the next.
func (m *macKernel) compare(before, now usageOf) {
	n := 0
	for _, h := range m.usage.counts {
		if h != nil && n < mostHardware {
			h.moved = h.moved || before.counts[n] != now.counts[n]
			n++
		}
	}
	m.used += now.time - min(before.time, now.time)
}

package perf

import "golang.org/x/sys/unix"

// switchKind is what the events of a thread's context switches are for.
type switchKind uint8

const (
	_ switchKind = iota
	// switchRecords say when a processor leaves a thread and returns to it.
	switchRecords
	// switchStacks say with which stack the thread goes to sleep. They cost more than all else,
	// and may be turned off for a while.
	switchStacks
)

// sampleOfSwitches is what switched.parse reads.
const sampleOfSwitches = unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CALLCHAIN

// set has a be the attributes of such an event.
func (k switchKind) set(a *unix.PerfEventAttr) {
	copies := a.Sample_type & (unix.PERF_SAMPLE_REGS_USER | unix.PERF_SAMPLE_STACK_USER)
	a.Sample_type = sampleOfSwitches | copies
	a.Bits = unix.PerfBitSampleIDAll | unix.PerfBitUseClockID | a.Bits&unix.PerfBitInherit
	a.Config, a.Sample = unix.PERF_COUNT_SW_CONTEXT_SWITCHES, 1
	if k == switchRecords {
		a.Sample_type, a.Sample_regs_user, a.Sample_stack_user = sampleOfSwitches, 0, 0
		a.Config, a.Sample = unix.PERF_COUNT_SW_DUMMY, 0
		a.Bits |= unix.PerfBitContextSwitch
	}
}

// pace chooses when the kernel says the stacks of threads that go to sleep: always, or, if there
// are too many, in some of the time.
type pace struct {
	fds    int    // how many events are none of stacks
	stacks uint64 // how many a second are wanted at most, about
	// checked is when the rate was last looked at, and left how often threads had gone to sleep by
	// then.
	checked uint64
	left    int
	// on says that stacks are said, since then; they are in one turn of every few.
	on    bool
	since uint64
	every uint64
}

const (
	// mostStacks is a tolerable number of stacks a second: each takes some hundred-thousandth of a
	// second from the program.
	mostStacks = 2000
	// turnTime is for how long stacks are said if they are not said always.
	turnTime = uint64(pause)
)

// choose looks at how often threads went to sleep in all; it returns whether to turn stacks on or
// off.
func (p *pace) choose(now uint64, left int) (turn bool) {
	if passed := now - p.checked; passed >= long {
		p.every = uint64(left-p.left)*1e9/passed/p.stacks + 1
		p.checked, p.left = now, left
	}
	passed := now - p.since
	if p.on && (p.every == 1 || passed < turnTime) || !p.on && p.every > 1 && passed < (p.every-1)*turnTime {
		return false
	}
	p.on, p.since = !p.on, now
	return true
}

// turn turns events on or off. Those that threads inherited follow them.
func (p *pace) turn(fds []int) {
	request := uint(unix.PERF_EVENT_IOC_DISABLE)
	if p.on {
		request = unix.PERF_EVENT_IOC_ENABLE
	}
	for _, fd := range fds {
		if unix.IoctlSetInt(fd, request, 0) != nil {
			return
		}
	}
}

package proc

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"tachograph/sample"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/proc/libproc"
	"tachograph/sample/socket"
)

// Sources opens the sources of this package: "proc" and "threads".
func Sources(opt Options) ([]sample.Source, error) {
	if err := opt.Check(); err != nil {
		return nil, err
	}
	m := newMacKernel(opt, newDarwinCalls(), watchExits(), kernelTicks())
	m.refused.privileged = os.Geteuid() == 0
	m.listConnections()
	s, threads := macSources(m)
	return []sample.Source{s, threads}, nil
}

// listConnections has each sweep ask for the connections of all processes.
func (m *macKernel) listConnections() {
	l, err := socket.Open(m.net.book)
	if err != nil {
		m.net.lacks = "connections cannot be listed: " + err.Error()
		return
	}
	m.net.lister, m.net.cpu, m.net.book.Flows = l, threadTime, m.opt.Network.Flows
}

// threadTime returns the processor time that this thread has used. The caller must stay on it.
func threadTime() time.Duration {
	var t unix.Timespec
	const threadClock = 16 // CLOCK_THREAD_CPUTIME_ID
	if unix.ClockGettime(threadClock, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// kernelTicks returns the unit in which the kernel counts CPU times.
func kernelTicks() libproc.Ticks {
	hz, err := sys.SysctlUint("hw.tbfrequency")
	if err != nil {
		hz = 0
	}
	translated, err := sys.SysctlUint("sysctl.proc_translated")
	numer, denom := sys.Timebase()
	return libproc.KernelTicks(hz, err == nil && translated == 1, numer, denom)
}

package proc

import (
	"os"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tachograph/sample/metric"
	"tachograph/sample/proc/procfs"
)

// Most processes of a machine sleep from one sweep to the next, and reading the
// files of one that did takes 25 microseconds to learn nothing. The clock of its
// processor time, all its threads' together to the nanosecond, is one cheap call:
// while it stands, the process has done nothing, and what the files said before
// still holds. What others may do to a process in its sleep shows in time:
//
//   - that its parent has ended, at once;
//   - that memory was taken from it, at once: the kernel counts what it reclaims,
//     and whenever it has, everybody's memory is read again;
//   - a new priority, process group or owner of the terminal, and memory that goes
//     by rarer ways (a file cut short, pages merged), within longestStill.

// longestStill is how long nothing is read of a process that does nothing.
const longestStill = 30 * time.Second

// stillness is what the kernel reads for all of a sweep.
type stillness struct {
	// clocks says that our numbers of processes are those of the directory.
	clocks    bool
	now       int64  // continuous clock
	reclaimed uint64 // pages ever
	taken     bool   // pages were reclaimed since the sweep before
}

// clocksOf reports whether processes have the same numbers below d and in calls
// of the kernel, for d may belong to another namespace, and whether their clocks
// are exact: there are stand-ins for Linux that count ticks.
func clocksOf(d *procDir) bool {
	own := int32(os.Getpid())
	self, err := d.link("self")
	if !d.genuine || err != nil || string(self) != strconv.Itoa(int(own)) {
		return false
	}
	ran := ranFor(own)
	return ran != 0 && ranFor(own) > ran
}

// ranFor is the processor time that all threads of a process have used, in
// nanoseconds; 0 where the kernel does not tell.
func ranFor(pid int32) int64 {
	const scheduled = 2 // CPUCLOCK_SCHED
	var t unix.Timespec
	if _, _, e := unix.RawSyscall(unix.SYS_CLOCK_GETTIME, uintptr(^pid<<3|scheduled), uintptr(unsafe.Pointer(&t)), 0); e != 0 {
		return 0
	}
	return t.Nano()
}

// begin is called before each sweep.
func (s *stillness) begin(d *procDir, now metric.Stamp) {
	if !s.clocks {
		return
	}
	s.now, s.taken = now.Cont, true
	if text, err := d.readAt("vmstat"); err == nil {
		pages := procfs.Reclaimed(text)
		s.taken, s.reclaimed = pages != s.reclaimed, pages
	}
}

// still reports whether all that was read of p holds, and notes what its clock
// says now. That is before anything is read: what p does in between shows the
// next time.
func (k *linuxKernel) still(p *process[linuxProcess]) bool {
	if !k.stillness.clocks {
		return false
	}
	q := &p.platform
	ran := ranFor(p.pid)
	if ran != 0 && ran == q.ran && !k.stillness.taken && k.stillness.now-q.readAt < int64(longestStill) && !k.orphaned(p) {
		return true
	}
	q.ran, q.readAt = ran, k.stillness.now
	return false
}

// orphaned reports whether the parent that p had is there no more.
func (k *linuxKernel) orphaned(p *process[linuxProcess]) bool {
	return p.platform.stat.PPID > 0 && k.parentOf(p) == nil
}

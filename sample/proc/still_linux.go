package proc

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tachograph/sample/metric"
	"tachograph/sample/proc/procfs"
)

// Most processes of a machine sleep from one sweep to the next, and reading the files of such a
// process takes 25 microseconds to learn nothing. The clock of its CPU time, which covers all
// its threads and is exact to the nanosecond, is one cheap call: while it does not move, the
// process has done nothing, and what the files said before still holds. What others may do to a
// sleeping process shows in time:
//
//   - that its parent has ended, at once;
//   - that memory was taken from it, at once: the kernel counts what it reclaims,
//     and whenever it has, the memory of all processes is read again;
//   - that it was woken up and waits for a processor, at once where so many do that
//     this can last (crowdedAt);
//   - a new priority, process group or owner of the terminal, and memory that goes
//     by rarer ways (a file cut short, pages merged), within longestStill;
//   - how many others share its memory, a descriptor that a process with the same table of
//     descriptors has opened or closed, and a new name of its directory, within longestAlone.

// crowdedAt is how many running or runnable threads per processor make a sweep read all
// processes: one that waits for a processor has not run, but is no longer asleep.
const crowdedAt = 4

// longestStill is the longest time for which a process that does nothing is not read.
const longestStill = 30 * time.Second

// longestAlone is that for what is expensive to read: the footprint, of which others change only
// the shared part, the descriptors and the directory.
const longestAlone = 5 * time.Minute

// restful is the number of sweeps without change after which the descriptors of the files that
// need not be read are closed.
const restful = 8

// stillness is what a sweep reads once, for all processes.
type stillness struct {
	// clocks says that the directory's pids are the ones that system calls use.
	clocks    bool
	sweep     uint64
	now       int64  // continuous clock
	reclaimed uint64 // pages ever
	taken     bool   // all processes must be read: pages were reclaimed, or too many threads want to run
	// The last number that the kernel had given out before each of the last two listings, 0 if
	// unknown, and when the whole directory was last listed.
	given  [2]int32
	listed int64
}

// clocksOf reports whether the pids below d are those that system calls use (d may belong to
// another namespace), and whether process clocks are exact: some stand-ins for Linux count
// ticks.
func clocksOf(d *procDir) bool {
	own := int32(os.Getpid())
	self, err := d.link("self")
	if !d.genuine || err != nil || string(self) != strconv.Itoa(int(own)) {
		return false
	}
	ran, ok := ranFor(own)
	again, _ := ranFor(own)
	return ok && again > ran
}

// ranFor returns the CPU time that all threads of a process have used, in nanoseconds; ok is
// false if there is no such process.
func ranFor(pid int32) (ran int64, ok bool) {
	const scheduled = 2 // CPUCLOCK_SCHED
	var t unix.Timespec
	_, _, e := unix.RawSyscall(unix.SYS_CLOCK_GETTIME, uintptr(^pid<<3|scheduled), uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano(), e == 0
}

// begin is called before each sweep.
func (s *stillness) begin(d *procDir, now metric.Stamp) {
	if !s.clocks {
		return
	}
	s.sweep++
	s.now, s.taken = now.Cont, true
	if text, err := d.readAt("vmstat"); err == nil {
		pages := procfs.Reclaimed(text)
		s.taken, s.reclaimed = pages != s.reclaimed, pages
	}
}

// still reports whether all that was read of p still holds, and keeps the time on its clock.
// The clock is read first: what p does after that shows in the next sweep.
func (k *linuxKernel) still(p *process[linuxProcess]) bool {
	if !k.stillness.clocks {
		return false
	}
	q := &p.platform
	ran := q.clock
	if q.clockIn != k.stillness.sweep {
		ran, _ = ranFor(p.pid)
	}
	if ran != 0 && ran == q.ran && !k.stillness.taken && k.stillness.now-q.readAt < int64(longestStill) && !k.orphaned(p) {
		// All that is read of it now and then is its stat file.
		if q.quiet++; q.quiet == restful {
			k.dir.release(&q.files, ioFile)
			k.dir.release(&q.files, schedstatFile)
			k.dir.release(&q.files, statusFile)
		}
		return true
	}
	if ran != q.ran {
		q.quiet = 0
	}
	q.ran, q.readAt = ran, k.stillness.now
	return false
}

// unchanged implements kernel. A process whose parent is not known yet is looked at again.
func (k *linuxKernel) unchanged(p *process[linuxProcess], since uint64) bool {
	if k.inheritedWas != k.inheritedWhy {
		k.inheritedWas, k.changed = k.inheritedWhy, k.table.sweeps
	}
	q := &p.platform
	return max(q.changed, k.changed) <= since && q.parentPID == q.stat.PPID && (q.parent != 0 || q.stat.PPID <= 0)
}

// orphaned reports whether p's parent is gone.
func (k *linuxKernel) orphaned(p *process[linuxProcess]) bool {
	return p.platform.stat.PPID > 0 && k.parentOf(p) == nil
}

// relistAfter is how long follow may go on before the directory is read again. That finds
// processes with a chosen pid, such as those restored from a checkpoint.
const relistAfter = 10 * time.Second

// follow brings the listing up to date without reading the directory, if it can: the clocks
// show which processes have ended, and a new process has one of the numbers that the kernel has
// given out since. The kernel counts up, and starts again after its largest number.
func (k *linuxKernel) follow() bool {
	s := &k.stillness
	if !s.clocks {
		return false
	}
	// A process appears a moment after it got its number: the numbers given out before the
	// previous listing are tried again.
	from, to := s.given[0], k.lastGiven()
	s.given = [2]int32{s.given[1], to}
	if from == 0 || to < from || int(to-from) > len(k.listing) || s.now-s.listed >= int64(relistAfter) {
		return false
	}
	living := k.listing[:0]
	for _, pid := range k.listing {
		ran, ok := ranFor(pid)
		if !ok {
			continue
		}
		living = append(living, pid)
		if p := k.table.lookup(pid); p != nil {
			p.platform.clock, p.platform.clockIn = ran, s.sweep
		}
	}
	for pid := from + 1; pid <= to; pid++ {
		if k.table.lookup(pid) == nil {
			if _, ok := ranFor(pid); ok {
				living = append(living, pid)
			}
		}
	}
	slices.Sort(living)
	k.listing = slices.Compact(living)
	return true
}

// lastGiven returns the number of the newest process or thread; 0 if unknown.
func (k *linuxKernel) lastGiven() int32 {
	text, err := k.dir.readAt("loadavg")
	if err != nil {
		return 0
	}
	running, last, ok := procfs.Running(text)
	if !ok {
		return 0
	}
	if running > crowdedAt*runtime.NumCPU() {
		k.stillness.taken = true
	}
	return last
}

package proc

import (
	"encoding/binary"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"tachograph/sample/metric"
	"tachograph/sample/proc/procfs"
)

// switches are the context switches of all threads of a process. /proc/PID/status has only
// those of the first thread. Over netlink (taskstats) the kernel returns the sum of all threads
// in one call: recent kernels include ended threads, others do not, and then the watcher has
// heard of theirs. Both need the same right.
type switches struct{ voluntary, forced uint64 }

// firstOnly is why the context switches of a process with several threads are absent.
var firstOnly = metric.ReasonFor("the kernel tells an ordinary user only those of the first thread (CAP_NET_ADMIN)")

// loadSwitches brings the switches up to date, unless the process has not run.
func (r *reading) loadSwitches() metric.Reason {
	k, q := r.k, &r.p.platform
	if r.stat().Threads > 1 && k.asker == nil {
		return firstOnly
	}
	if q.ran != 0 && q.ran == q.switchesAt {
		return metric.Present
	}
	q.switchesAt = 0
	asked, why := r.askSwitches()
	if why != metric.Present {
		return why
	}
	sum := q.ended
	if t := k.dying[uint32(r.p.pid)]; t != nil && !k.asker.retains() {
		sum.voluntary += t.voluntary
		sum.forced += t.involuntary
	}
	// The switches of a thread that has ended since the watcher was asked are missing from both
	// numbers until the next sweep.
	q.switches.voluntary = max(q.switches.voluntary, sum.voluntary+asked.voluntary)
	q.switches.forced = max(q.switches.forced, sum.forced+asked.forced)
	q.switchesAt = q.ran
	return metric.Present
}

// askSwitches returns the switches of the living threads and, if the kernel retains them, of
// ended ones. A process that has only ever had one thread is asked about once; after that its
// status file, which is read anyway, has them.
func (r *reading) askSwitches() (switches, metric.Reason) {
	k, q := r.k, &r.p.platform
	several := r.stat().Threads > 1
	if k.asker.retains() {
		q.several = q.several || several || k.dying[uint32(r.p.pid)] != nil
		several = q.several
	}
	var all switches
	if several || k.asker.retains() && !q.askedOnce {
		var why metric.Reason
		if all, why = k.asker.switches(r.p.pid); several || why != metric.Present {
			return all, why
		}
		q.askedOnce = true
	}
	why := r.loadStatus()
	own := switches{q.status.Voluntary, q.status.Involun}
	if all.voluntary > own.voluntary { // all was read first: for one thread it cannot be more
		q.several = true
		return all, why
	}
	return own, why
}

// keepSwitches saves the switches of ended threads before their exits are forgotten.
func (k *linuxKernel) keepSwitches() {
	if k.asker.retains() {
		return
	}
	for tgid, t := range k.dying {
		if p := k.table.lookup(int32(tgid)); p != nil {
			p.platform.ended.voluntary += t.voluntary
			p.platform.ended.forced += t.involuntary
		}
	}
}

// groupAsker asks the kernel for the statistics of all threads of a process.
type groupAsker struct {
	fd      int
	ended   bool // the answers include the switches of ended threads
	request [28]byte
	answer  [1024]byte
}

// openGroupAsker returns nil if the kernel does not answer, or not for all threads.
func openGroupAsker(family uint16) *groupAsker {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_GENERIC)
	if err != nil {
		return nil
	}
	a := &groupAsker{fd: fd}
	b := a.request[:]
	binary.NativeEndian.PutUint32(b, uint32(len(b)))
	binary.NativeEndian.PutUint16(b[4:], family)
	binary.NativeEndian.PutUint16(b[6:], unix.NLM_F_REQUEST)
	b[16], b[17] = unix.TASKSTATS_CMD_GET, 1
	binary.NativeEndian.PutUint16(b[20:], 8)
	binary.NativeEndian.PutUint16(b[22:], unix.TASKSTATS_CMD_ATTR_TGID)
	// Connected to the kernel, which has answered by the time the request has been sent.
	if unix.Connect(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}) != nil {
		a.close()
		return nil
	}
	if !a.tryOut() {
		a.close()
		return nil
	}
	return a
}

// retains reports whether the answers include the switches of ended threads.
func (a *groupAsker) retains() bool { return a != nil && a.ended }

// tryOut finds out whether the kernel answers, and whether it counts ended threads: it starts a
// thread of the recorder's own that waits a number of times and ends.
func (a *groupAsker) tryOut() bool {
	const waits = 100
	own := unix.Getpid()
	id := make(chan int)
	go waitAndEnd(waits, id)
	for tid, tries := <-id, 0; unix.Tgkill(own, tid, 0) == nil && tries < 1000; tries++ {
		_ = unix.Nanosleep(&unix.Timespec{Nsec: 10_000}, nil)
	}
	asked, why := a.switches(int32(own))
	if why != metric.Present {
		return false
	}
	living := uint64(0)
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, t := range tasks {
		var st procfs.Status
		if text, err := os.ReadFile("/proc/self/task/" + t.Name() + "/status"); err == nil {
			st.Parse(text)
			living += st.Voluntary
		}
	}
	a.ended = asked.voluntary > living+waits/2
	return true
}

// waitAndEnd runs a thread that waits some times, sends its number and ends. The first thread
// of a process does not end: if it is on that one, it holds it and uses another.
func waitAndEnd(waits int, id chan<- int) {
	runtime.LockOSThread() // the thread ends with the goroutine
	if unix.Gettid() == unix.Getpid() {
		other := make(chan int)
		go waitAndEnd(waits, other)
		tid := <-other
		runtime.UnlockOSThread()
		id <- tid
		return
	}
	for range waits {
		_ = unix.Nanosleep(&unix.Timespec{Nsec: 1000}, nil)
	}
	id <- unix.Gettid()
}

// switches asks for the context switches of the living threads of a process.
func (a *groupAsker) switches(pid int32) (s switches, why metric.Reason) {
	binary.NativeEndian.PutUint32(a.request[24:], uint32(pid))
	if _, err := unix.Write(a.fd, a.request[:]); err != nil {
		return s, reasonFor(err)
	}
	n, err := unix.Read(a.fd, a.answer[:])
	if err != nil {
		return s, reasonFor(err)
	}
	why = metric.Unsupported
	procfs.Messages(a.answer[:n], func(kind uint16, payload []byte) {
		if kind == unix.NLMSG_ERROR && len(payload) >= 4 {
			why = reasonFor(unix.Errno(-int32(binary.NativeEndian.Uint32(payload))))
			return
		}
		if len(payload) < 4 {
			return
		}
		eachStatistics(payload[4:], unix.TASKSTATS_TYPE_AGGR_TGID, func(e *procfs.Exit) {
			s, why = switches{e.Voluntary, e.Involuntary}, metric.Present
		})
	})
	return s, why
}

func (a *groupAsker) close() {
	if a != nil {
		unix.Close(a.fd)
	}
}

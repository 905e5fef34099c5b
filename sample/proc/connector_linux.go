package proc

import (
	"errors"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"tachograph/sample/metric"
	"tachograph/sample/proc/procfs"
)

// Kernels before 5.17 do not say in taskstats which process a task belonged to, and some have
// no taskstats. The process connector then reports which process ended, when, how, and whose
// child it was, but no totals. The name must be looked up while the process lives.

const (
	// connectorPause is how long its messages may wait: names must be read
	// before their process has ended.
	connectorPause = 10 * time.Millisecond
	// namesAtOnce limits how many names are looked up in each pause, mostNamed how many are
	// remembered.
	namesAtOnce = 20
	mostNamed   = 65536
)

// named is the name of a process, kept until the process ends, and since when it has it.
type named struct {
	comm  [16]byte
	since int64 // monotonic clock; 0 is unknown
}

var noTotals = metric.ReasonFor("this kernel tells no totals of processes that ended (Linux 5.17 does)")

// listenToConnector is listenForExits with the process connector.
func listenToConnector() (w *watcher, err error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_CONNECTOR)
	if err != nil {
		return nil, err
	}
	w = &watcher{fd: fd, buf: make([]byte, 64<<10), named: make(map[uint32]named)}
	defer func() {
		if err != nil {
			unix.Close(fd)
		}
	}()
	const processes = 1 // the group CN_IDX_PROC
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: processes}); err != nil {
		return nil, err
	}
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 16<<20) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 4<<20)
	}
	if err := unix.Sendto(fd, procfs.ListenRequest(), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	w.asleep = sleptSince()
	if err := w.awaitAnswer(); err != nil {
		return nil, err
	}
	return w, w.prepare()
}

// awaitAnswer waits for the kernel to say whether it will send events.
func (w *watcher) awaitAnswer() error {
	for until := time.Now().Add(2 * time.Second); time.Now().Before(until); {
		fds := []unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, 500); err == unix.EINTR || err == nil && n == 0 {
			continue
		}
		n, err := unix.Read(w.fd, w.buf)
		if err != nil {
			return err
		}
		answered, failed := false, error(nil)
		procfs.Messages(w.buf[:n], func(_ uint16, payload []byte) {
			var e procfs.ProcEvent
			if e.Parse(payload) && e.What == procfs.ConnectorAnswer {
				answered = true
				if e.Err != 0 {
					failed = unix.Errno(e.Err)
				}
			}
		})
		if answered {
			return failed
		}
	}
	return errors.New("no answer from the process connector")
}

// hearConnector takes in one message. The caller holds the lock.
func (w *watcher) hearConnector(payload []byte) {
	var e procfs.ProcEvent
	if !e.Parse(payload) || e.PID != e.TGID {
		return // of a thread
	}
	switch e.What {
	case procfs.ConnectorFork:
		if len(w.named) < mostNamed {
			w.named[e.PID] = named{since: e.Time, comm: w.named[e.ParentTGID].comm}
		}
	case procfs.ConnectorExec:
		w.lookUp(e.PID)
	case procfs.ConnectorComm:
		if n, ok := w.named[e.PID]; ok {
			n.comm = e.Comm
			w.named[e.PID] = n
		}
	case procfs.ConnectorExit:
		n := w.named[e.PID]
		delete(w.named, e.PID)
		x := procfs.Exit{PID: e.PID, TGID: e.TGID, PPID: e.ParentTGID, Comm: n.comm, Status: e.Status, LastOfGroup: true, Lived: -1}
		if n.since != 0 {
			x.Lived = e.Time - n.since
		}
		w.heard, w.at = append(w.heard, x), append(w.at, e.Time+w.asleep)
	}
}

// lookUp reads the name of a process that has called exec, if the process still lives and the
// limits allow it.
func (w *watcher) lookUp(pid uint32) {
	n, known := w.named[pid]
	if w.lookedUp++; w.lookedUp > namesAtOnce || !known && len(w.named) >= mostNamed {
		return
	}
	text, err := os.ReadFile("/proc/" + strconv.FormatUint(uint64(pid), 10) + "/comm")
	if err != nil {
		return
	}
	n.comm = procfs.CommOf(text)
	w.named[pid] = n
}

// sleptSince is how far the continuous clock is ahead of the monotonic one.
func sleptSince() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return 0
	}
	return max(0, bootClock()-ts.Nano())
}

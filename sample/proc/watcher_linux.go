package proc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tachograph/sample/metric"
	"tachograph/sample/proc/procfs"
	"tachograph/sample/socket"
)

// watcher receives a message from the kernel about every task that ends, with its last totals
// (taskstats over netlink). It needs the right to administer the network; without it there is
// no watcher, and its values are missing.
type watcher struct {
	fd     int
	family uint16
	waiter *socket.Waiter

	sync.Mutex
	heard []procfs.Exit
	at    []int64 // when, on the continuous clock
	lost  bool    // the kernel dropped messages
	// The process connector, which is used instead if named is set.
	named    map[uint32]named
	noTotals metric.Reason // why it is used instead of taskstats
	lookedUp int
	asleep   int64
	buf      []byte
}

// pause is how long messages may wait in the socket before they are fetched,
// so that a burst of exits does not wake the recorder for each of them.
const pause = 200 * time.Millisecond

// A storm of exits must not cost more than it is worth: fetching a notice takes some 3
// microseconds, so these limits are 3 % of a core, and some 250 bytes are kept until the next
// sweep. The socket holds as many again; beyond that the kernel drops notices, and says so.
const (
	mostAtOnce = 2000 // in each pause
	mostHeard  = 20000
)

// startWatcher returns nil where the kernel does not allow watching.
func startWatcher() *watcher {
	w, err := listenForExits()
	if err != nil {
		why := noTotals
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
			why = needsNetAdmin
		}
		if w, err = listenToConnector(); err != nil {
			return nil
		}
		w.noTotals = why
	}
	w.waiter.Start(w.run)
	return w
}

func listenForExits() (w *watcher, err error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_GENERIC)
	if err != nil {
		return nil, err
	}
	w = &watcher{fd: fd, buf: make([]byte, 64<<10)}
	defer func() {
		if err != nil {
			unix.Close(fd)
		}
	}()
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	// An interval's worth of exits must fit in between two fetches.
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 16<<20) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 4<<20)
	}
	if w.family, err = w.findFamily(); err != nil {
		return nil, err
	}
	if err := w.tryOut(); err != nil {
		return nil, err
	}
	if err := w.register(); err != nil {
		return nil, err
	}
	return w, w.prepare()
}

// prepare makes ready to wait for messages.
func (w *watcher) prepare() error {
	waiter, err := socket.NewWaiter()
	if err != nil {
		return err
	}
	if err := waiter.Add(w.fd); err != nil {
		waiter.Close()
		return err
	}
	w.waiter = waiter
	return nil
}

// attribute makes a netlink attribute.
func attribute(kind uint16, value string) []byte {
	b := make([]byte, 4, 8+len(value))
	binary.NativeEndian.PutUint16(b, uint16(5+len(value)))
	binary.NativeEndian.PutUint16(b[2:], kind)
	b = append(append(b, value...), 0)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// ask sends a generic netlink command with one attribute and returns the
// payload of the answer, or the error the kernel answers with.
func (w *watcher) ask(family uint16, command uint8, attr []byte) ([]byte, error) {
	b := make([]byte, 20, 20+len(attr))
	binary.NativeEndian.PutUint32(b, uint32(20+len(attr)))
	binary.NativeEndian.PutUint16(b[4:], family)
	binary.NativeEndian.PutUint16(b[6:], unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	b[16], b[17] = command, 1
	if err := unix.Sendto(w.fd, append(b, attr...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	var answer []byte
	for {
		fds := []unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, 2000); err == unix.EINTR {
			continue
		} else if err != nil || n == 0 {
			return nil, errors.New("no answer from the kernel")
		}
		n, err := unix.Read(w.fd, w.buf)
		if err != nil {
			return nil, err
		}
		var failed error
		acked := false
		procfs.Messages(w.buf[:n], func(kind uint16, payload []byte) {
			switch {
			case kind == unix.NLMSG_ERROR && len(payload) >= 4:
				acked = true
				if code := int32(binary.NativeEndian.Uint32(payload)); code != 0 {
					failed = unix.Errno(-code)
				}
			case kind == family:
				answer = append([]byte(nil), payload...)
			}
		})
		if acked {
			return answer, failed
		}
	}
}

func (w *watcher) findFamily() (uint16, error) {
	answer, err := w.ask(unix.GENL_ID_CTRL, unix.CTRL_CMD_GETFAMILY, attribute(unix.CTRL_ATTR_FAMILY_NAME, unix.TASKSTATS_GENL_NAME))
	if err != nil {
		return 0, err
	}
	var id uint16
	if len(answer) > 4 {
		procfs.Attributes(answer[4:], func(kind uint16, value []byte) {
			if kind == unix.CTRL_ATTR_FAMILY_ID && len(value) >= 2 {
				id = binary.NativeEndian.Uint16(value)
			}
		})
	}
	if id == 0 {
		return 0, errors.New("the kernel has no taskstats")
	}
	return id, nil
}

// tryOut asks for the recorder's own statistics: if the answer lacks the process of a task,
// this kernel's exits are of no use.
func (w *watcher) tryOut() error {
	const ownPID = unix.TASKSTATS_CMD_ATTR_PID
	attr := binary.NativeEndian.AppendUint16(nil, 8)
	attr = binary.NativeEndian.AppendUint16(attr, ownPID)
	attr = binary.NativeEndian.AppendUint32(attr, uint32(os.Getpid()))
	answer, err := w.ask(w.family, unix.TASKSTATS_CMD_GET, attr)
	if err != nil {
		return err
	}
	understood := false
	if len(answer) > 4 {
		eachExit(answer[4:], func(*procfs.Exit) { understood = true })
	}
	if !understood {
		return errors.New("this kernel's taskstats are too old")
	}
	return nil
}

// eachExit calls each with the task statistics in the attributes of a message.
func eachExit(attributes []byte, each func(e *procfs.Exit)) {
	eachStatistics(attributes, unix.TASKSTATS_TYPE_AGGR_PID, each)
}

// eachStatistics calls each with the statistics of one kind: of tasks or of groups of tasks.
func eachStatistics(attributes []byte, of uint16, each func(e *procfs.Exit)) {
	procfs.Attributes(attributes, func(kind uint16, value []byte) {
		if kind != of {
			return
		}
		procfs.Attributes(value, func(kind uint16, value []byte) {
			var e procfs.Exit
			if kind == unix.TASKSTATS_TYPE_STATS && e.Parse(value) {
				each(&e)
			}
		})
	})
}

// register asks for the exits on all processors. The kernel needs a list of them.
func (w *watcher) register() error {
	mask := fmt.Sprintf("0-%d", runtime.NumCPU()-1)
	if text, err := os.ReadFile("/sys/devices/system/cpu/possible"); err == nil {
		mask = strings.TrimSpace(string(text))
	}
	_, err := w.ask(w.family, unix.TASKSTATS_CMD_GET, attribute(unix.TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, mask))
	return err
}

// run fetches messages.
func (w *watcher) run() (messages int, wait time.Duration) {
	w.Lock()
	defer w.Unlock()
	wait = pause
	if w.named != nil {
		wait, w.lookedUp, w.asleep = connectorPause, 0, sleptSince()
	}
	before := len(w.heard)
	w.fetch(mostAtOnce)
	return len(w.heard) - before, wait
}

// fetch reads what waits in the socket, but at most this many messages. The caller holds the
// lock.
func (w *watcher) fetch(most int) {
	for ; most > 0 && len(w.heard) < mostHeard; most-- {
		n, err := unix.Read(w.fd, w.buf)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.ENOBUFS:
			w.lost = true
			continue
		case err != nil || n <= 0:
			return
		}
		at := bootClock()
		procfs.Messages(w.buf[:n], func(kind uint16, payload []byte) {
			if w.named != nil {
				w.hearConnector(payload)
				return
			}
			if kind != w.family || len(payload) < 4 {
				return
			}
			eachExit(payload[4:], func(e *procfs.Exit) { w.heard, w.at = append(w.heard, *e), append(w.at, at) })
		})
	}
}

// take passes all exits up to now to each: an exit is in the socket before the process
// disappears from /proc.
func (w *watcher) take(each func(e *procfs.Exit, at int64)) (lost bool) {
	if w == nil {
		return false
	}
	w.Lock()
	defer w.Unlock()
	w.fetch(mostHeard)
	for i := range w.heard {
		each(&w.heard[i], w.at[i])
	}
	w.heard, w.at = w.heard[:0], w.at[:0]
	if cap(w.heard) > mostAtOnce {
		w.heard, w.at = nil, nil // the storm has passed
	}
	lost, w.lost = w.lost, false
	return lost
}

func (w *watcher) stop() {
	if w == nil {
		return
	}
	w.waiter.Close()
	unix.Close(w.fd)
}

func bootClock() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return 0
	}
	return ts.Nano()
}

var (
	needsNetAdmin = metric.ReasonFor("only with the right to hear of exits (CAP_NET_ADMIN)")
	exitsLost     = metric.ReasonFor("the kernel dropped notices of exits")
)

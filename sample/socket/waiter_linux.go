package socket

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Waiter fetches messages from netlink sockets as they come, in a goroutine of its own.
//
// The runtime waits for a descriptor without a thread, but is woken by every message. A Waiter
// is woken by the first message in each socket, and lets the others wait for a pause.
type Waiter struct {
	ready        *os.File // an epoll descriptor
	fired        []int32  // the sockets that have reported their first message
	events       [16]unix.EpollEvent
	ending, done chan struct{} // done is nil before Start
}

// NewWaiter makes a Waiter.
func NewWaiter() (*Waiter, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &Waiter{ready: os.NewFile(uintptr(fd), "netlink"), ending: make(chan struct{})}, nil
}

// Add has it wait for messages in a socket, too, until that is closed.
func (w *Waiter) Add(fd int) error { return w.control(unix.EPOLL_CTL_ADD, fd) }

// Start begins to call fetch, which takes out all messages that are there, and returns how many
// they were and how long the next ones may wait. After a single one the Waiter waits for the next at
// once, if none came within the pause before: most sockets get few, and each wait for a timer
// wakes the recorder once more.
func (w *Waiter) Start(fetch func() (messages int, pause time.Duration)) {
	w.done = make(chan struct{})
	go w.run(fetch)
}

// Close ends the calls of fetch.
func (w *Waiter) Close() {
	close(w.ending)
	w.ready.Close()
	if w.done != nil {
		<-w.done
	}
}

func (w *Waiter) run(fetch func() (messages int, pause time.Duration)) {
	defer close(w.done)
	between := time.NewTimer(time.Hour)
	defer between.Stop()
	last := time.Time{}
	for w.await() {
		messages, pause := fetch()
		if now := time.Now(); messages <= 1 && now.Sub(last) >= pause {
			last = now
		} else {
			last = now.Add(pause)
			between.Reset(pause)
			select {
			case <-between.C:
			case <-w.ending:
				return
			}
		}
		for _, fd := range w.fired {
			// A socket that was closed meanwhile is not waited for any more.
			if err := w.control(unix.EPOLL_CTL_MOD, int(fd)); err != nil && err != unix.ENOENT && err != unix.EBADF {
				return
			}
		}
	}
}

// await waits until sockets have messages; it returns false if the Waiter was closed.
func (w *Waiter) await() bool {
	conn, err := w.ready.SyscallConn()
	if err != nil {
		return false
	}
	w.fired = w.fired[:0]
	return conn.Read(func(fd uintptr) bool {
		n, err := unix.EpollWait(int(fd), w.events[:], 0)
		for i := range max(n, 0) {
			w.fired = append(w.fired, w.events[i].Fd)
		}
		return n > 0 || err != nil && err != unix.EINTR
	}) == nil
}

// control asks for one report of messages in a socket.
func (w *Waiter) control(what, fd int) error {
	conn, err := w.ready.SyscallConn()
	if err != nil {
		return err
	}
	failed := conn.Control(func(epoll uintptr) {
		err = unix.EpollCtl(int(epoll), what, fd, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT, Fd: int32(fd)})
	})
	if failed != nil {
		return failed
	}
	return err
}

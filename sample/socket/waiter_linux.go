package socket

import (
	"os"

	"golang.org/x/sys/unix"
)

// waiter waits until something arrives at one of several descriptors. The runtime waits for
// a descriptor without a thread, but is woken by every message; a waiter is woken by the first
// one at each, until that is rearmed.
type waiter struct{ ready *os.File } // an epoll descriptor

func newWaiter() (*waiter, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &waiter{ready: os.NewFile(uintptr(fd), "netlink")}, nil
}

// close ends the wait.
func (w *waiter) close() error { return w.ready.Close() }

func (w *waiter) add(fd int) error { return w.control(unix.EPOLL_CTL_ADD, fd) }

func (w *waiter) rearm(fd int) bool { return w.control(unix.EPOLL_CTL_MOD, fd) == nil }

func (w *waiter) control(what, fd int) error {
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

// await waits; it returns false when the waiter is closed.
func (w *waiter) await() bool {
	conn, err := w.ready.SyscallConn()
	if err != nil {
		return false
	}
	var events [1]unix.EpollEvent
	return conn.Read(func(fd uintptr) bool {
		n, err := unix.EpollWait(int(fd), events[:], 0)
		return n > 0 || err != nil && err != unix.EINTR
	}) == nil
}

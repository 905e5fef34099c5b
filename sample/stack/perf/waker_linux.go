package perf

import (
	"time"

	"golang.org/x/sys/unix"
)

// waker says when the kernel has taken a sample. A program in Python is read after the sample of
// its thread was taken, so the sooner the better.
type waker struct {
	// woken gets something soon after a sample was taken.
	woken chan struct{}
	stop  chan struct{}
	ended chan struct{}
	pipe  [2]int
}

const (
	// seldom is how often samples are looked for at most, on a machine with many processors.
	seldom = 2 * time.Millisecond
	// silent is how long the kernel is waited for if some processor does not say that it has
	// samples: a thread that has ended has no events, but its ring has those of others.
	silent = 5 * time.Millisecond
)

func newWaker(e *events) *waker {
	w := &waker{woken: make(chan struct{}), stop: make(chan struct{}), ended: make(chan struct{}), pipe: [2]int{-1, -1}}
	fds := []unix.PollFd{{Fd: -1, Events: unix.POLLIN}}
	if unix.Pipe2(w.pipe[:], unix.O_CLOEXEC) == nil {
		fds[0].Fd = int32(w.pipe[0])
	}
	for i := range e.rings {
		fds = append(fds, unix.PollFd{Fd: int32(e.rings[i].fd), Events: unix.POLLIN})
	}
	go w.run(fds)
	return w
}

func (w *waker) run(fds []unix.PollFd) {
	defer close(w.ended)
	timeout := -1
	if fds[0].Fd < 0 {
		timeout = int(silent / time.Millisecond)
	}
	pause := time.NewTimer(seldom)
	defer pause.Stop()
	for {
		if _, err := unix.Poll(fds, timeout); err != nil && err != unix.EINTR {
			return
		}
		for i := 1; i < len(fds); i++ {
			if fds[i].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0 {
				fds[i].Fd, timeout = -1, int(silent/time.Millisecond)
			}
		}
		select {
		case <-w.stop:
			return
		case w.woken <- struct{}{}:
		}
		select {
		case <-w.stop:
			return
		case <-pause.C:
			pause.Reset(seldom)
		}
	}
}

// close stops it. After that the events may be closed.
func (w *waker) close() {
	close(w.stop)
	if w.pipe[1] >= 0 {
		unix.Write(w.pipe[1], []byte{0})
	}
	<-w.ended
	for _, fd := range w.pipe {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// woken is where a waker says that there are samples; nil if there is none.
func (p *pythons) woken() <-chan struct{} {
	if p.waker == nil {
		return nil
	}
	return p.waker.woken
}

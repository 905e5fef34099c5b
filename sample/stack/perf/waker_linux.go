package perf

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

// waker waits until the kernel has taken a sample. A program in Python is read after the sample of
// its thread was taken, so the sooner the better.
type waker struct {
	fds  []unix.PollFd
	last time.Time
	// deaf says that some ring does not say when it has samples: the thread whose events made it
	// has ended, and other threads' events use it.
	deaf bool
}

const (
	// seldom is how often samples are looked for at most, on a machine with many processors.
	seldom = 2 * time.Millisecond
	// silent is how long to wait for rings that say nothing.
	silent = 5 * time.Millisecond
)

func newWaker(e *events) *waker {
	w := &waker{}
	for i := range e.rings {
		w.fds = append(w.fds, unix.PollFd{Fd: int32(e.rings[i].fd), Events: unix.POLLIN})
	}
	return w
}

// wait waits for a sample, and not for longer than most.
func (w *waker) wait(ctx context.Context, most time.Duration) {
	if early := seldom - time.Since(w.last); early > 0 {
		select {
		case <-ctx.Done():
			return
		case <-time.After(early):
		}
	}
	if w.deaf {
		most = min(most, silent)
	}
	// It blocks this thread and not only this goroutine: waking another thread would take longer
	// than reading the sample.
	unix.Poll(w.fds, int(most/time.Millisecond))
	for i := range w.fds {
		if w.fds[i].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0 {
			w.fds[i].Fd, w.deaf = -1, true
		}
	}
	w.last = time.Now()
}

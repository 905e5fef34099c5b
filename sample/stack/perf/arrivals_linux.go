package perf

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

// arrivals waits until the kernel has taken a sample. A program in Python is read after the sample of
// its thread was taken, so the sooner the better.
type arrivals struct {
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

func newArrivals(e *events) *arrivals {
	a := &arrivals{}
	for i := range e.rings {
		a.fds = append(a.fds, unix.PollFd{Fd: int32(e.rings[i].fd), Events: unix.POLLIN})
	}
	return a
}

// wait waits for a sample, and not for longer than most.
func (a *arrivals) wait(ctx context.Context, most time.Duration) {
	if early := seldom - time.Since(a.last); early > 0 {
		select {
		case <-ctx.Done():
			return
		case <-time.After(early):
		}
	}
	if a.deaf {
		most = min(most, silent)
	}
	// It blocks this thread and not only this goroutine: waking another thread would take longer
	// than reading the sample.
	unix.Poll(a.fds, int(most/time.Millisecond))
	for i := range a.fds {
		if a.fds[i].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0 {
			a.fds[i].Fd, a.deaf = -1, true
		}
	}
	a.last = time.Now()
}

package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// untilEnded returns a context that ends at a signal that ends programs, or when no reader of
// the output is left.
func (a *app) untilEnded() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(a.ctx)
	if a.Given != nil { // The signals of a server are not those of its clients.
		return ctx, cancel
	}
	signals := make(chan os.Signal, 1)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		// A signal that the parent process made this program ignore (nohup, a shell in the
		// background) would not end it either.
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	go func() {
		select {
		case s := <-signals:
			a.signal, _ = s.(syscall.Signal)
			cancel()
		case <-ctx.Done():
		}
	}()
	if f, ok := a.stdout.Unwrap().(*os.File); ok {
		go func() {
			if unread(f) {
				a.signal = syscall.SIGPIPE
				cancel()
			}
		}()
	}
	return ctx, func() { signal.Stop(signals); cancel() }
}

// unread waits until a pipe or socket has no reader any more. It returns false at once if f is
// neither.
func unread(f *os.File) bool {
	st, err := f.Stat()
	if err != nil || st.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return false
	}
	fds := []unix.PollFd{{Fd: int32(f.Fd())}}
	for {
		n, err := unix.Poll(fds, -1)
		switch {
		case err == unix.EINTR:
		case err != nil || n == 0:
			return false
		default:
			return fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
		}
	}
}

// dieWithin is how long a signal may take to end this program.
const dieWithin = time.Second

// die ends this program as the signal would have ended it. Sometimes the signal does not: Go's
// runtime keeps SIGPIPE for itself unless a write caused it, the first process of a container is
// spared signals that it does not handle, and the parent process may have made this one ignore
// it. Then die returns the status with which a shell reports such an end.
func (a *app) die() (status int) {
	s := a.signal
	signal.Reset(s)
	if s == syscall.SIGPIPE {
		_, _ = a.stdout.Unwrap().Write([]byte("\n")) // it has no reader
	} else if syscall.Kill(os.Getpid(), s) == nil {
		time.Sleep(dieWithin)
	}
	return 128 + int(s)
}

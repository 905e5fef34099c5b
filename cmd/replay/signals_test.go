package main

import (
	"io"
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// A program that was started to ignore a signal, as nohup does, goes on, and still ends with others.
func TestIgnoredSignalsEndNothing(t *testing.T) {
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	a := newApp(io.Discard, io.Discard, nil)
	ctx, stop := a.untilEnded()
	defer stop()
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM} {
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
	}
	<-ctx.Done()
	if a.signal != syscall.SIGTERM {
		t.Errorf("ended by %v", a.signal)
	}
}

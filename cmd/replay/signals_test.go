package main

import (
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"testing"

	"tachograph/testdata/patience"
)

// dying is the signal that TestDie's program ends by.
const dying = "TACHO_DYING"

// A program ends by its signal, whatever that is, and as a shell would say it where that
// is ignored; it never stays.
func TestDie(t *testing.T) {
	if n, err := strconv.Atoi(os.Getenv(dying)); err == nil {
		a := newApp(os.Stdout, io.Discard, nil)
		a.signal = syscall.Signal(n)
		os.Exit(a.die())
	}
	for _, s := range []syscall.Signal{syscall.SIGPIPE, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close() // nobody reads
		c := exec.Command(os.Args[0], "-test.run=^TestDie$")
		c.Env = append(os.Environ(), dying+"="+strconv.Itoa(int(s)))
		c.Stdout = w
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		w.Close()
		t.Cleanup(func() { c.Process.Kill() })
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		patience.Until(t, s.String()+" ends it", func() bool { return len(ended) == 1 })
		err = <-ended
		status := c.ProcessState.Sys().(syscall.WaitStatus)
		if !(status.Signaled() && status.Signal() == s) && status.ExitStatus() != 128+int(s) {
			t.Errorf("%v: it ended with %v", s, err)
		}
	}
}

// What follows, or is sent into a pipe, ends when nobody reads it any more.
func TestNobodyReads(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	a := newApp(w, io.Discard, nil)
	ctx, stop := a.untilEnded()
	defer stop()
	r.Close()
	<-ctx.Done()
	if a.signal != syscall.SIGPIPE {
		t.Errorf("ended by %v", a.signal)
	}
}

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

package main

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// handOver is how the simulated launchd is told what it hands over; a real one
// starts no tests.
const handOver = "DARWINHOST_LAUNCHD"

func TestServerIsStartedByLaunchd(t *testing.T) {
	t.Parallel()
	a := newActivated(t)
	server := func(hand string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "serve", "--listen", "launchd", "--archive", a.archives)
		cmd.Env = append(os.Environ(), asProgram+"=1", handOver+"="+hand)
		return cmd
	}
	out, err := server("other=3").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--listen launchd is for a job of launchd that has a socket: ") {
		t.Fatalf("without a socket: %v: %s", err, out)
	}
	if strings.Contains(string(out), "launchd did not start this process") {
		t.Skip("this launchd is real")
	}
	l, err := net.Listen("unix", a.socket)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	f, err := l.(*net.UnixListener).File()
	if err != nil {
		t.Fatal(err)
	}
	cmd := server("serve=3")
	cmd.ExtraFiles = []*os.File{f}
	a.start(t, cmd)
	f.Close()
	l.Close()
	a.ask(t)
}

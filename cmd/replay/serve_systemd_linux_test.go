package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"tachograph/store/storetest/proof"
)

// TestServerIsStartedBySystemd has systemd's own program open the socket, and start
// the server when somebody asks.
func TestServerIsStartedBySystemd(t *testing.T) {
	t.Parallel()
	activate, err := exec.LookPath("systemd-socket-activate")
	if err != nil {
		t.Skip("systemd-socket-activate is not installed")
	}
	a := newActivated(t)
	a.start(t, exec.Command(activate, "--listen="+a.socket, "--setenv="+asProgram+"=1", os.Args[0], "serve", "--listen", "systemd", "--archive", a.archives))
	proof.WaitFor(t, func() bool { return listening(t, a.socket) })
	a.ask(t)
}

// listening reports whether somebody waits for connections at a socket, without making
// one. That its file is there says only that it has its name.
func listening(t *testing.T, path string) bool {
	t.Helper()
	sockets, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		t.Fatal(err)
	}
	const acceptsConnections = "00010000"
	for line := range strings.Lines(string(sockets)) {
		if f := strings.Fields(line); len(f) == 8 && f[7] == path && f[3] == acceptsConnections {
			return true
		}
	}
	return false
}

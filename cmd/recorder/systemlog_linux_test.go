package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The recorder whose standard error is a pipe that JOURNAL_STREAM names writes entries with
// priorities.
func TestTheRecorderWritesForTheJournal(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var pipe unix.Stat_t
	if err := unix.Fstat(int(w.Fd()), &pipe); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "run", "--archive", filepath.Join(t.TempDir(), "a"), "--for", "1s")
	cmd.Env = append(os.Environ(), "TACHOGRAPH_TEST_RECORDER=1", fmt.Sprintf("JOURNAL_STREAM=%d:%d", pipe.Dev, pipe.Ino))
	cmd.Stderr = w
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	lines := 0
	for scan := bufio.NewScanner(r); scan.Scan(); lines++ {
		if l := scan.Text(); !strings.HasPrefix(l, "<") || strings.Contains(l, "time=") || strings.Contains(l, "level=") {
			t.Errorf("%s", l)
		}
	}
	if err := cmd.Wait(); err != nil || lines == 0 {
		t.Errorf("%v, %d lines", err, lines)
	}
}

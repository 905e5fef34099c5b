package main

import (
	"bufio"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tachograph/sample/systemd"
	"tachograph/sample/systemd/journaldtest"
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

// Entries of the recorder are in journald's journal with the priority of each, and with nothing
// before the message.
func TestJournaldHasTheRecordersPriorities(t *testing.T) {
	d := journaldtest.Start(t)
	stderr, env := d.Stream(t, "recorder")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "run", "--archive", filepath.Join(t.TempDir(), "a"), "--for", "1s")
	cmd.Env = append(os.Environ(), "TACHOGRAPH_TEST_RECORDER=1", env)
	cmd.Stderr = stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	other, _ := d.Stream(t, "other")
	log := slog.New(&systemLog{level: slog.LevelInfo, write: journalEntries(other)})
	log.Warn("late", "by", "two\nlines")
	log.Error("broken")
	d.Sync(t)
	dir := systemd.NewDirectory(d.Root, systemd.Mark{}, systemd.Limits{Last: 1000})
	defer dir.Close()
	var others []string
	started := false
	if _, err := dir.Look(func(e systemd.Entry) {
		switch e.Identifier {
		case "recorder":
			started = true
			if e.Priority > 5 || !strings.HasPrefix(e.Message, "msg=") {
				t.Errorf("%d %s", e.Priority, e.Message)
			}
		case "other":
			others = append(others, fmt.Sprintf("%d %s", e.Priority, e.Message))
		}
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{`4 msg=late by="two\nlines"`, "3 msg=broken"}; !started || !slices.Equal(others, want) {
		t.Errorf("%v, %q, want %q", started, others, want)
	}
}

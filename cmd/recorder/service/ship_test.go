package service

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tachograph/sample/metric"
)

// command writes a shell script and returns its path.
func command(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "ship")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestFinishedArchivesAreShipped(t *testing.T) {
	b := newBench(t)
	seen := filepath.Join(t.TempDir(), "seen")
	b.cfg.Archive.OnFinish = []string{command(t, `echo "$1 $2" >> `+seen), "--to"}
	s, stop := b.run()
	path, err := s.Rotate("test")
	if err != nil {
		t.Fatal(err)
	}
	wait(t, "the shipping", func() bool { return s.Status().LastShipping != nil && s.Status().LastShipping.Waiting == 0 })
	stop()
	text, _ := os.ReadFile(seen)
	if got := string(text); got != "--to "+path+"\n" {
		t.Errorf("the command saw %q", got)
	}
	if evs := b.archive.kinds(metric.EventShip); len(evs) != 1 || evs[0].Text != "archive shipped: "+path {
		t.Errorf("events: %+v", evs)
	}
	if _, err := os.Stat(filepath.Join(b.dir, unshippedName)); err == nil {
		t.Error("the list still exists")
	}
}

func TestFailedShippingIsToldAndKept(t *testing.T) {
	b := newBench(t)
	b.cfg.Archive.OnFinish = []string{command(t, "echo first; echo no route >&2; exit 3")}
	s, stop := b.run()
	path, err := s.Rotate("test")
	if err != nil {
		t.Fatal(err)
	}
	wait(t, "the failure", func() bool { return s.Status().LastShipping != nil && s.Status().LastShipping.Error != "" })
	stop()
	evs := b.archive.kinds(metric.EventShip)
	if len(evs) != 1 || !strings.HasSuffix(evs[0].Text, "exit status 3: no route") {
		t.Fatalf("events: %+v", evs)
	}
	// The next run takes it up again.
	seen := filepath.Join(t.TempDir(), "seen")
	b.cfg.Archive.OnFinish = []string{command(t, `echo "$1" >> `+seen)}
	_, stop = b.run()
	wait(t, "the second attempt", func() bool { text, _ := os.ReadFile(seen); return string(text) == path+"\n" })
	stop()
}

func TestCommandThatHangsIsKilledWithAllItStarted(t *testing.T) {
	b := newBench(t)
	b.cfg.Archive.OnFinish = []string{command(t, "sleep 600 & sleep 600")}
	b.cfg.Archive.OnFinishLimit = 200 * time.Millisecond
	s, stop := b.run()
	began := time.Now()
	if _, err := s.Rotate("test"); err != nil {
		t.Fatal(err)
	}
	wait(t, "the end of the command", func() bool { return s.Status().LastShipping != nil && s.Status().LastShipping.Error != "" })
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	stop()
	if got := s.Status().LastShipping.Error; !strings.HasSuffix(got, "did not end within 200ms") {
		t.Errorf("error: %s", got)
	}
}

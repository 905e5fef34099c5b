package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tachograph/cmd/recorder/service"
	"tachograph/sample/metric"
)

// A recorder as it is has stacks sampled, reads more often and runs a command,
// and all of it is in the archive.
func TestTriggered(t *testing.T) {
	dir, place := t.TempDir(), t.TempDir()
	said, file := filepath.Join(place, "said"), filepath.Join(place, "c.toml")
	script := filepath.Join(place, "page")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho \"$TACHOGRAPH_REASON\" > "+said+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(`[[trigger]]
name = "now"
when = "recorder.stall >= 0s"
stacks = { for = "1s", rate = 5, of = "all" }
burst = { classes = ["fast"], for = "5s" }
run = ["`+script+`"]
cool_down = "1h"
`), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, dir, "--config", file)
	p.await("the trigger", func() bool { return len(events(dir, metric.EventTrigger)) > 0 })
	p.await("stacks", func() bool { return len(events(dir, metric.EventStacks)) > 0 })
	p.await("the command", func() bool { return len(page(said)) > 0 })
	p.await("a burst", func() bool { return closer(walls(dir, "kernel.all.cpu.user"), 500*time.Millisecond) >= 3 })
	p.end(syscall.SIGTERM)
	fired := events(dir, metric.EventTrigger)
	if len(fired) != 1 || !strings.HasPrefix(fired[0].Text, "now: recorder.stall >= 0s, last ") ||
		!strings.HasSuffix(fired[0].Text, "; stacks are sampled for 1s; fast every 100ms for 5s; a command is run") {
		t.Errorf("events %+v", fired)
	}
	if text := page(said); !strings.HasPrefix(text, "now: recorder.stall >= 0s, last ") {
		t.Errorf("the command was told %q", text)
	}
	if samples, sessions := sampled(t, dir); samples == 0 || sessions != 1 {
		t.Errorf("%d samples of %d sessions", samples, sessions)
	}
	st, err := service.ReadStatus(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range st.Triggers {
		if want := map[bool]int{true: 1}[tr.Name == "now"]; len(tr.Fired) != want {
			t.Errorf("status: %+v", tr)
		}
	}
	// The next run keeps the cool-down.
	p = start(t, dir, "--config", file)
	before := len(walls(dir, "kernel.all.cpu.user"))
	p.await("two more ticks", func() bool { return len(walls(dir, "kernel.all.cpu.user")) >= before+2 })
	p.end(syscall.SIGTERM)
	if n := len(events(dir, metric.EventTrigger)); n != 1 {
		t.Errorf("%d events after a restart", n)
	}
}

func page(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}

// closer counts the ticks that came so soon after the one before.
func closer(walls []int64, than time.Duration) (n int) {
	for i := 1; i < len(walls); i++ {
		if time.Duration(walls[i]-walls[i-1]) < than {
			n++
		}
	}
	return n
}

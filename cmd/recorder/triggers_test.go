package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/recorder/service"
	"tachograph/sample/metric"
)

// A recorder as it is has stacks sampled, reads more often and runs a command,
// and all of it is in the archive.
func TestTriggered(t *testing.T) {
	t.Parallel()
	dir, place := t.TempDir(), t.TempDir()
	said := filepath.Join(place, "said")
	script := filepath.Join(place, "page")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho \"$TACHOGRAPH_REASON\" > "+said+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := configFile(t, `[[trigger]]
name = "now"
when = "recorder.stall >= 0s"
stacks = { for = "1s", rate = 5, of = "all" }
burst = { classes = ["fast"], for = "5s" }
run = ["`+script+`"]
cool_down = "1h"
`)
	// A user who may not sample all processes gets an event that says so.
	refused, status := try(t, "sample", "--all", "--rate", "1", "--for", "100ms", "-o", filepath.Join(place, "all.tacho"))
	refused, allowed := strings.TrimPrefix(strings.TrimSpace(refused), "recorder: "), status == cli.Yes
	if !allowed && os.Geteuid() == 0 {
		t.Logf("root may not sample all processes here: %s", refused)
	}
	p := start(t, dir, file)
	p.await("the trigger has fired", func() bool { return len(events(dir, metric.EventTrigger)) > 0 })
	p.await("stacks are sampled or refused", func() bool {
		if !allowed {
			return strings.Contains(p.said(), "now: the stacks failed: "+refused)
		}
		return len(events(dir, metric.EventStacks)) > 0
	})
	p.await("the command has run", func() bool { return len(page(said)) > 0 })
	p.await("there is a burst", func() bool { return closer(walls(dir, "kernel.all.cpu.user"), 500*time.Millisecond) >= 3 })
	p.end(syscall.SIGTERM)
	fired, told := events(dir, metric.EventTrigger), 1
	if !allowed {
		if told = 2; len(fired) != told || fired[1].Text != "now: the stacks failed: "+refused {
			t.Errorf("stacks were refused: events %+v", fired)
		}
	}
	if len(fired) != told || !strings.HasPrefix(fired[0].Text, "now: recorder.stall >= 0s, last ") ||
		!strings.HasSuffix(fired[0].Text, "; stacks are sampled for 1s; fast every 100ms for 5s; a command is run") {
		t.Errorf("events %+v", fired)
	}
	if text := page(said); !strings.HasPrefix(text, "now: recorder.stall >= 0s, last ") {
		t.Errorf("the command was told %q", text)
	}
	if samples, sessions := sampled(t, dir); (samples > 0) != allowed || (sessions == 1) != allowed {
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
	p = start(t, dir, file)
	before := len(walls(dir, "kernel.all.cpu.user"))
	p.await("there are two more ticks", func() bool { return len(walls(dir, "kernel.all.cpu.user")) >= before+2 })
	p.end(syscall.SIGTERM)
	if n := len(events(dir, metric.EventTrigger)); n != told {
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

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"tachograph/cmd/replay/internal/browsertest"
)

// lookForEnv says for how long TestLookingCosts looks.
const lookForEnv = "TACHO_LOOK_FOR"

// TestLookingCosts measures what a page costs that is left open beside a recorder of this
// machine: the server's processor time and memory, what it sends, and what the browser
// holds.
func TestLookingCosts(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv(lookForEnv))
	if err != nil {
		t.Skipf("%s=5m says for how long to look", lookForEnv)
	}
	b := browsertest.Start(t)
	s := newPageServer(t)
	s.record()
	s.start()
	p := b.Tab()
	p.Viewport(1400, 900, false)
	p.Go("http://" + s.address + "/#token=" + pageToken)
	p.Wait(ready)
	state(p, "live")
	processor := func() time.Duration {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		var user, system int64
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		fmt.Sscan(fields[11], &user)
		fmt.Sscan(fields[12], &system)
		return time.Duration(user+system) * 10 * time.Millisecond
	}
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	spent, sent, began := processor(), p.Received(), time.Now()
	for minute := 1; time.Since(began) < length; minute++ {
		<-tick.C
		now, bytes := processor(), p.Received()
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(status), "VmHWM:")
		peak, _, _ := strings.Cut(rest, "\n")
		var processes, columns int
		p.Eval(`tachograph.view.doc.processes.totals.at(-1)`, &processes)
		p.Eval(`tachograph.view.doc.columns`, &columns)
		t.Logf("minute %d: %d processes, %d columns; the server took %v (%.2f %% of a core), at most %s; the page was sent %d KB and holds %.1f MB",
			minute, processes, columns, now-spent, 100*(now-spent).Seconds()/60, strings.TrimSpace(peak), (bytes-sent)>>10, float64(p.Heap())/1e6)
		spent, sent = now, bytes
	}
	complaints := p.Complaints()
	if len(complaints) > 0 {
		t.Errorf("it complains: %q", complaints)
	}
}

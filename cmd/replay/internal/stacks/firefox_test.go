package stacks_test

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
	"testing"

	"tachograph/cmd/replay/internal/stacks"
	"tachograph/cmd/replay/internal/stacks/stackstest"
	"tachograph/sample/stack"
)

func firefox(t *testing.T, p *stacks.Profile, state stacks.State) *stackstest.FirefoxProfile {
	t.Helper()
	var b bytes.Buffer
	if err := p.WriteFirefox(&b, "vm", "test", state); err != nil {
		t.Fatal(err)
	}
	got, err := stackstest.ReadFirefox(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// A profile for Firefox has the threads with their samples, in the seconds in which they were.
func TestFirefox(t *testing.T) {
	p := read(t, stacks.Request{Ticks: true}, stackstest.Incident()...)
	got := firefox(t, p, stacks.Any)
	if got.Meta.PreprocessedProfileVersion != 60 || got.Meta.StartTime != float64(stackstest.Start.UnixMilli()) || got.Meta.Interval > 11 || got.Meta.Interval < 10 {
		t.Errorf("%+v", got.Meta)
	}
	const main = "__libc_start_main/User;main/User;"
	want := map[string]map[string]float64{
		"indexer 612 612 true": {main + "indexer::parse/User;engine::Scanner::scan/User": 140, main + "indexer::parse/User;engine::Scanner::scan/User;libengine.so+0x900/User": 20,
			main + "indexer::parse/User;malloc/User": 38},
		"writer 612 613 false": {main + "flush/User": 2, main + "flush/User;write/User;ksys_write/Kernel;io_schedule/Waiting": 196},
		"bash 90 90 true":      {"wait4/User;do_wait/Waiting": 198},
	}
	for i := range got.Threads {
		one := &got.Threads[i]
		name := fmt.Sprint(one.Name, " ", one.PID, " ", one.TID, " ", one.IsMainThread)
		if lines := got.Folded(i); !maps.Equal(lines, want[name]) {
			t.Errorf("%s: %v, want %v", name, lines, want[name])
		}
		for k, at := range one.Samples["time"].([]any) {
			if at.(float64) >= 2000 || k == 0 && at.(float64) != 0 {
				t.Errorf("%s: sample %d is at %v ms of 2 s", name, k, at)
			}
		}
	}
	if len(got.Threads) != len(want) {
		t.Errorf("%d threads", len(got.Threads))
	}
	if waiting := firefox(t, p, stacks.Waiting); len(waiting.Threads) != 2 {
		t.Errorf("%d threads waited", len(waiting.Threads))
	}
}

// What a thread waited for is below its function, and a pid that two processes had is two.
func TestFirefoxWaits(t *testing.T) {
	sample := func(process string, wait string, state stack.State) stack.Sample {
		return stack.Sample{Thread: stack.Thread{PID: 7, Process: process, Command: "app", TID: 7}, State: state, Wait: wait, Count: 3,
			Frames: stackstest.Frames(stackstest.In(stackstest.App, 0x1000, "main"), stackstest.In(stackstest.App, 0x2000, "trap"))}
	}
	got := firefox(t, read(t, stacks.Request{Ticks: true}, []stack.Sample{sample("7/1", "mach port receive", stack.Waiting), sample("7/1", "", stack.Running), sample("7/2", "", stack.Running)}), stacks.Any)
	if len(got.Threads) != 2 || got.Threads[0].PID == got.Threads[1].PID {
		t.Fatalf("%+v", got.Threads)
	}
	all := got.Folded(0)
	maps.Copy(all, got.Folded(1))
	if want := (map[string]float64{"main/User;trap/User": 3, "main/User;trap/Waiting;waits: mach port receive/Waiting": 3}); !maps.Equal(all, want) {
		t.Errorf("%v, want %v", all, want)
	}
}

// Of waits that were measured the profile has the time, with who ended them.
func TestFirefoxWaited(t *testing.T) {
	p := read(t, stacks.Request{Ticks: true}, stackstest.Waits()...)
	got := firefox(t, p, stacks.Waited)
	sum := 0.0
	for i := range got.Threads {
		one := &got.Threads[i]
		if one.Samples["weightType"] != "tracing-ms" {
			t.Errorf("%s has weights of %v", one.Name, one.Samples["weightType"])
		}
		for line, ms := range got.Folded(i) {
			if sum += ms; strings.Contains(line, "await_worker") && (ms != 4100 || !strings.Contains(line, "futex_do_wait/Waiting;woken by ") || one.Name != "ledger") {
				t.Errorf("%s: %s %v", one.Name, line, ms)
			}
		}
	}
	if want := float64(p.Sum(stacks.Waited)) / 1e6; sum != want || sum < 8000 {
		t.Errorf("%v ms, want %v", sum, want)
	}
}

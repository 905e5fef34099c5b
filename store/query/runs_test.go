package query_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

func TestRuns(t *testing.T) {
	const start = int64(1_790_000_000) * second
	var events []metric.Event
	exit := func(at int64, name, how string) {
		e := metric.Event{At: metric.Stamp{Wall: start + at, Cont: at}, Kind: metric.EventProcessExit, Labels: []metric.Label{{Name: "name", Value: name}}}
		if how != "" {
			e.Labels = append(e.Labels, metric.Label{Name: "how", Value: how})
		}
		events = append(events, e)
	}
	for i := range int64(12) {
		exit(i*10*second+i%3*int64(100*time.Millisecond), "worker", map[bool]string{true: "signal 9", false: "exit 1"}[i == 4])
		exit(i*10*second, "cron", "exit 0")                 // has a rhythm, and ends well
		exit(i*i*i*second/2, "grep", "exit 1")              // fails, without one
		exit(i*2*int64(time.Millisecond), "test", "exit 1") // fails in a script
		exit(i*10*second, "agent", "signal 15")             // is asked to end
		exit(i*10*second, "unknown", "")                    // nobody knows how
	}
	events = append(events, metric.Event{At: metric.Stamp{Wall: start + 130*second}, Kind: metric.EventProcessExits,
		Labels: []metric.Label{{Name: "name", Value: "test"}, {Name: "count", Value: "100"}, {Name: "failed", Value: "40"}}})
	part := &querytest.Part{Info: store.ArchiveInfo{ID: "a", Host: metric.Host{ID: "h"}, BootID: "b"}, Events: events}
	a := querytest.New(part)
	w := query.Window{From: start - second, To: start + 10000*second}
	all := query.AllRuns(a, w)
	got := make(map[string]string)
	for _, r := range all {
		got[r.Name] = fmt.Sprintf("%s; %d failed; loop %v", r, r.Failed, r.CrashLoop())
	}
	for name, want := range map[string]string{
		"worker":  "ended 12 times, every 10s: exit 1 (11), signal 9 (1); 12 failed; loop true",
		"cron":    "ended 12 times, every 10s: exit 0; 0 failed; loop false",
		"grep":    "ended 12 times: exit 1; 12 failed; loop false",
		"agent":   "ended 12 times, every 10s: signal 15; 0 failed; loop false",
		"unknown": "ended 12 times, every 10s; 0 failed; loop false",
		"test":    "ended 112 times: exit 1 (12); 52 failed; loop false",
	} {
		if got[name] != want {
			t.Errorf("%s: %s\nwant %s", name, got[name], want)
		}
	}
	if all[0].Name != "test" {
		t.Errorf("the most frequent is %s", all[0].Name)
	}
}

// A service that fails again and again is found although others share its name, and
// commands that say no to a script for a moment are no loop.
func TestCrashLoopsByParent(t *testing.T) {
	const start = int64(1_790_000_000) * second
	var events []metric.Event
	exit := func(at int64, name, parent, how string) {
		events = append(events, metric.Event{At: metric.Stamp{Wall: start + at, Cont: at}, Kind: metric.EventProcessExit,
			Labels: []metric.Label{{Name: "name", Value: name}, {Name: "parent", Value: parent}, {Name: "how", Value: how}}})
	}
	for i := range int64(40) {
		exit(i*4*second, "python3", "init", "exit 3")
		exit(i*4*second+second, "python3", "shell", "exit 0")
		exit(i*4*second+2*second, "python3", "shell", "exit 0")
		if i < 9 {
			exit(i*second, "grep", "script", "exit 1")
			exit(i*4*second, "python3", "init2", "exit 3")
		}
	}
	slices.SortStableFunc(events, func(x, y metric.Event) int { return cmp.Compare(x.At.Wall, y.At.Wall) })
	a := querytest.New(&querytest.Part{Info: store.ArchiveInfo{ID: "a", Host: metric.Host{ID: "h"}, BootID: "b"}, Events: events})
	loops := query.CrashLoops(a, query.Window{From: start - second, To: start + 10000*second})
	var got []string
	for _, r := range loops {
		got = append(got, r.Name+" "+r.String())
	}
	if s := strings.Join(got, "; "); s != "python3 ended 40 times, every 4s: exit 3" {
		t.Errorf("%q", s)
	}
}

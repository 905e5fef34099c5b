//go:build linux && amd64

package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"tachograph/sample/darwin/darwintest"
)

// told is what replay tells of a process.
type told map[string]any

func (p told) number(t testing.TB, key string) float64 {
	t.Helper()
	n, ok := p[key].(json.Number)
	if !ok {
		return math.NaN()
	}
	f, err := n.Float64()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// processes asks for a table of processes, by pid and name.
func (s *session) processes(args ...string) map[string]told {
	s.t.Helper()
	list := make(map[string]told)
	for _, r := range s.rows(args...) {
		p, ok := r["process"].(map[string]any)
		if !ok {
			s.t.Fatalf("%v: %v", args, r)
		}
		list[fmt.Sprintf("%v %v", p["pid"], p["name"])] = p
	}
	return list
}

// moment is an instant of the scenario, as replay reads it.
func moment(seconds float64) string {
	return begun.Add(time.Duration(seconds * 1e9)).Format(time.RFC3339Nano)
}

// TestProcessLives records processes that begin, end, call exec, take over a
// pid and live unseen, and asks who was there when, and who used what.
func TestProcessLives(t *testing.T) {
	t.Parallel()
	s := machine(t, fmt.Sprintf("include %q\n%s", mac(t, "proc-lives.scn").scenario, beginning))
	s.config = "[classes]\nprocess = \"1s\"\n[process]\nargs = \"redacted\"\n[budget]\nmax_cpu = \"off\"\n"
	s.recordFrom(10, "42s", 7)

	for _, at := range []struct {
		seconds       float64
		there, absent []string
	}{
		{9.5, []string{"700 worker", "701 shell", "710 first", "740 left"}, []string{"710 second", "730 brief", "735 after"}},
		{15, []string{"700 worker", "701 shell", "710 second"}, []string{"710 first", "730 brief"}},
		{17.5, []string{"730 brief"}, []string{"735 after"}},
		{29, []string{"701 sorter", "710 second", "735 after"}, []string{"700 worker", "701 shell", "730 brief", "736 after"}},
		{38, []string{"710 second", "735 after", "736 after", "740 left"}, []string{"701 sorter"}},
	} {
		list := s.processes("ps", "--at", moment(at.seconds))
		for _, name := range at.there {
			if list[name] == nil {
				t.Errorf("%s is not in the table at %g s: %v", name, at.seconds, names(list))
			}
		}
		for _, name := range at.absent {
			if list[name] != nil {
				t.Errorf("%s is in the table at %g s", name, at.seconds)
			}
		}
	}
	worker := s.processes("ps", "700", "--at", moment(15))["700 worker"]
	for key, want := range map[string]float64{
		"cpu_percent": 15, "rss_kb": 400 * 1024, "vm_size_kb": 6 << 20, "footprint": 500 << 20, "read_bytes_per_sec": 1000, "write_bytes_per_sec": 2000, "ppid": 1,
	} {
		// Rates are over one second of the scenario, which is a tenth of one
		// here: what a busy machine is late by shows.
		near := 0.1
		if strings.HasSuffix(key, "_percent") || strings.HasSuffix(key, "_per_sec") {
			near = 0.3
		}
		if got := worker.number(t, key); math.IsNaN(got) || math.Abs(got-want) > near*want {
			t.Errorf("worker: %s is %v, want %v", key, worker[key], want)
		}
	}
	s.judgeTotals()
	s.judgeEnds()
}

func names(list map[string]told) []string {
	var all []string
	for name := range list {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// judgeTotals expects top to add up what counters gained to the very end of a
// process.
func (s *session) judgeTotals() {
	t := s.t
	t.Helper()
	got := s.values("proc.psinfo.utime", "proc.psinfo.stime", "proc.io.read_bytes")
	gained := func(metric, instance string) float64 {
		readings := got[darwintest.Series{Metric: metric, Instance: instance}]
		if len(readings) < 2 {
			t.Fatalf("%s[%s]: %v", metric, instance, readings)
		}
		return float64(number(t, readings[len(readings)-1]) - number(t, readings[0]))
	}
	const worker = "000700 worker"
	last := got[darwintest.Series{Metric: "proc.psinfo.utime", Instance: worker}]
	// It had used 5 s when the scenario began and used a tenth more, for 20 s.
	if final := last[len(last)-1]; final.value != "7000000000" {
		t.Errorf("the last value of the worker's time is %v", final)
	}
	top := s.processes("top", "-n", "0")["700 worker"]
	if cpu := (gained("proc.psinfo.utime", worker) + gained("proc.psinfo.stime", worker)) / 1e9; math.Abs(top.number(t, "cpu_seconds")-cpu) > 1e-6 {
		t.Errorf("top gives the worker %v s, the values %v", top["cpu_seconds"], cpu)
	}
	if read := gained("proc.io.read_bytes", worker); top.number(t, "read_bytes") != read {
		t.Errorf("top has the worker read %v bytes, the values %v", top["read_bytes"], read)
	}
}

// judgeEnds expects the ends of processes to be told as they were.
func (s *session) judgeEnds() {
	t := s.t
	t.Helper()
	type end struct{ how, at string }
	exits := make(map[string]end)
	for _, r := range s.rows("events", "--kind", "process*") {
		if labels, ok := r["labels"].(map[string]any); ok && r.text("kind") == "process exit" {
			exits[fmt.Sprintf("%v %v", labels["pid"], labels["name"])] = end{fmt.Sprint(labels["how"]), fmt.Sprintf("%.0f", r.at(t))}
		}
	}
	for name, want := range map[string]end{
		"700 worker": {"exit 1", "20"}, "701 sorter": {"signal 9", "32"}, "710 first": {"exit 0", "10"}, "730 brief": {"exit 0", "18"}, "740 left": {"exit 3", "11"},
	} {
		if got, ok := exits[name]; !ok || got.how != want.how || got.at != want.at {
			t.Errorf("end of %s: %v, want %v; all: %v", name, got, want, exits)
		}
	}
	history := s.replay([]string{s.dir()}, "ps", "701", "--from", moment(5), "--to", moment(40))
	for _, text := range []string{"shell", "sorter", "signal 9"} {
		if !strings.Contains(history, text) {
			t.Errorf("the history of 701 does not mention %q:\n%s", text, history)
		}
	}
	// Three a second are born unseen from 26 s until 34 s.
	unseen := s.values("proc.unseen")[darwintest.Series{Metric: "proc.unseen"}]
	if last := unseen[len(unseen)-1]; number(t, last) < 24 || number(t, last) > 25 {
		t.Errorf("%v processes were unseen, 24 were", last.value)
	}
}

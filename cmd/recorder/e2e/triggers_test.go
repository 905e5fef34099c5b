//go:build linux && amd64

package e2e

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"tachograph/sample/darwin/darwintest"
)

// incidents are a process that computes all the time and another that begins to a
// little later, memory that runs short, and a load that comes and goes.
const incidents = beginning + sampledApp + `
host { root yes; rate_limit no; loadavg step 1.5 27 9.5 36 1.5  saw 1.4 1.5 300  1.75 }
sysctl kern.memorystatus_vm_pressure_level step 1 14 2 32 1
process 700 { user_ns counter 5000000000 950000000 }
process 720 { name later; uid 501; start 18; user_ns counter -17100000000 950000000 }
`

// watching are triggers about them, with the default one for memory beside. What
// stands still is this machine, which runs other tests: no trigger is about that.
const watching = `
[classes]
process = "1s"
polled = "1s"
[budget]
max_cpu = "off"
max_memory = "off"
[[trigger]]
name = "busy"
when = "rate(proc.psinfo.utime) > 80%"
for = "4s"
stacks = { for = "3s", rate = 20, of = "process" }
cool_down = "10m"
[[trigger]]
name = "loaded"
when = "kernel.all.load[1 minute] > 8"
burst = { classes = ["fast"], for = "3s" }
[[trigger]]
name = "hang"
when = "off"
`

// What happens fires its trigger, once, and what the trigger asks for is in the
// archive beside the reason.
func TestTriggersFire(t *testing.T) {
	t.Parallel()
	s := laptop(t, incidents)
	s.config = watching
	s.recordFrom(4, "42s", 9)

	fired := make(map[string][]row)
	for _, e := range s.events("trigger") {
		name := e.label("trigger")
		fired[name] = append(fired[name], e)
	}
	for name, want := range map[string]struct {
		from, to float64
		text     []string
	}{
		"busy":                     {4, 17, []string{"busy: 000700 worker: rate(proc.psinfo.utime) > 80% for ", ", last 9", "; stacks are sampled for 3s"}},
		"memory pressure of macOS": {24, 27, []string{"kern.memorystatus_vm_pressure_level >= 2 for 1", ", last 2; stacks are sampled for 2s"}},
		"loaded":                   {27, 30, []string{"loaded: 1 minute: kernel.all.load[1 minute] > 8, last 9.5; fast every 100ms for 3s"}},
	} {
		if len(fired[name]) != 1 {
			t.Errorf("%s fired %d times: %v", name, len(fired[name]), fired[name])
			continue
		}
		e := fired[name][0]
		if at := e.at(t); at < want.from || at > want.to {
			t.Errorf("%s fired at %.1f s, between %g and %g it was to", name, at, want.from, want.to)
		}
		for _, part := range want.text {
			if !strings.Contains(e.text("text"), part) {
				t.Errorf("%s: %q does not say %q", name, e.text("text"), part)
			}
		}
		delete(fired, name)
	}
	if len(fired) > 0 {
		t.Errorf("others fired: %v", fired)
	}
	s.judgeTriggeredStacks()
	s.judgeBurst(27, 3)
}

// Where nothing happens nothing fires, and nothing is sampled or read more often.
func TestTriggersRest(t *testing.T) {
	t.Parallel()
	s := laptop(t, beginning+"clear process\nprocess 1 { name launchd; user_ns counter 91200000000 100000000 }\n"+sampledApp+`
host { root yes; rate_limit no; loadavg 1.5 1.5 1.5 }
sysctl kern.memorystatus_vm_pressure_level 1
process 700 { user_ns counter 5000000000 600000000 }
`)
	s.config = watching
	s.speed = pace(8)
	s.record("30s")
	for _, kind := range []string{"trigger", "stacks"} {
		if list := s.events(kind); len(list) > 0 {
			t.Errorf("%s: %v", kind, list)
		}
	}
	if n := s.calls()["thread_suspend"] + s.calls()["task_suspend2"] + s.calls()["stack_snapshot_with_config"]; n > 0 {
		t.Errorf("%d suspensions and stackshots", n)
	}
	if n := len(s.values("mem.pages.faults")[darwintest.Series{Metric: "mem.pages.faults"}]); n < 10 || n > 33 {
		t.Errorf("%d readings of a class that is read every second, in 30 s", n)
	}
}

// judgeTriggeredStacks expects one session of the process that was busy, and one
// of all while memory was short.
func (s *session) judgeTriggeredStacks() {
	t := s.t
	t.Helper()
	sessions := s.events("stacks")
	if len(sessions) != 2 || !strings.Contains(sessions[0].text("text"), "worker (pid 700)") || !strings.Contains(sessions[1].text("text"), "all processes") {
		t.Fatalf("sessions of sampling: %v", sessions)
	}
	first := []string{"--from", moment(0), "--to", moment(23)}
	folded := s.replay([]string{s.dir()}, append([]string{"stacks", "--format", "folded"}, first...)...)
	computes, collects, all := share(folded, "main;compute"), share(folded, "main;collect"), share(folded, "")
	if busy := computes + collects; busy < 20 || computes < busy*55/100 || computes > busy*85/100 {
		t.Errorf("it computes %d and collects %d times, of seven and three parts:\n%s", computes, collects, folded)
	}
	if of := share(folded, "worker"); of != all {
		t.Errorf("%d of %d samples are of others than the process:\n%s", all-of, all, folded)
	}
	folded = s.replay([]string{s.dir()}, "stacks", "--format", "folded", "--from", moment(23))
	for _, name := range []string{"worker", "guarded"} {
		if share(folded, name) < 2 {
			t.Errorf("of all processes there is no %s:\n%s", name, folded)
		}
	}
}

// judgeBurst expects that the fast class was read every tenth of a second from a
// moment on for so long, and every second otherwise.
func (s *session) judgeBurst(from, length float64) {
	t := s.t
	t.Helper()
	var dense []float64
	readings := s.values("mem.pages.faults")[darwintest.Series{Metric: "mem.pages.faults"}]
	for i := 1; i < len(readings); i++ {
		at, gap := since(readings[i].at), readings[i].at.Sub(readings[i-1].at)
		if gap > 700*time.Millisecond {
			continue
		}
		if at < from || at > from+length+4 {
			// The last reading is made when the recorder ends.
			if i < len(readings)-1 {
				t.Errorf("a reading at %.2f s, %v after the one before", at, gap)
			}
			continue
		}
		dense = append(dense, gap.Seconds())
	}
	slices.Sort(dense)
	if want := length * 10; len(dense) < int(want)/2 || len(dense) > int(want)+2 {
		t.Fatalf("%d readings in a burst of %g s", len(dense), length)
	}
	if usual := dense[len(dense)/2]; math.Abs(usual-0.1) > 0.03 {
		t.Errorf("the readings of a burst are %.3f s apart", usual)
	}
}

// label is a label of an event; empty where there is none.
func (r row) label(name string) string {
	labels, _ := r["labels"].(map[string]any)
	text, _ := labels[name].(string)
	return text
}

//go:build linux && amd64

package e2e

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"tachograph/sample/darwin/darwintest"
)

// events lists what the archives tell of a kind.
func (s *session) events(kind string) []row {
	s.t.Helper()
	var list []row
	for _, r := range s.rows("events") {
		if r.text("kind") == kind {
			list = append(list, r)
		}
	}
	return list
}

func (r row) at(t testing.TB) float64 {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, r.text("time"))
	if err != nil {
		t.Fatal(err)
	}
	return since(at)
}

// rates are the rates of one series, by the moment at which they end.
type rate struct {
	at, value float64
	absent    string
}

func (s *session) rates(metric, instance string) []rate {
	s.t.Helper()
	var list []rate
	args := []string{"rates", metric}
	if instance != "" {
		args = append(args, "--instance", instance)
	}
	for _, r := range s.rows(args...) {
		x := rate{at: r.at(s.t), absent: r.text("reason")}
		if r["rate"] != nil {
			x.absent = ""
			x.value, _ = strconv.ParseFloat(r.text("rate"), 64)
		}
		list = append(list, x)
	}
	return list
}

func number(t testing.TB, r reading) int64 {
	t.Helper()
	n, err := strconv.ParseInt(r.value, 10, 64)
	if err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	return n
}

// Calls that fail for a while make values absent, with the reason, never zero;
// a source that fails as a whole is told of once, and when it works again.
func TestCallsFail(t *testing.T) {
	t.Parallel()
	s := laptop(t, beginning+`
host { root yes; rate_limit no }
fail host_statistics64 5 from 45 until 75
fail sysctl:vm.swapusage EIO from 45 until 75
fail NET_RT_IFLIST2 EIO from 45 until 75
fail getfsstat EIO from 45 until 75
fail IOServiceGetMatchingServices 0xe00002bc from 45 until 75
`)
	s.config = everything
	// A minute without errors ends an error.
	s.recordFrom(30, "150s", 44)
	got := s.values("mem.freemem", "swap.length", "network.all.in.packets", "disk.all.read", "filesys.capacity", "kernel.all.load")
	for metric, why := range map[string]string{
		"mem.freemem": "host_statistics64: KERN_FAILURE (5)", "swap.length": "sysctl vm.swapusage: input/output error",
		"network.all.in.packets": "NET_RT_IFLIST2: input/output error", "disk.all.read": "IOServiceGetMatchingServices", "filesys.capacity": "getfsstat: input/output error",
		"kernel.all.load": "",
	} {
		present, absent := 0, 0
		for series, readings := range got {
			if series.Metric != metric {
				continue
			}
			for _, r := range readings {
				at := since(r.at)
				if during := at > 46 && at < 73; why != "" && during {
					if absent++; r.absent == "" || !strings.Contains(r.absent, why) {
						t.Errorf("%s = %q (%s) at %.1f s, want absent because of %q", metric, r.value, r.absent, at, why)
					}
				} else if at < 44 || at > 76 {
					if present++; r.absent != "" || r.value == "0" {
						t.Errorf("%s = %q (%s) at %.1f s", metric, r.value, r.absent, at)
					}
				}
			}
		}
		if present == 0 || absent == 0 && why != "" {
			t.Errorf("%s was present %d times, absent %d times", metric, present, absent)
		}
	}
	for _, source := range []string{"vmstat", "sysctl", "interface", "filesys", "disk"} {
		for _, kind := range []string{"error begin", "error end"} {
			n := 0
			for _, e := range s.events(kind) {
				if labels, _ := e["labels"].(map[string]any); labels["what"] == "source "+source {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%d times %s of source %s", n, kind, source)
			}
		}
	}
}

// Interfaces, disks and mounts come and go; what they counted stays in totals.
func TestThingsComeAndGo(t *testing.T) {
	t.Parallel()
	s := laptop(t, beginning+`
host { root yes }
interface en7 { ibytes counter 1000000 50000; ipackets counter 500 100; start 6; end 14 }
mount "/Volumes/stick" { f_blocks 1000; f_bfree 500; f_bavail 500; f_mntfromname "/dev/disk9s1"; start 6; end 14 }
ioreg {
  at "J413AP" {
    node "stickdriver" class IOBlockStorageDriver {
      start 6; end 14
      prop "Statistics" dict { "Operations (Read)" int 777; "Bytes (Read)" int 4096000; "Operations (Write)" int 0; "Bytes (Write)" int 0 }
      node "Stick Media" class IOMedia { prop "BSD Name" string "disk9"; prop "Whole" bool yes; prop "Preferred Block Size" int 512 }
    }
  }
}
`)
	s.config = everything
	s.recordFrom(6, "24s", 5)
	got := s.values("network.interface.in.bytes", "disk.dev.read", "filesys.capacity", "network.all.in.bytes", "disk.all.read")
	for _, series := range []darwintest.Series{
		{Metric: "network.interface.in.bytes", Instance: "en7"}, {Metric: "disk.dev.read", Instance: "disk9"}, {Metric: "filesys.capacity", Instance: "/Volumes/stick"},
	} {
		if len(got[series]) == 0 {
			t.Errorf("%v was never recorded", series)
		}
		for _, r := range got[series] {
			if at := since(r.at); at < 5.9 || at > 14.1 {
				t.Errorf("%v is recorded at %.1f s", series, at)
			}
		}
	}
	for _, total := range []string{"network.all.in.bytes", "disk.all.read"} {
		readings := got[darwintest.Series{Metric: total}]
		for i := 1; i < len(readings); i++ {
			if number(t, readings[i]) < number(t, readings[i-1]) {
				t.Errorf("%s fell from %v to %v", total, readings[i-1], readings[i])
			}
		}
	}
	seen := 0
	for _, r := range s.rates("network.interface.in.bytes", "en7") {
		if r.absent == "" {
			if seen++; math.Abs(r.value-50000) > 5000 {
				t.Errorf("en7 received %.0f bytes a second at %.1f s, want 50000", r.value, r.at)
			}
		}
	}
	if seen < 3 {
		t.Errorf("en7 has %d rates", seen)
	}
	told := strings.Join(strings.Fields(fmt.Sprint(s.events("device"), s.events("mount"))), " ")
	for _, text := range []string{"interface en7 appeared", "interface en7 went away", "disk disk9 appeared", "disk disk9 went away",
		"/dev/disk9s1 was mounted on /Volumes/stick", "/dev/disk9s1 was unmounted from /Volumes/stick"} {
		if strings.Count(told, text) != 1 {
			t.Errorf("%d events say %q", strings.Count(told, text), text)
		}
	}
}

// Counters that wrap keep their rate; those that are reset gain what they show.
func TestWrapsAndResets(t *testing.T) {
	t.Parallel()
	s := laptop(t, beginning+`
host { root yes; rate_limit no; cpu all user counter 4294966500 100 wrap32 system 7 idle 8 }
stats net.inet.tcp.stats {
  tcps_rcvtotal counter 4294966296 100 wrap32
  tcps_sndtotal counter 1000000 200 reset 10.5
}
interface en0 { ibytes counter 4294900000 20000 reset 10.5; ipackets counter 4294966296 100 }
`)
	s.config = everything
	s.recordFrom(6, "20s", 6)
	for metric, want := range map[string]float64{
		"network.tcp.insegs": 100, "network.tcp.outsegs": 200, "network.interface.in.bytes": 20000, "network.interface.in.packets": 100,
		// 8 cores, each a second a second.
		"kernel.all.cpu.user": 8, "kernel.percpu.cpu.user": 1,
	} {
		instance := ""
		if strings.HasPrefix(metric, "network.interface") {
			instance = "en0"
		} else if strings.HasPrefix(metric, "kernel.percpu") {
			instance = "cpu3"
		}
		n, before := 0, 0.0
		for _, r := range s.rates(metric, instance) {
			// The last reading is made when the recorder ends: over a part of an
			// interval a busy machine's lateness weighs many times.
			brief := r.at-before < 0.9
			before = r.at
			if r.absent != "" || brief {
				continue
			}
			n++
			reset := strings.HasSuffix(metric, "outsegs") || strings.HasSuffix(metric, "bytes")
			if reset && r.at > 10.4 && r.at < 11.8 {
				// Between the last reading and the reset it gained what nobody saw;
				// the intervals beside that one have the usual rate, as exact as
				// the clocks of a busy machine.
				if r.value < 0 || r.value > 1.15*want {
					t.Errorf("%s gained %.1f a second over its reset", metric, r.value)
				}
			} else if math.Abs(r.value-want) > 0.15*want {
				t.Errorf("%s gained %.2f a second at %.1f s, want %v", metric, r.value, r.at, want)
			}
		}
		if n < 10 {
			t.Errorf("%s has %d rates", metric, n)
		}
	}
}

// A sleep is one sleep and one wake, and no rate is spread over it.
func TestSleepAndWake(t *testing.T) {
	t.Parallel()
	s := laptop(t, beginning+"host { root yes; rate_limit no }\nsleep at 8.5 for 32400\nclock step at 14.5 by -100")
	s.recordFrom(6, "20s", 7)
	asleep, awake := s.events("sleep"), s.events("wake")
	if len(asleep) != 1 || len(awake) != 1 {
		t.Fatalf("%d sleeps, %d wakes", len(asleep), len(awake))
	}
	if labels := awake[0]["labels"].(map[string]any); !strings.HasPrefix(labels["seconds"].(string), "32400") && !strings.HasPrefix(labels["seconds"].(string), "32399.9") {
		t.Errorf("slept for %v s", labels["seconds"])
	}
	from, to := asleep[0].at(t), awake[0].at(t)
	if math.Abs(from-8.5) > 0.1 || math.Abs(to-from-32400) > 0.1 {
		t.Errorf("asleep from %.2f to %.2f s", from, to)
	}
	if steps := s.events("clock step"); len(steps) != 1 || !strings.Contains(steps[0].text("text"), "back by 1m40s") {
		t.Errorf("steps of the clock: %v", steps)
	}
	for _, metric := range []string{"mem.pages.faults", "kernel.all.cpu.idle"} {
		want := map[string]float64{"mem.pages.faults": 11800, "kernel.all.cpu.idle": (4*84 + 83 + 90 + 95 + 96) / 100.0}[metric]
		// A busy machine may stop the recorder between the clock and the kernel: what one
		// second then has too much, the next has too little.
		first, over := true, 0.0
		for _, r := range s.rates(metric, "") {
			if r.absent != "" {
				over = 0
			} else if over += r.value - want; math.Abs(over) > 0.3*want {
				t.Errorf("%s gained %.2f a second at %.1f s, want %v, and %.2f more or less by then", metric, r.value, r.at, want, over)
			}
			if r.at > to && first {
				if first = false; r.absent == "" {
					t.Errorf("%s has a rate over the night: %.2f", metric, r.value)
				}
			}
		}
	}
	// What follows the night is one tick, and then one a second; the clock is set
	// back by 100 s a little later.
	late := 0
	for _, r := range s.values("mem.pages.faults")[darwintest.Series{Metric: "mem.pages.faults"}] {
		if at := since(r.at); at > to && at < to+1.5 {
			late++
		}
		if at := since(r.at); at > from+0.1 && at < to-150 {
			t.Errorf("a tick at %.1f s, asleep", at)
		}
	}
	if late < 1 || late > 3 {
		t.Errorf("%d ticks in the moment after waking", late)
	}
}

// An ordinary user's recorder follows the switch of the TCP statistics without
// a restart, and records what it may see of others.
func TestOrdinaryUser(t *testing.T) {
	t.Parallel()
	s := laptop(t, beginning+`
host { root no }
self { as_uid 501 }
sysctl net.inet.tcp.disable_access_to_stats step 1 8.5 0 14.5 1
`)
	s.config = everything
	s.recordFrom(6, "20s", 7)
	got := s.values("network.tcp.insegs", "network.tcpconn.established", "proc.memory.rss", "proc.id.uid")
	readings := got[darwintest.Series{Metric: "network.tcp.insegs"}]
	if len(readings) < 15 {
		t.Errorf("%d readings", len(readings))
	}
	for _, r := range readings {
		switch at := since(r.at); {
		case at > 8.6 && at < 14.2 && r.absent != "":
			t.Errorf("absent at %.1f s, although the switch is off: %s", at, r.absent)
		case (at < 8.2 || at > 14.8) && !strings.HasPrefix(r.absent, "withheld by the kernel"):
			t.Errorf("%q (%s) at %.1f s, although the switch is on", r.value, r.absent, at)
		}
	}
	for _, r := range got[darwintest.Series{Metric: "network.tcpconn.established"}] {
		if r.absent != "" {
			t.Errorf("the states of connections are absent: %s", r.absent)
		}
	}
	events := s.events("tcp statistics gate")
	if len(events) != 3 || !strings.Contains(fmt.Sprint(events[0]), "sudo sysctl -w net.inet.tcp.disable_access_to_stats=0") {
		t.Errorf("events of the gate: %v", events)
	}
	mine, others := got[darwintest.Series{Metric: "proc.memory.rss", Instance: "000455 Finder"}], got[darwintest.Series{Metric: "proc.memory.rss", Instance: "000001 launchd"}]
	if len(mine) == 0 || mine[0].value != strconv.Itoa(98000000/1024) {
		t.Errorf("the user's own process: %v", mine)
	}
	if len(others) == 0 || others[0].absent != "permission denied" {
		t.Errorf("somebody else's process: %v", others)
	}
	if uid := got[darwintest.Series{Metric: "proc.id.uid", Instance: "000001 launchd"}]; len(uid) == 0 || uid[0].value != "0" {
		t.Errorf("what everybody may know: %v", uid)
	}
}

// An hour of recording, or five minutes of it, leaves nothing behind, and costs
// so many calls.
func TestNothingIsLeftBehind(t *testing.T) {
	t.Parallel()
	s := laptop(t, "host { root yes }")
	length := 5 * time.Minute
	if long() {
		length = time.Hour
	}
	s.speed = pace(200)
	s.record(length.String())
	sum, top := 0, ""
	for name, n := range s.calls() {
		if intoKernel(name) {
			sum += n
		}
	}
	for _, name := range []string{"sysctl", "proc_pidinfo", "proc_pid_rusage", "host_statistics64", "IOConnectCallStructMethod"} {
		top += fmt.Sprintf(", %s %.1f", name, float64(s.calls()[name])/length.Seconds())
	}
	t.Logf("%v: %.1f calls into the kernel a second%s", length, float64(sum)/length.Seconds(), top)
}

// intoKernel tells the calls that ask the kernel for something from those of
// libraries, and of Go itself.
func intoKernel(name string) bool {
	for _, prefix := range []string{"sysctl", "host_", "processor_set_", "proc_", "getfsstat", "getutxent", "notify_", "IOService", "IOIterator", "IORegistry", "IOConnect", "IOPS"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

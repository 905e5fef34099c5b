package query_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

// An hour of a machine that slept from the 20th to the 40th minute.
const slept = `
start 2026-11-20T03:00:00Z
host h
interval fast 10s
interval process 30s
metric kernel.all.load f32 instant load fast
metric mem.physmem u64 instant - fast Kbyte
metric mem.util.available u64 instant - fast Kbyte
metric proc.psinfo.utime u64 counter process process nanosec
metric proc.memory.rss u64 instant process process Kbyte
metric proc.io.read_bytes u64 counter process process byte
instance load 1 1_minute
instance process 1/0 000001 init pid=1
instance process 7/0 000007 busy pid=7
boot b1 -1h
every 10s 0s 20m fast
  kernel.all.load[1] level=1 drift=0.001
  mem.physmem 1000
  mem.util.available 400
every 30s 0s 20m process
  proc.psinfo.utime[1/0] rate=1000
  proc.psinfo.utime[7/0] rate=500000000
  proc.memory.rss[1/0] 2000
  proc.memory.rss[7/0] 1000
  proc.io.read_bytes[1/0] 0
  proc.io.read_bytes[7/0] 0
event 15m start | recording | why=test
event 1201s sleep | asleep |
event 40m wake | awake | seconds=1190
every 10s 40m 60m fast
  kernel.all.load[1] level=3
  mem.physmem 1000
  mem.util.available 400
`

func TestMoment(t *testing.T) {
	parts, err := querytest.Parse(strings.NewReader(slept))
	if err != nil {
		t.Fatal(err)
	}
	a := querytest.New(parts...)
	begin := a.Archives()[0].From
	for _, c := range []struct {
		name   string
		at     time.Duration // since the begin
		last   time.Duration // of the last sample; -1 where there is none
		asleep bool
		gauges string // each with what it shows
		events string
		procs  int
		cpu    string // pids with most of it
		memory string
	}{
		{"while all is read", 10 * time.Minute, 10 * time.Minute, false, "load 1.6, memory 600 of 1000", "start", 2, "7 1", "1 7"},
		{"between two samples", 12*time.Minute + 5*time.Second, 12 * time.Minute, false, "load 1.72, memory 600 of 1000", "start, sleep", 2, "7 1", "1 7"},
		{"asleep for a little", 25 * time.Minute, 20 * time.Minute, true, "load 2.2, memory 600 of 1000", "start, sleep", 2, "7 1", "1 7"},
		{"asleep for long", 35 * time.Minute, 20 * time.Minute, true, "load 2.2, memory 600 of 1000", "wake", 2, "7 1", "1 7"},
		{"before all", -5 * time.Minute, -1, false, "", "", 0, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := begin + int64(c.at)
			m, err := query.MomentAt(a, a.Hosts()[0], at, 10*time.Minute, 8)
			if err != nil || m == nil {
				t.Fatalf("%v %v", m, err)
			}
			last := begin + int64(c.last)
			if c.last < 0 {
				last = 0
			}
			if m.Host.Name != "h" || m.At != at || m.Before != last {
				t.Errorf("%s at %d, last sample %d, want %d at %d", m.Host.Name, m.At, m.Before, last, at)
			}
			if (m.Break != nil) != c.asleep {
				t.Errorf("it lies in %v", m.Break)
			}
			var gauges, events []string
			for _, g := range m.Gauges {
				text := fmt.Sprintf("%s %.6v", g.Name, g.Last)
				if g.Of == g.Of {
					text += fmt.Sprintf(" of %.7v", g.Of)
				}
				gauges = append(gauges, text)
				if len(g.Points) != 8 {
					t.Errorf("%s has %d points", g.Name, len(g.Points))
				}
			}
			for _, e := range m.Events {
				events = append(events, string(e.Kind))
			}
			if got := strings.Join(gauges, ", "); got != c.gauges {
				t.Errorf("gauges %s, want %s", got, c.gauges)
			}
			if got := strings.Join(events, ", "); got != c.events {
				t.Errorf("events %s, want %s", got, c.events)
			}
			if got := pids(m.Top(query.ByCPU, 4)); len(m.Processes) != c.procs || got != c.cpu {
				t.Errorf("%d processes, most CPU: %q, want %d, %q", len(m.Processes), got, c.procs, c.cpu)
			}
			if got := pids(m.Top(query.ByMemory, 4)); got != c.memory {
				t.Errorf("most memory: %q, want %q", got, c.memory)
			}
			if got := m.Top(query.ByRead, 4); len(got) > 0 {
				t.Errorf("nothing was read, but %s", pids(got))
			}
			if n := len(m.Top(query.ByMemory, 1)); n > 1 {
				t.Errorf("the top one are %d", n)
			}
		})
	}
	m, err := query.MomentAt(a, a.Hosts()[0], begin+71*60*second, 10*time.Minute, 8)
	if err != nil || m.State != query.Over || len(m.Gauges)+len(m.Processes)+len(m.Events) > 0 {
		t.Errorf("eleven minutes after the end there is %v, %v", m, err)
	}
	other := metric.Host{ID: "other"}
	if m, err := query.MomentAt(a, other, begin, 10*time.Minute, 8); m != nil || err != nil {
		t.Errorf("of another host there is %v, %v", m, err)
	}
}

func pids(list []*query.Process) string {
	var out []string
	for _, p := range list {
		out = append(out, fmt.Sprint(p.PID))
	}
	return strings.Join(out, " ")
}

func TestOverview(t *testing.T) {
	parts, err := querytest.Parse(strings.NewReader(slept))
	if err != nil {
		t.Fatal(err)
	}
	a := querytest.New(parts...)
	begin, end := a.Archives()[0].From, a.Archives()[0].To
	const minute = 60 * second
	for _, c := range []struct {
		name     string
		w        query.Window
		from, to int64
		breaks   string
		points   int // of the 40 that are asked for
		cpu      string
	}{
		{"all", query.Window{}, begin, end, "sleep", 40, "busy init"},
		{"a window", query.Window{From: begin + 5*minute, To: begin + 10*minute}, begin + 5*minute, begin + 10*minute, "", 30, "busy init"},
		{"less than two samples", query.Window{From: begin + 5*minute, To: begin + 5*minute + 5*second}, begin + 5*minute, begin + 5*minute + 5*second, "", 1, ""},
		{"beside what is recorded", query.Window{From: begin - 9*minute, To: begin + 9*minute}, begin, begin + 9*minute, "", 40, "busy init"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, err := query.OverviewOf(a, a.Hosts()[0].ID, c.w, 40, 8)
			if err != nil {
				t.Fatal(err)
			}
			if o.Host.Name != "h" || len(o.Archives) != 1 || o.From != c.from || o.To != c.to {
				t.Errorf("%s, %d archives, %d to %d", o.Host.Name, len(o.Archives), o.From, o.To)
			}
			var breaks, names []string
			for _, b := range o.Breaks {
				breaks = append(breaks, string(b.Kind))
			}
			for _, c := range o.CPU.Consumers {
				names = append(names, c.Name)
			}
			if got := strings.Join(breaks, " "); got != c.breaks {
				t.Errorf("breaks %q, want %q", got, c.breaks)
			}
			if len(o.Gauges) == 0 || len(o.Gauges[0].Points) != c.points {
				t.Errorf("gauges with %d points, want %d", len(o.Gauges[0].Points), c.points)
			}
			if got := strings.Join(names, " "); got != c.cpu {
				t.Errorf("most CPU: %q, want %q", got, c.cpu)
			}
		})
	}
	if o, err := query.OverviewOf(a, a.Hosts()[0].ID, query.Window{From: end + 1}, 40, 8); o != nil || err != nil {
		t.Errorf("nothing is recorded there, but %v %v", o, err)
	}
}

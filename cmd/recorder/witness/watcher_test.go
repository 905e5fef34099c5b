package witness

import (
	"strings"
	"testing"
	"time"

	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// recorder shows a watcher the ticks that a recorder reads of two interfaces.
type recorder struct {
	*machine
	w      *Watcher
	events []metric.Event
	moved  float64 // seconds of traffic so far
	rate   float64 // packets a second of en0
	stands bool    // the bytes of en0 do not move
	bytes  float64
}

func newRecorder(t *testing.T) *recorder {
	r := &recorder{machine: newMachine(t, catalog.Darwin), rate: 100}
	r.w = NewWatcher(r.chosen(catalog.Darwin, "interface: packets, bytes in"), func() metric.Stamp { return r.at })
	return r
}

// run records for a while, a tick every second.
func (r *recorder) run(d time.Duration) {
	for range int(d / time.Second) {
		r.moved++
		if !r.stands {
			r.bytes += r.rate * 500
		}
		r.set("network.interface.in.packets", "en0", r.moved*r.rate)
		r.set("network.interface.in.bytes", "en0", r.bytes)
		r.set("network.interface.in.packets", "lo0", r.moved*10)
		r.set("network.interface.in.bytes", "lo0", r.moved*1000)
		tick := &metric.Tick{Class: metric.Fast, At: r.at}
		for name := range r.values {
			tick.Blocks = append(tick.Blocks, r.block(name, 0))
		}
		r.pass(time.Millisecond)
		if judge := r.w.Look(tick); judge != nil {
			r.events = append(r.events, judge()...)
		}
		r.pass(time.Second - time.Millisecond)
	}
}

func (r *recorder) told() string {
	var all []string
	for _, e := range r.events {
		all = append(all, string(e.Kind)+" "+e.Key)
	}
	r.events = nil
	return strings.Join(all, ", ")
}

// What stands is told once, after three checks that follow each other, and once more
// when it is over; an archive that begins meanwhile is told as well.
func TestWatcher(t *testing.T) {
	r := newRecorder(t)
	r.run(2 * time.Hour)
	if got := r.told(); got != "" {
		t.Fatalf("of an ordinary machine: %s", got)
	}
	r.stands = true
	from := r.at
	r.run(time.Hour + 10*time.Minute)
	if len(r.events) == 0 {
		t.Fatal("nothing was told of bytes that stand")
	}
	e := r.events[0]
	since, err := time.Parse(time.RFC3339Nano, e.Label("from"))
	if err != nil || since.Before(from.Time()) || e.Indom != "interface" || !strings.Contains(e.Label("metrics"), "network.interface.in.bytes") {
		t.Errorf("event %+v", e)
	}
	if got := r.told(); got != "distrust begin en0" {
		t.Errorf("told %s", got)
	}
	if list := r.w.Standing(); len(list) != 1 || list[0].Text != e.Text || list[0].Label("from") != e.Label("from") {
		t.Errorf("standing %+v", list)
	}
	// Nothing is received: that says nothing of the driver.
	r.rate = 0
	r.run(3 * time.Hour)
	if got := r.told(); got != "" {
		t.Errorf("in a quiet hour: %s", got)
	}
	r.rate, r.stands = 200, false
	r.run(3 * time.Hour)
	if got := r.told(); got != "distrust end en0" {
		t.Errorf("when it counts again: %s", got)
	}
	if list := r.w.Standing(); len(list) != 0 {
		t.Errorf("standing %+v", list)
	}
}

// A disagreement that is gone in the next check is not told, and what was read before a
// look began does not count.
func TestWatcherIsSure(t *testing.T) {
	r := newRecorder(t)
	for range 5 {
		// The first check of the hour sees them stand, the second does not.
		for r.w.check == nil {
			r.run(time.Second)
		}
		r.stands = true
		for r.w.check != nil {
			r.run(time.Second)
		}
		r.stands = false
		r.run(30 * time.Minute)
	}
	if got := r.told(); got != "" {
		t.Errorf("told %s", got)
	}
	old := r.at
	for r.w.check == nil {
		r.run(time.Second)
	}
	c := r.w.check
	before := len(c.waits)
	late := r.block("network.interface.in.bytes", 0)
	late.At = old
	c.waits = map[string]bool{"network.interface.in.bytes": true}
	c.See(late)
	if c.Complete() {
		t.Errorf("a block that was read before the look began ended it (%d were waited for)", before)
	}
}

// A machine that slept during a check is not judged.
func TestWatcherSleeps(t *testing.T) {
	r := newRecorder(t)
	r.stands = true
	c := r.w.set.Begin(r.at)
	r.run(time.Second)
	r.at.Cont += int64(time.Hour)
	for c.Next(r.at) {
	}
	if got := words(c.Verdicts()); got != "interface: packets, bytes in: cannot be compared: the machine slept meanwhile" {
		t.Errorf("got %s", got)
	}
}

// BenchmarkHour is what an hour of ticks and its check cost in a recorder of so many
// processes, on top of what reads them.
func BenchmarkHour(b *testing.B) {
	for _, n := range []int{300, 20_000} {
		b.Run(map[int]string{300: "processes=300", 20_000: "processes=20000"}[n], func(b *testing.B) {
			set := Compile(For(catalog.Linux), catalog.For(catalog.Linux))
			at := metric.Stamp{Wall: 1e18, Awake: 1e12, Cont: 1e12}
			w := NewWatcher(set, func() metric.Stamp { return at })
			ticks := ticksOf(n)
			b.ReportAllocs()
			for b.Loop() {
				for second := range 3600 {
					at.Wall, at.Awake, at.Cont = at.Wall+1e9, at.Awake+1e9, at.Cont+1e9
					for _, t := range ticks {
						if every := map[metric.Class]int{metric.Fast: 1, metric.Process: 5, metric.Polled: 10, metric.Static: 3600}[t.Class]; every == 0 || second%every != 0 {
							continue
						}
						t.At = at
						for _, block := range t.Blocks {
							block.At = at
						}
						if judge := w.Look(t); judge != nil {
							judge()
						}
					}
				}
			}
		})
	}
}

// ticksOf are a tick of each class, with all metrics of Linux.
func ticksOf(processes int) []*metric.Tick {
	groups := make(map[metric.Class]map[string]*metric.Group)
	for _, d := range catalog.For(catalog.Linux) {
		if d.Unsupported != "" || d.Formula != "" || d.Type == metric.String {
			continue
		}
		if groups[d.Class] == nil {
			groups[d.Class] = make(map[string]*metric.Group)
		}
		g := groups[d.Class][d.Indom]
		if g == nil {
			g = &metric.Group{Name: d.Indom, Indom: d.Indom}
			groups[d.Class][d.Indom] = g
		}
		g.Metrics = append(g.Metrics, d)
	}
	var ticks []*metric.Tick
	for class, list := range groups {
		t := &metric.Tick{Class: class}
		for indom, g := range list {
			rows := 4
			switch indom {
			case metric.NoIndom:
				rows = 1
			case "process":
				rows = processes
			}
			b := &metric.Block{Group: g, Cols: make([]metric.Column, len(g.Metrics))}
			for i := range rows {
				var in *metric.Instance
				if indom != metric.NoIndom {
					key := string(rune('a'+i%26)) + time.Duration(i).String()
					in = &metric.Instance{ID: uint64(i + 1), Key: key, Name: key}
				}
				b.Rows = append(b.Rows, in)
				for c := range b.Cols {
					b.Cols[c].Bits = append(b.Cols[c].Bits, 1)
				}
			}
			t.Blocks = append(t.Blocks, b)
		}
		ticks = append(ticks, t)
	}
	return ticks
}

package engine

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/sample/metric"
)

// ahead lets a plan keep some classes in memory, and records the times of late ticks by
// class.
func (w *world) ahead(opt *Options, every, long time.Duration, classes ...metric.Class) *lateTicks {
	l := new(lateTicks)
	for _, c := range classes {
		opt.Plan.Before[c] = Before{Every: every, For: long}
	}
	opt.Late = func(t *metric.Tick) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.at[t.Class] = append(l.at[t.Class], time.Duration(t.At.Awake-bootedBefore))
		return nil
	}
	return l
}

type lateTicks struct {
	mu sync.Mutex
	at [metric.NumClasses][]time.Duration
}

// The seconds before a burst are recorded with it, once, at the burst's interval. The ticks
// of the usual interval stay on their grid, as if nothing were kept in memory.
func TestTheSecondsBeforeABurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		opt := w.options(defaultPlan(), counting("a", nil, metric.Fast, metric.Polled))
		late := w.ahead(&opt, 100*time.Millisecond, 10*time.Second, metric.Fast, metric.Polled)
		e, stop := w.run(opt)
		time.Sleep(60*time.Second + 250*time.Millisecond)
		for _, c := range []metric.Class{metric.Fast, metric.Polled} {
			if n := len(late.at[c]); n > 0 {
				t.Errorf("%s: %d ticks before anything fired", c, n)
			}
		}
		burst := Burst{Classes: []metric.Class{metric.Fast, metric.Polled}, Every: 100 * time.Millisecond, For: 5 * time.Second, Before: 10 * time.Second}
		if err := e.Burst(burst); err != nil {
			t.Fatal(err)
		}
		time.Sleep(60 * time.Second)
		stop()
		for _, c := range []struct {
			class metric.Class
			group string
			usual time.Duration
			phase time.Duration
		}{{metric.Fast, "a.fast", time.Second, 0}, {metric.Polled, "a.polled", 10 * time.Second, 350 * time.Millisecond}} {
			ticks := w.sink.of(c.class, c.group)
			all := slices.Clone(late.at[c.class])
			if !slices.IsSorted(all) {
				t.Errorf("%s: not in their order: %v", c.class, all)
			}
			for _, k := range ticks {
				at := time.Duration(k.at.Awake - bootedBefore)
				if slices.Contains(all, at) {
					t.Errorf("%s: the tick at %v is recorded twice", c.class, at)
				}
				all = append(all, at)
				if at < 60*time.Second && at%c.usual != c.phase {
					t.Errorf("%s: a tick at %v before the burst", c.class, at)
				}
			}
			slices.Sort(all)
			var dense []time.Duration
			for _, at := range all {
				if at > 50*time.Second+250*time.Millisecond && at < 65*time.Second+250*time.Millisecond {
					dense = append(dense, at)
				}
			}
			if len(dense) < 147 || len(dense) > 152 {
				t.Errorf("%s: %d ticks in the 10 s before a burst and its 5 s", c.class, len(dense))
			}
			for i := 1; i < len(dense); i++ {
				if d := dense[i] - dense[i-1]; d > 200*time.Millisecond {
					t.Errorf("%s: %v without a tick before %v", c.class, d, dense[i])
				}
			}
			for _, d := range spacing(w, ticks, 0, 60*time.Second) {
				if d != c.usual {
					t.Errorf("%s: %v between two ticks before the burst", c.class, d)
				}
			}
			after := spacing(w, ticks, 76*time.Second, 120*time.Second)
			for _, d := range after {
				if d != c.usual {
					t.Errorf("%s: %v between two ticks after the burst", c.class, d)
				}
			}
			if len(after) < 3 {
				t.Errorf("%s: %d ticks after the burst", c.class, len(after))
			}
		}
		for _, ev := range w.sink.kinds(metric.EventOverrun, metric.EventGap, metric.EventBudget) {
			t.Errorf("%s: %s", ev.Kind, ev.Text)
		}
	})
}

// If the machine stops, only ticks that would have been recorded count as missed, not those
// that are kept in memory.
func TestReadingAheadMissesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		opt := w.options(defaultPlan(), counting("a", nil, metric.Fast))
		w.ahead(&opt, 100*time.Millisecond, 10*time.Second, metric.Fast)
		_, stop := w.run(opt)
		time.Sleep(20*time.Second + 450*time.Millisecond)
		w.stall.Add(int64(2 * time.Second))
		time.Sleep(20 * time.Second)
		stop()
		for _, ev := range w.sink.kinds(metric.EventOverrun, metric.EventGap) {
			if n := ev.Label("fast"); n != "" && n != "1" && n != "2" {
				t.Errorf("missed %s ticks of a second in two seconds: %s", n, ev.Text)
			}
		}
		for _, d := range spacing(w, w.sink.of(metric.Fast, "a.fast"), 24*time.Second, 40*time.Second) {
			if d != time.Second {
				t.Errorf("%v between two ticks after a stop", d)
			}
		}
	})
}

// The cost of the seconds before a trigger is bounded like that of a burst: the budget ends
// reading ahead and an event says so, but no class is read less often for it.
func TestReadingAheadStaysInTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		dear := counting("dear", func() error { w.cpu.Add(int64(10 * time.Millisecond)); return nil }, metric.Fast)
		opt := w.options(defaultPlan(), dear) // 1 % of a core once a second, 10 % ahead
		opt.Plan.MaxCPU = 0.03
		w.ahead(&opt, 100*time.Millisecond, 10*time.Second, metric.Fast)
		_, stop := w.run(opt)
		time.Sleep(3 * time.Hour)
		used := time.Duration(w.cpu.Load())
		stop()
		if most := time.Duration(0.03*float64(3*time.Hour)) + 20*time.Second; used > most || used < most/2 {
			t.Errorf("three hours took %v, want not over %v", used, most)
		}
		budget := w.sink.kinds(metric.EventBudget)
		for _, ev := range budget {
			if !strings.Contains(ev.Text, "seconds before a trigger") {
				t.Errorf("told: %s", ev.Text)
			}
		}
		if n := len(budget); n == 0 || n > 30 {
			t.Errorf("%d events of the budget in three hours", n)
		}
		for _, d := range spacing(w, w.sink.of(metric.Fast, "dear.fast"), 0, 3*time.Hour) {
			if d != time.Second {
				t.Errorf("%v between two ticks", d)
			}
		}
	})
}

// A ring holds a limited time and a limited number of ticks, and a tick in it does not
// change.
func TestRing(t *testing.T) {
	g := &metric.Group{Name: "g", Indom: "process", Metrics: []*metric.Desc{{Name: "a", Type: metric.U64}, {Name: "b", Type: metric.U64}}}
	in := &metric.Instance{ID: 1, Key: "1", Name: "before"}
	tick := func(n, rows int) *metric.Tick {
		b := &metric.Block{Group: g, Cols: make([]metric.Column, 2)}
		for i := range rows {
			row := in
			if i > 0 {
				row = &metric.Instance{ID: uint64(i + 1), Key: fmt.Sprint(i + 1)}
			}
			b.Rows = append(b.Rows, row)
			b.Cols[0].Bits = append(b.Cols[0].Bits, uint64(n))
			b.Cols[1].Bits = append(b.Cols[1].Bits, 7)
		}
		return &metric.Tick{Class: metric.Process, At: metric.Stamp{Awake: int64(n) * 1e9}, Blocks: []*metric.Block{b}}
	}
	var r ring
	for n := range 100 {
		k := tick(n, 3)
		r.keep(k, 10*time.Second)
		k.Blocks[0].Cols[0].Bits[0] = 1 << 40 // the reader fills the block again
		if n == 95 {
			in.Name, in.Rev = "after", 1
		}
	}
	got := r.take(92e9)
	if len(got) != 8 || got[0].At.Awake != 92e9 || r.size != 0 || len(r.take(0)) != 0 {
		t.Fatalf("%d ticks, %d bytes left", len(got), r.size)
	}
	for i, k := range got {
		name := "before"
		if 92+i > 95 {
			name = "after"
		}
		if b := k.Blocks[0]; b.Cols[0].Bits[0] != uint64(92+i) || b.Rows[0].Name != name {
			t.Errorf("tick %d holds %d of %q", 92+i, b.Cols[0].Bits[0], b.Rows[0].Name)
		}
	}
	if &got[0].Blocks[0].Cols[1].Bits[0] != &got[1].Blocks[0].Cols[1].Bits[0] {
		t.Error("what stands still is kept twice")
	}
	for n := range 100 {
		r.keep(tick(n, 20000), time.Hour)
		if r.size > ringMemory {
			t.Fatalf("%d bytes", r.size)
		}
	}
	if n := len(r.take(0)); n == 0 || n > 60 {
		t.Errorf("%d large ticks are kept", n)
	}
}

package engine

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/sample/metric"
)

// spacing returns the distances between ticks in a span of the test.
func spacing(w *world, ticks []keptTick, from, to time.Duration) (out []time.Duration) {
	last := int64(-1)
	for _, t := range ticks {
		at := time.Duration(t.at.Awake - bootedBefore)
		if at < from || at > to {
			continue
		}
		if last >= 0 {
			out = append(out, at-time.Duration(last))
		}
		last = int64(at)
	}
	return out
}

func TestABurstReadsMoreOftenAndGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		plan := defaultPlan()
		e, stop := w.run(w.options(plan, counting("a", nil, metric.Fast, metric.Polled, metric.Process)))
		time.Sleep(60*time.Second + 300*time.Millisecond)
		if err := e.Burst(Burst{Classes: []metric.Class{metric.Fast, metric.Polled, metric.Thread}, Every: 100 * time.Millisecond, For: 10 * time.Second}); err != nil {
			t.Fatal(err)
		}
		if err := e.Burst(Burst{Classes: []metric.Class{metric.Fast}, Every: 100 * time.Millisecond, For: time.Second}); err == nil || !strings.Contains(err.Error(), "another burst goes on") {
			t.Errorf("a second burst beside the first: %v", err)
		}
		time.Sleep(5 * time.Second)
		for _, c := range e.Status().Classes {
			if c.Burst != (c.Class == "fast" || c.Class == "polled") {
				t.Errorf("class %s: burst is %v", c.Class, c.Burst)
			}
		}
		// Reloading the same plan during the burst changes nothing.
		if err := e.Apply(plan); err != nil {
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
			burst := spacing(w, ticks, 60*time.Second+300*time.Millisecond, 70*time.Second+300*time.Millisecond)
			if len(burst) < 98 || len(burst) > 101 {
				t.Errorf("%s: %d ticks in a burst of ten seconds", c.class, len(burst))
			}
			for _, d := range burst {
				if d > 150*time.Millisecond {
					t.Errorf("%s: %v between two ticks of a burst", c.class, d)
				}
			}
			after := spacing(w, ticks, 72*time.Second, 130*time.Second)
			for _, d := range after {
				if d != c.usual {
					t.Errorf("%s: %v between two ticks after the burst", c.class, d)
				}
			}
			if last := time.Duration(ticks[len(ticks)-1].at.Awake - bootedBefore); last%c.usual != c.phase || len(after) < 4 {
				t.Errorf("%s: after the burst ticks are %v off the grid, %d of them", c.class, last%c.usual, len(after))
			}
		}
		for _, ev := range w.sink.kinds(metric.EventOverrun, metric.EventGap, metric.EventBudget) {
			t.Errorf("%s: %s", ev.Kind, ev.Text)
		}
		if got := len(w.sink.of(metric.Process, "a.process")); got < 24 || got > 26 {
			t.Errorf("%d ticks of a class that is in no burst in 125 s", got)
		}
	})
}

// Ticks that a burst is too slow for are not missed. Only those that would have been due
// without the burst count.
func TestABurstMissesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		slow := counting("slow", func() error { time.Sleep(270 * time.Millisecond); return nil }, metric.Fast)
		e, stop := w.run(w.options(defaultPlan(), slow))
		time.Sleep(10*time.Second + 400*time.Millisecond)
		if err := e.Burst(Burst{Classes: []metric.Class{metric.Fast}, Every: 100 * time.Millisecond, For: 10 * time.Second}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		w.stall.Add(int64(4 * time.Second))
		time.Sleep(20 * time.Second)
		stop()
		if got := len(spacing(w, w.sink.of(metric.Fast, "slow.fast"), 10400*time.Millisecond, 15*time.Second)); got < 14 {
			t.Errorf("%d ticks of a source that takes 270 ms in 4.6 s of a burst", got)
		}
		events := w.sink.kinds(metric.EventOverrun)
		if len(events) != 1 || events[0].Label("fast") != "3" && events[0].Label("fast") != "4" {
			t.Errorf("of a stop of four seconds in a burst is told: %+v", events)
		}
	})
}

func TestABurstStaysInTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		// A tick costs 30 ms: 3 % of a core at one a second, 30 % in a burst.
		dear := counting("dear", func() error { w.cpu.Add(int64(30 * time.Millisecond)); return nil }, metric.Fast)
		plan := defaultPlan()
		plan.MaxCPU = 0.04
		e, stop := w.run(w.options(plan, dear))
		time.Sleep(2 * time.Minute)
		before := w.cpu.Load()
		for range 60 {
			e.Burst(Burst{Classes: []metric.Class{metric.Fast}, Every: 100 * time.Millisecond, For: 2 * time.Minute})
			time.Sleep(time.Minute)
		}
		used := time.Duration(w.cpu.Load() - before)
		stop()
		// Unused budget is added: 24 s at the start, and 1 % of two minutes.
		if most := time.Duration(0.04*float64(time.Hour)) + 26*time.Second; used > most || used < most*8/10 {
			t.Errorf("an hour of bursts took %v, want not over %v and near it", used, most)
		}
		budget := w.sink.kinds(metric.EventBudget)
		for _, ev := range budget {
			if !strings.Contains(ev.Text, "burst was ended early") {
				t.Errorf("a burst is taken for the recorder's own hunger: %s", ev.Text)
			}
		}
		if len(budget) == 0 {
			t.Error("no event tells of an ended burst")
		}
	})
}

func TestABurstOfNothingIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		e, stop := w.run(w.options(defaultPlan(), counting("a", nil, metric.Fast)))
		time.Sleep(5 * time.Second)
		for _, b := range []Burst{
			{Classes: []metric.Class{metric.Thread, metric.Static, metric.Costly}, Every: time.Second / 10, For: time.Second},
			{Classes: []metric.Class{metric.Fast}, Every: time.Second, For: time.Second},
		} {
			if err := e.Burst(b); err == nil {
				t.Errorf("%+v is begun", b)
			}
		}
		stop()
	})
}

// Notice receives how late a tick came, including everything that was missed before it.
func TestAStallIsToldWithTheTickAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		opt := w.options(defaultPlan(), counting("a", nil, metric.Fast))
		var most atomic.Int64
		var stalls atomic.Int32
		opt.Notice = func(tick *metric.Tick, stall time.Duration) []metric.Event {
			if tick.Class == metric.Fast && stall > 100*time.Millisecond {
				stalls.Add(1)
				most.Store(max(most.Load(), int64(stall)))
			}
			return nil
		}
		_, stop := w.run(opt)
		time.Sleep(20*time.Second + 500*time.Millisecond)
		w.stall.Add(int64(7 * time.Second))
		time.Sleep(20 * time.Second)
		stop()
		if got := time.Duration(most.Load()); stalls.Load() != 1 || got < 6*time.Second || got > 8*time.Second {
			t.Errorf("%d stalls of up to %v, want one of about 7 s", stalls.Load(), got)
		}
	})
}

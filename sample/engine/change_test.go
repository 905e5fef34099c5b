package engine

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/sample/metric"
)

func TestReloadLosesNoTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		src := counting("a", nil, metric.Fast, metric.Polled, metric.Constrained)
		e, stop := w.run(w.options(defaultPlan(), src))
		time.Sleep(20*time.Second + time.Second/2)
		plan := defaultPlan()
		plan.Intervals[metric.Fast] = 2 * time.Second
		plan.Intervals[metric.Constrained] = 0
		plan.Class = func(d *metric.Desc) metric.Class {
			if d.Name == "a.polled.count" {
				return metric.Fast
			}
			return d.Class
		}
		if err := e.Apply(plan); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		if err := e.Apply(defaultPlan()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		stop()
		var at []float64
		ticks := w.sink.of(metric.Fast, "a.fast")
		for _, tick := range ticks {
			at = append(at, time.Duration(tick.at.Awake-ticks[0].at.Awake).Seconds())
		}
		var want []float64
		for s := 0; s <= 60; s++ {
			if s <= 20 || s > 40 || s%2 == 0 {
				want = append(want, float64(s))
			}
		}
		if fmt.Sprint(at) != fmt.Sprint(want) {
			t.Errorf("fast ticks at\n%v, want\n%v", at, want)
		}
		if got := len(w.sink.of(metric.Fast, "a.polled")); got != 10 {
			t.Errorf("the moved metric was read %d times in the class fast", got)
		}
		if over := e.Status().Classes[3].Overruns; over != 0 {
			t.Errorf("%d overruns", over)
		}
	})
}

func TestRenewReadsStaticMetricsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		src := counting("a", nil, metric.Static, metric.Fast)
		e, stop := w.run(w.options(defaultPlan(), src))
		time.Sleep(10*time.Second + time.Second/2)
		if got := len(w.sink.of(metric.Static, "a.static")); got != 1 {
			t.Errorf("static metrics were read %d times at the start", got)
		}
		// In the next archive the machine has one metric more.
		src.grow.Store(&[]*metric.Group{src.groups[0], {Name: "a.fast", Metrics: []*metric.Desc{
			src.groups[1].Metrics[0], {Name: "a.new", Type: metric.U64, Class: metric.Fast},
		}}})
		if err := e.Renew(func() error { return errors.New("no room") }); err == nil || src.refreshed.Load() != 0 {
			t.Fatalf("without a new archive: %v, refreshed %d times", err, src.refreshed.Load())
		}
		if err := e.Renew(func() error {
			if src.refreshed.Load() != 0 || w.sink.descs != 0 {
				t.Error("what the new archive begins with came before it")
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		stop()
		if got := len(w.sink.of(metric.Static, "a.static")); got != 2 {
			t.Errorf("static metrics were read %d times in two archives", got)
		}
		ticks := w.sink.of(metric.Fast, "a.fast")
		if len(ticks) != 16 || len(ticks[15].blocks["a.fast"].cells) != 2 || len(ticks[10].blocks["a.fast"].cells) != 1 {
			t.Errorf("%d fast ticks; the last has %v", len(ticks), ticks[len(ticks)-1].blocks["a.fast"].cells)
		}
		if src.refreshed.Load() != 1 || w.sink.descs == 0 {
			t.Errorf("refreshed %d times, %d descriptions", src.refreshed.Load(), w.sink.descs)
		}
		if err := e.Renew(func() error { t.Error("renewed after the end"); return nil }); err == nil {
			t.Error("renewed after the end")
		}
	})
}

// If the first reading of static metrics is slow, it belongs to the archive in which it
// began. If it hangs, the next archive begins all the same.
func TestRenewWaitsForStaticMetrics(t *testing.T) {
	for name, c := range map[string]struct {
		takes time.Duration
		first bool // in the first archive
	}{"slow": {3 * time.Second, true}, "hangs": {time.Hour, false}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				src := counting("a", func() error { time.Sleep(c.takes); return nil }, metric.Static)
				e, stop := w.run(w.options(defaultPlan(), src))
				time.Sleep(time.Second)
				began := time.Now()
				if err := e.Renew(func() error {
					if got := len(w.sink.of(metric.Static, "a.static")) == 1; got != c.first {
						t.Errorf("read before the new archive: %v", got)
					}
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("it took %v", took)
				}
				time.Sleep(2 * c.takes)
				stop()
			})
		})
	}
}

func TestBudgetStretchesTheCostliestClassAndReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var cost atomic.Int64
		cost.Store(int64(100 * time.Millisecond))
		dear := counting("dear", func() error {
			time.Sleep(time.Duration(cost.Load()))
			w.cpu.Add(cost.Load())
			return nil
		}, metric.Process)
		cheap := counting("cheap", nil, metric.Fast)
		plan := defaultPlan()
		plan.MaxCPU = 0.01
		e, stop := w.run(w.options(plan, dear, cheap))
		// 100 ms every 5 s are 2 %: twice the budget.
		time.Sleep(10 * time.Minute)
		st := e.Status()
		if got := st.Classes[4]; got.Class != "process" || got.Interval != 10*time.Second {
			t.Fatalf("class %s is read every %v", got.Class, got.Interval)
		}
		if got := st.Classes[3].Interval; got != time.Second {
			t.Errorf("the cheap class is read every %v", got)
		}
		cost.Store(int64(10 * time.Millisecond))
		time.Sleep(10 * time.Minute)
		if got := e.Status().Classes[4].Interval; got != 5*time.Second {
			t.Errorf("it did not return: every %v", got)
		}
		// In the next hours the cost comes and goes, and the interval changes ever less
		// often.
		cost.Store(int64(100 * time.Millisecond))
		time.Sleep(time.Hour)
		stop()
		events := w.sink.kinds(metric.EventBudget)
		if len(events) != 3 {
			t.Errorf("%d budget events: %+v", len(events), events)
		}
		if !strings.Contains(events[0].Text, "process: read every 10s instead of 5s: the recorder used 2 % of a core, more than its budget of 1 %") {
			t.Errorf("event: %s", events[0].Text)
		}
		ticks := w.sink.of(metric.Process, "dear.process")
		for i := 1; i < len(ticks); i++ {
			gap := time.Duration(ticks[i].at.Awake - ticks[i-1].at.Awake).Seconds()
			if math.Abs(gap-5) > 0.5 && math.Abs(gap-10) > 1 {
				t.Fatalf("ticks %v s apart", gap)
			}
		}
	})
}

func TestSelfMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		_, stop := w.run(w.options(defaultPlan(), counting("a", nil, metric.Fast)))
		time.Sleep(time.Minute)
		stop()
		ticks := w.sink.of(metric.Polled, "recorder.class")
		last := ticks[len(ticks)-1].blocks
		if got := fmt.Sprint(last["recorder.class"].names); got != "[static polled fast]" {
			t.Errorf("classes %s", got)
		}
		if got := last["recorder.class"].cells["recorder.class.ticks"][2].Bits; got < 50 || got > 52 {
			t.Errorf("%d fast ticks", got)
		}
		if got := last["recorder.source"].cells["recorder.source.reads"][0].Bits; got < 50 || got > 52 {
			t.Errorf("%d readings", got)
		}
		if got := last["recorder"].cells["recorder.memory.resident"][0].Bits; got != 20<<10 {
			t.Errorf("%d KB resident", got)
		}
		if got := last["recorder"].cells["recorder.bytes"][0].Miss; got != metric.Unsupported {
			t.Errorf("bytes that nobody counts: %v", got)
		}
	})
}

// wary is a source with a notice, and with a need to be refreshed.
type wary struct{ *probe }

func (wary) Notice() string { return "the gate is closed" }
func (w wary) Restless() bool {
	return w.refreshed.Load() == 0
}

func TestNoticesAreToldOnceAndRestlessSourcesLookAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		src := wary{counting("wary", nil, metric.Fast)}
		e, stop := w.run(w.options(defaultPlan(), src))
		time.Sleep(3 * time.Hour)
		if got := e.Status().Notices; len(got) != 1 || got[0] != "the gate is closed" {
			t.Errorf("notices %q", got)
		}
		stop()
		if n := strings.Count(w.log.String(), "the gate is closed"); n != 1 {
			t.Errorf("told %d times", n)
		}
		if n := src.refreshed.Load(); n != 1 {
			t.Errorf("refreshed %d times", n)
		}
	})
}

// A class that is read once a minute costs more than the budget allows in one check of six.
// Another class must still be read as often as planned.
func TestBudgetReturnsBesideARareCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var cost atomic.Int64
		cost.Store(int64(100 * time.Millisecond))
		dear := counting("dear", func() error {
			time.Sleep(time.Duration(cost.Load()))
			w.cpu.Add(cost.Load())
			return nil
		}, metric.Process)
		rare := counting("rare", func() error {
			time.Sleep(200 * time.Millisecond)
			w.cpu.Add(int64(200 * time.Millisecond))
			return nil
		}, metric.Costly)
		plan := defaultPlan()
		plan.MaxCPU = 0.01
		e, stop := w.run(w.options(plan, dear, rare))
		time.Sleep(10 * time.Minute)
		if got := e.Status().Classes[4].Interval; got <= 5*time.Second {
			t.Fatalf("it was not stretched: every %v", got)
		}
		cost.Store(int64(time.Millisecond))
		time.Sleep(30 * time.Minute)
		if got := e.Status().Classes[4].Interval; got != 5*time.Second {
			t.Errorf("it did not return: every %v", got)
		}
		stop()
	})
}

// Finishing an archive takes more than the budget for a while. That is no reason to read
// less, but it must not hide the cost of the classes for ever.
func TestBudgetWaitsWhileAnArchiveIsFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var finishing atomic.Bool
		dear := counting("dear", func() error {
			if finishing.Load() {
				time.Sleep(100 * time.Millisecond)
				w.cpu.Add(int64(time.Second))
			}
			return nil
		}, metric.Process)
		plan := defaultPlan()
		plan.MaxCPU = 0.01
		opt := w.options(plan, dear)
		opt.Upkeep = finishing.Load
		e, stop := w.run(opt)
		interval := func() time.Duration { return e.Status().Classes[4].Interval }
		time.Sleep(2 * time.Minute)
		finishing.Store(true)
		time.Sleep(4 * time.Minute)
		finishing.Store(false)
		time.Sleep(2 * time.Minute)
		if got := interval(); got != 5*time.Second || len(w.sink.kinds(metric.EventBudget)) > 0 {
			t.Errorf("it was stretched: every %v", got)
		}
		finishing.Store(true)
		time.Sleep(10 * time.Minute)
		if got := interval(); got <= 5*time.Second {
			t.Errorf("it was not stretched: every %v", got)
		}
		stop()
	})
}

func TestBudgetOfMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		plan := defaultPlan()
		plan.MaxMemory = 16 << 20 // the world's recorder occupies 20 MB
		_, stop := w.run(w.options(plan, counting("a", nil, metric.Fast)))
		time.Sleep(2 * time.Minute)
		stop()
		events := w.sink.kinds(metric.EventBudget)
		if len(events) == 0 || !strings.Contains(events[0].Text, "the recorder used 20 MB of memory, more than its budget of 16 MB") {
			t.Errorf("events: %+v", events)
		}
	})
}

package engine

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/sample"
	"tachograph/sample/metric"
)

// many is a source of n instances, each of which takes a while to read. It stops when Enough
// says so, and continues where it stopped.
func many(n int, each time.Duration, work func()) *probe {
	p := &probe{name: "many", groups: []*metric.Group{{Name: "many", Indom: "thing", Metrics: []*metric.Desc{
		{Name: "many.x", Type: metric.U64, Class: metric.Process, Indom: "thing"},
	}}}}
	things := make([]metric.Instance, n)
	for i := range things {
		things[i].ID = uint64(i)
		things[i].Name = string(rune('a' + i))
	}
	next := 0
	p.read = func(c *sample.Context, frames []*sample.Frame) error {
		for _, f := range frames {
			f.Reset(c.Now())
		}
		done := 0
		for ; done < n && !c.Late(); done++ {
			time.Sleep(each)
			if work != nil {
				work()
			}
			for _, f := range frames {
				f.SetUint(f.Row(&things[next]), 0, 1)
			}
			next = (next + 1) % n
		}
		if done < n {
			c.Partly(done, n)
		}
		return nil
	}
	return p
}

func TestMoreThanCanBeReadIsReadInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		e, stop := w.run(w.options(defaultPlan(), many(20, 150*time.Millisecond, nil)))
		time.Sleep(time.Minute)
		stop()
		ticks := w.sink.of(metric.Process, "many")
		if len(ticks) < 11 {
			t.Fatalf("%d ticks in a minute", len(ticks))
		}
		var names []string
		for _, tick := range ticks[:3] {
			names = append(names, tick.blocks["many"].names...)
		}
		if got := strings.Join(names, ""); got != "abcdefghijklmnopqrsta" {
			t.Errorf("the first three ticks hold %s", got)
		}
		events := w.sink.kinds(metric.EventOverrun)
		if len(events) != 1 || events[0].Text != "process: 7 of 20 instances of source many were read in 1.05s, the others follow at the next ticks" {
			t.Errorf("events: %+v", events)
		}
		st := e.Status().Sources[0]
		if st.Partial != uint64(len(ticks)) || st.Timeouts != 0 {
			t.Errorf("%d partial readings of %d, %d given up", st.Partial, len(ticks), st.Timeouts)
		}
	})
}

// If a sweep is slow because other programs have the processors, it is read to its end,
// however long its listing takes. An event reports the missed ticks.
func TestSweepOnABusyMachineIsLateAndWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		const n = 5000
		src := many(n, 300*time.Microsecond, func() { w.cpu.Add(int64(25 * time.Microsecond)) })
		read := src.read
		src.read = func(c *sample.Context, frames []*sample.Frame) error {
			for range 10 { // a listing of 5 s
				time.Sleep(500 * time.Millisecond)
				c.Now()
			}
			return read(c, frames)
		}
		opt := w.options(defaultPlan(), src)
		opt.Plan.Intervals[metric.Process] = time.Second
		opt.Worked = func() time.Duration { return time.Duration(w.cpu.Load()) }
		e, stop := w.run(opt)
		time.Sleep(5 * time.Minute)
		st := e.Status().Sources[0]
		stop()
		if st.Timeouts != 0 || st.Partial > 0 {
			t.Errorf("%d readings, of which %d partial, and %d given up", st.Reads, st.Partial, st.Timeouts)
		}
		ticks := w.sink.of(metric.Process, "many")
		if len(ticks) < 40 {
			t.Errorf("%d ticks in five minutes", len(ticks))
		}
		for _, tick := range ticks[:len(ticks)-1] {
			if rows := len(tick.blocks["many"].names); rows != n {
				t.Fatalf("%d of %d rows", rows, n)
			}
		}
		if len(w.sink.kinds(metric.EventOverrun)) == 0 {
			t.Error("nobody tells what was missed")
		}
	})
}

// The events of a source are stored after it has been read, because storing may have to
// wait.
func TestEventsOfASourceWaitForItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		src := counting("teller", nil, metric.Process)
		read := src.read
		src.read = func(c *sample.Context, frames []*sample.Frame) error {
			w.sink.mu.Lock() // another goroutine commits
			defer w.sink.mu.Unlock()
			c.Emit(metric.Event{Kind: metric.EventProcessStart, Text: "somebody began"})
			return read(c, frames)
		}
		_, stop := w.run(w.options(defaultPlan(), src))
		time.Sleep(time.Minute)
		stop()
		if ticks, told := len(w.sink.of(metric.Process, "teller.process")), len(w.sink.kinds(metric.EventProcessStart)); told != ticks || told < 10 {
			t.Errorf("%d events in %d ticks", told, ticks)
		}
	})
}

// A reading that was given up continues to work, and its class is charged for that.
func TestAbandonedReadingsAreCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		slow := counting("slow", func() error {
			for range 400 {
				time.Sleep(100 * time.Millisecond)
				w.cpu.Add(int64(100 * time.Millisecond))
			}
			return nil
		}, metric.Process)
		plan := defaultPlan()
		plan.MaxCPU = 0.01
		e, stop := w.run(w.options(plan, slow, counting("cheap", nil, metric.Fast, metric.Polled)))
		time.Sleep(20 * time.Minute)
		st := e.Status()
		stop()
		time.Sleep(time.Minute)
		for _, c := range st.Classes {
			if stretched := c.Interval != c.Planned; stretched != (c.Class == "process") {
				t.Errorf("class %s is read every %v instead of %v", c.Class, c.Interval, c.Planned)
			}
		}
		if got := st.Sources[0]; got.Timeouts > 0 && got.Total < 40*time.Second {
			t.Errorf("%d readings were given up, and the source took %v", got.Timeouts, got.Total)
		}
	})
}

// If memory does not shrink when less is read, the recorder must not read ever less.
func TestMemoryThatStaysStopsTheStretching(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var resident atomic.Int64
		resident.Store(200 << 20)
		opt := w.options(defaultPlan(), counting("a", nil, metric.Fast, metric.Process, metric.Costly))
		opt.Plan.MaxMemory = 100 << 20
		opt.Usage = func() Usage { return Usage{Resident: resident.Load()} }
		e, stop := w.run(opt)
		time.Sleep(time.Hour)
		var stretched []string
		for _, c := range e.Status().Classes {
			if c.Interval != c.Planned {
				stretched = append(stretched, c.Class)
			}
		}
		if len(stretched) > 1 {
			t.Errorf("stretched: %v", stretched)
		}
		events := w.sink.kinds(metric.EventBudget)
		if len(events) != 2 || !strings.Contains(events[1].Text, "reading less often has not changed that") {
			t.Errorf("events: %+v", events)
		}
		resident.Store(20 << 20)
		time.Sleep(30 * time.Minute)
		stop()
		for _, c := range e.Status().Classes {
			if c.Interval != c.Planned {
				t.Errorf("class %s did not return", c.Class)
			}
		}
	})
}

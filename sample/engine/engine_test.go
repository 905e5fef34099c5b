package engine

import (
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/sample"
	"tachograph/sample/metric"
)

func TestDeadlinesDoNotDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		slow := counting("slow", func() error { time.Sleep(300 * time.Millisecond); return nil }, metric.Fast)
		_, stop := w.run(w.options(defaultPlan(), slow))
		time.Sleep(time.Hour + time.Second/2)
		stop()
		ticks := w.sink.of(metric.Fast, "slow.fast")
		if len(ticks) != 3601 {
			t.Fatalf("%d ticks in an hour, want 3601", len(ticks))
		}
		for i, tick := range ticks {
			if got := tick.at.Awake - ticks[0].at.Awake; got != int64(i)*int64(time.Second) {
				t.Fatalf("tick %d came %v after the first", i, time.Duration(got))
			}
			// The stamp of a block is the time at which it was read.
			if b := tick.blocks["slow.fast"]; b.at.Awake-tick.at.Awake != int64(300*time.Millisecond) {
				t.Fatalf("block %d was stamped %v after its tick", i, time.Duration(b.at.Awake-tick.at.Awake))
			}
		}
	})
}

func TestMissedTicksAreCountedAndNeverBunched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		slow := counting("slow", func() error { time.Sleep(1300 * time.Millisecond); return nil }, metric.Fast)
		e, stop := w.run(w.options(defaultPlan(), slow))
		time.Sleep(10*time.Minute + 700*time.Millisecond)
		stop()
		ticks := w.sink.of(metric.Fast, "slow.fast")
		fast := e.Status().Classes[3]
		if fast.Class != "fast" || fast.Ticks+fast.Overruns < 600 || fast.Ticks+fast.Overruns > 602 {
			t.Errorf("%d ticks and %d overruns in 600 s", fast.Ticks, fast.Overruns)
		}
		for i := 1; i < len(ticks); i++ {
			if gap := time.Duration(ticks[i].at.Awake - ticks[i-1].at.Awake); gap < 1300*time.Millisecond {
				t.Fatalf("ticks %d and %d are only %v apart", i-1, i, gap)
			}
		}
		var counted uint64
		overruns := w.sink.kinds(metric.EventOverrun)
		for _, ev := range overruns {
			var n uint64
			for _, c := range ev.Label("fast") {
				n = n*10 + uint64(c-'0')
			}
			counted += n
		}
		if counted != fast.Overruns {
			t.Errorf("events tell of %d missed ticks, %d were missed", counted, fast.Overruns)
		}
		if len(overruns) > 12 {
			t.Errorf("%d events in ten minutes: a flood", len(overruns))
		}
	})
}

// On a busy machine a source comes back seconds late. Its values are kept, and it is read
// again soon: no minute of the worst day may have a hole of ten seconds.
func TestSlowSourceIsReadAgainSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := 0
		slow := counting("slow", func() error {
			if n++; n%10 == 0 {
				time.Sleep(3 * time.Second)
			}
			return nil
		}, metric.Fast)
		_, stop := w.run(w.options(defaultPlan(), slow))
		time.Sleep(5 * time.Minute)
		stop()
		var last, longest time.Duration
		for _, tick := range w.sink.of(metric.Fast, "slow.fast") {
			at := time.Duration(tick.at.Cont)
			if last != 0 {
				longest = max(longest, at-last)
			}
			last = at
		}
		if longest == 0 || longest > 7*time.Second {
			t.Errorf("the longest hole is of %v", longest)
		}
	})
}

func TestHangingSourceStopsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		release := make(chan struct{})
		hang := make(chan bool, 1)
		hang <- true
		// Three classes read the source, and it hangs in the slowest one.
		stuck := counting("stuck", func() error {
			select {
			case <-hang:
				<-release
			default:
			}
			return nil
		}, metric.Polled, metric.Fast)
		after := counting("after", nil, metric.Polled, metric.Fast)
		e, stop := w.run(w.options(defaultPlan(), stuck, after))
		time.Sleep(60 * time.Second)
		if got := len(w.sink.of(metric.Fast, "after.fast")); got < 57 {
			t.Errorf("%d fast ticks of the other source in a minute", got)
		}
		if got := len(w.sink.of(metric.Polled, "after.polled")); got != 6 {
			t.Errorf("%d polled ticks of the other source in a minute", got)
		}
		if got := len(w.sink.of(metric.Fast, "stuck.fast")); got > 1 {
			t.Errorf("the source that hangs has %d fast blocks", got)
		}
		begins := w.sink.kinds(metric.EventErrorBegin)
		if len(begins) != 1 || !strings.Contains(begins[0].Text, "source stuck: it does not answer") {
			t.Errorf("events: %+v", begins)
		}
		for _, s := range e.Status().Sources {
			if s.Hung != (s.Source == "stuck") {
				t.Errorf("source %s: hung is %v", s.Source, s.Hung)
			}
		}
		close(release)
		time.Sleep(5 * time.Second)
		if got := len(w.sink.of(metric.Fast, "stuck.fast")); got > 1 {
			t.Errorf("the source was read again at once: %d fast blocks", got)
		}
		time.Sleep(5 * time.Minute)
		if got := len(w.sink.of(metric.Fast, "stuck.fast")); got < 280 {
			t.Errorf("the source was not taken up again: %d fast blocks", got)
		}
		if ends := w.sink.kinds(metric.EventErrorEnd); len(ends) != 1 {
			t.Errorf("%d events say that it works again", len(ends))
		}
		stop()
	})
}

// The values of a slow source are stored when they arrive, with the time at which they were
// read.
func TestLateReadingsAreStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		const takes = 3200 * time.Millisecond
		slow := counting("slow", func() error { time.Sleep(takes); return nil }, metric.Fast)
		quick := counting("quick", nil, metric.Fast)
		_, stop := w.run(w.options(defaultPlan(), slow, quick))
		time.Sleep(18 * time.Second)
		got := w.sink.of(metric.Fast, "slow.fast")
		if len(got) < 1 {
			t.Fatal("nothing of the slow source in 18 seconds")
		}
		for i, k := range got {
			b := k.blocks["slow.fast"]
			if b.cells["slow.fast.count"][0].Bits != uint64(i+1) || b.at.Cont > k.at.Cont || k.at.Cont-b.at.Cont > int64(2*time.Second) {
				t.Errorf("reading %d has %v of %d in the tick of %d", i, b.cells, b.at.Cont, k.at.Cont)
			}
		}
		// Each wait for the slow source costs the other one a tick.
		if n := len(w.sink.of(metric.Fast, "quick.fast")); n < 18-len(got)-1 {
			t.Errorf("%d ticks of the other source", n)
		}
		time.Sleep(5 * time.Minute)
		if got := w.sink.of(metric.Fast, "slow.fast"); len(got) < 4 {
			t.Errorf("%d readings in five minutes", len(got))
		}
		stop()
	})
}

func TestSleepIsNotLateness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		e, stop := w.run(w.options(defaultPlan(), counting("a", nil, metric.Fast, metric.Polled)))
		time.Sleep(90*time.Second + 400*time.Millisecond)
		w.asleep.Add(int64(9 * time.Hour))
		time.Sleep(90 * time.Second)
		stop()
		events := w.sink.kinds(metric.EventSleep, metric.EventWake, metric.EventGap, metric.EventOverrun, metric.EventClockStep)
		if len(events) != 2 || events[0].Kind != metric.EventSleep || events[1].Kind != metric.EventWake {
			t.Fatalf("events: %+v", events)
		}
		if got := events[1].Text; got != "the machine woke after 9h0m0s: lid" {
			t.Errorf("wake: %s", got)
		}
		if got := events[1].Label("seconds"); got != "32400.000" {
			t.Errorf("slept %s seconds", got)
		}
		ticks := w.sink.of(metric.Fast, "a.fast")
		if len(ticks) != 181 || e.Status().Classes[3].Overruns != 0 {
			t.Errorf("%d ticks, %d overruns", len(ticks), e.Status().Classes[3].Overruns)
		}
		for i := 1; i < len(ticks); i++ {
			if ticks[i].at.Awake-ticks[i-1].at.Awake != int64(time.Second) {
				t.Fatalf("tick %d is off the grid", i)
			}
		}
		for _, tick := range ticks {
			if tick.at.Cont > events[0].At.Cont && tick.at.Cont < events[1].At.Cont {
				t.Error("a tick in the middle of sleep")
			}
		}
	})
}

func TestStallIsAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		e, stop := w.run(w.options(defaultPlan(), counting("a", nil, metric.Fast, metric.Process, metric.Polled)))
		time.Sleep(30*time.Second + 400*time.Millisecond)
		w.stall.Add(int64(45 * time.Second))
		time.Sleep(30 * time.Second)
		stop()
		// One stop is one event, with the number of ticks that each class missed.
		gaps := w.sink.kinds(metric.EventGap, metric.EventOverrun)
		if len(gaps) != 1 || !strings.HasPrefix(gaps[0].Label("seconds"), "45.") && !strings.HasPrefix(gaps[0].Label("seconds"), "46") {
			t.Fatalf("gaps: %+v", gaps)
		}
		ticks := w.sink.of(metric.Fast, "a.fast")
		over := e.Status().Classes[3].Overruns
		if got := gaps[0].Label("fast"); got != strconv.FormatUint(over, 10) {
			t.Errorf("the gap tells of %s missed fast ticks, %d were missed", got, over)
		}
		if gaps[0].Label("process") == "" || gaps[0].Label("polled") == "" {
			t.Errorf("the gap does not tell of all classes: %v", gaps[0].Labels)
		}
		if n := uint64(len(ticks)) + over; n < 105 || n > 107 || over < 44 {
			t.Errorf("%d ticks and %d overruns in 105 s", len(ticks), over)
		}
	})
}

func TestClockStepsAndZones(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		_, stop := w.run(w.options(defaultPlan(), counting("a", nil, metric.Fast)))
		time.Sleep(10 * time.Second)
		w.step.Add(int64(-100 * time.Second))
		time.Sleep(10 * time.Second)
		w.step.Add(int64(3 * time.Hour))
		time.Sleep(10 * time.Second)
		// A clock that is adjusted gradually makes no step.
		for range 20 {
			w.step.Add(int64(400 * time.Microsecond))
			time.Sleep(time.Second)
		}
		zone := "Europe/Berlin"
		w.zone.Store(&zone)
		time.Sleep(time.Minute + time.Second/2)
		stop()
		steps := w.sink.kinds(metric.EventClockStep)
		if len(steps) != 2 || steps[0].Label("step") != "-100" || steps[1].Label("step") != "10800" {
			t.Errorf("steps: %+v", steps)
		}
		zones := w.sink.kinds(metric.EventTimeZone)
		if len(zones) != 1 || zones[0].Label("to") != zone {
			t.Errorf("zones: %+v", zones)
		}
		if ticks := w.sink.of(metric.Fast, "a.fast"); len(ticks) != 111 {
			t.Errorf("%d ticks in 110 s", len(ticks))
		}
	})
}

func TestErrorsAreToldOnceAndMarkTheCells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var broken atomic.Bool
		src := counting("src", func() error {
			if broken.Load() {
				return errors.New("the kernel said no")
			}
			return nil
		}, metric.Fast)
		_, stop := w.run(w.options(defaultPlan(), src))
		time.Sleep(10*time.Second + time.Second/2)
		broken.Store(true)
		time.Sleep(3 * time.Hour)
		broken.Store(false)
		time.Sleep(10 * time.Minute)
		stop()
		begins, ends := w.sink.kinds(metric.EventErrorBegin), w.sink.kinds(metric.EventErrorEnd)
		if len(begins) != 1 || begins[0].Text != "source src: the kernel said no" || len(ends) != 1 || ends[0].Label("count") != "10800" {
			t.Errorf("events: %+v %+v", begins, ends)
		}
		if lines := strings.Count(w.log.String(), "the kernel said no"); lines < 3 || lines > 4 {
			t.Errorf("%d log lines about an error that lasted three hours:\n%s", lines, w.log.String())
		}
		var missing int
		for _, tick := range w.sink.of(metric.Fast, "src.fast") {
			if v := tick.blocks["src.fast"].cells["src.fast.count"][0]; v.Miss != metric.Present {
				missing++
				if v.Miss.String() != "the kernel said no" {
					t.Fatalf("reason %v", v.Miss)
				}
			}
		}
		if missing != 10800 {
			t.Errorf("%d cells are marked", missing)
		}
	})
}

func TestPanicInASourceIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		bad := counting("bad", func() error { var p *probe; _ = p.name; return nil }, metric.Fast)
		_, stop := w.run(w.options(defaultPlan(), bad, counting("good", nil, metric.Fast)))
		time.Sleep(10*time.Second + time.Second/2)
		stop()
		if got := len(w.sink.of(metric.Fast, "good.fast")); got != 11 {
			t.Errorf("%d ticks of the good source", got)
		}
		if begins := w.sink.kinds(metric.EventErrorBegin); len(begins) != 1 {
			t.Errorf("events: %+v", begins)
		}
	})
}

func TestStopWithinASecondEvenWhenASourceHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		release := make(chan struct{})
		stuck := counting("stuck", func() error { <-release; return nil }, metric.Polled)
		_, stop := w.run(w.options(defaultPlan(), counting("a", nil, metric.Fast), stuck))
		time.Sleep(5 * time.Second)
		if took := stop(); took > time.Second {
			t.Errorf("stopping took %v", took)
		}
		if stops := w.sink.kinds(metric.EventStop); len(stops) != 1 {
			t.Error("no stop event")
		}
		n := len(w.sink.ticks)
		close(release)
		synctest.Wait()
		if len(w.sink.ticks) != n {
			t.Error("a tick was stored after the end")
		}
	})
}

func TestUnstampedFramesAreNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		silent := counting("silent", nil, metric.Fast)
		silent.read = func(*sample.Context, []*sample.Frame) error { return nil }
		_, stop := w.run(w.options(defaultPlan(), silent))
		time.Sleep(3 * time.Second)
		stop()
		if got := w.sink.of(metric.Fast, "silent.fast"); len(got) != 0 {
			t.Errorf("%d blocks of a source that read nothing", len(got))
		}
	})
}

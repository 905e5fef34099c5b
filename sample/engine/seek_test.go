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

// late is a source whose driver appears when the test says so.
type late struct {
	*probe
	found bool
	looks atomic.Int64
	takes time.Duration
	turn  atomic.Bool
}

func newLate() *late {
	l := &late{probe: counting("late", nil, metric.Static, metric.Fast)}
	l.Refresh()
	return l
}

func (l *late) Refresh() error {
	l.found = l.turn.Load()
	why := "this machine has no such driver"
	if l.found {
		why = ""
	}
	old := l.groups
	l.groups = nil
	for _, g := range old {
		d := *g.Metrics[0]
		d.Unsupported = why
		l.groups = append(l.groups, &metric.Group{Name: g.Name, Metrics: []*metric.Desc{&d}})
	}
	return nil
}

func (l *late) Look() bool {
	l.looks.Add(1)
	time.Sleep(l.takes)
	return l.turn.Load() != l.found
}

var _ sample.Looker = (*late)(nil)

func TestWhatComesLateIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		src := newLate()
		_, stop := w.run(w.options(defaultPlan(), src))
		time.Sleep(10 * time.Minute)
		if got := len(w.sink.of(metric.Fast, "late.fast")); got != 0 {
			t.Errorf("%d readings of what is not there", got)
		}
		// After 5, 10, 20 and 40 seconds, then every minute.
		if looks := src.looks.Load(); looks < 11 || looks > 15 {
			t.Errorf("looked %d times in ten minutes", looks)
		}
		src.turn.Store(true)
		time.Sleep(sample.MostLook + 2*time.Second)
		if got := len(w.sink.of(metric.Fast, "late.fast")); got == 0 {
			t.Error("the driver came and is not read")
		}
		if got := len(w.sink.of(metric.Static, "late.static")); got != 1 {
			t.Errorf("its static metrics were read %d times", got)
		}
		src.turn.Store(false)
		time.Sleep(sample.MostLook + 2*time.Second)
		before := len(w.sink.of(metric.Fast, "late.fast"))
		time.Sleep(10 * time.Second)
		if got := len(w.sink.of(metric.Fast, "late.fast")); got != before {
			t.Error("the driver went and is read")
		}
		stop()
		var texts []string
		for _, e := range w.sink.kinds(metric.EventDevice) {
			texts = append(texts, e.Text+" ["+e.Label("source")+"]")
		}
		want := "late.static.count and 1 more can be read now; until now: this machine has no such driver [late]\n" +
			"late.static.count and 1 more can no longer be read: this machine has no such driver [late]"
		if got := strings.Join(texts, "\n"); got != want {
			t.Errorf("events\n%s\nwant\n%s", got, want)
		}
	})
}

func TestLookingCostsNextToNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		src := newLate()
		src.takes = 10 * time.Millisecond
		_, stop := w.run(w.options(defaultPlan(), src))
		time.Sleep(time.Hour)
		looks := src.looks.Load()
		if spent := time.Duration(looks) * src.takes; spent > 2*time.Hour/sample.LookShare {
			t.Errorf("%d looks of %v in an hour", looks, src.takes)
		}
		stop()
	})
}

func TestWhatComesAndGoesIsNoFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		src := newLate()
		_, stop := w.run(w.options(defaultPlan(), src))
		for range 24 * 60 {
			time.Sleep(59 * time.Second)
			src.turn.Store(!src.turn.Load())
		}
		stop()
		if n := len(w.sink.kinds(metric.EventDevice)); n < 5 || n > 60 {
			t.Errorf("%d events in a day", n)
		}
	})
}

func TestAWakeIsAHint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		src := newLate()
		_, stop := w.run(w.options(defaultPlan(), src))
		time.Sleep(10 * time.Minute)
		w.asleep.Add(int64(time.Hour))
		src.turn.Store(true)
		time.Sleep(sample.FirstLook + 3*time.Second)
		if got := len(w.sink.of(metric.Fast, "late.fast")); got == 0 {
			t.Error("what came with the wake is not read soon after it")
		}
		stop()
	})
}

func TestFoundTellsWhatIsNewAndWhatIsGone(t *testing.T) {
	group := func(ds ...*metric.Desc) []*metric.Group { return []*metric.Group{{Name: "g", Metrics: ds}} }
	a, b := &metric.Desc{Name: "a"}, &metric.Desc{Name: "b"}
	var texts []string
	for _, e := range found("s", group(a), group(b)) {
		texts = append(texts, e.Text)
	}
	if got := strings.Join(texts, "; "); got != "b can be read now; a can no longer be read: the kernel does not have it any more" {
		t.Error(got)
	}
	other := *a
	other.Class = metric.Polled
	if events := found("s", group(a), group(&other)); len(events) != 0 {
		t.Errorf("another class is told: %v", events)
	}
}

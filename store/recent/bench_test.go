package recent_test

import (
	"fmt"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/query"
	"tachograph/store/recent"
)

// crowd is a tick of so many processes with so many metrics of each.
func crowd(processes, metrics int) *metric.Tick {
	g := &metric.Group{Name: "proc", Indom: "process"}
	b := &metric.Block{Group: g}
	for i := range metrics {
		d := desc(fmt.Sprintf("proc.m%d", i), metric.U64, metric.Counter, metric.Counts, "process", metric.Process)
		g.Metrics = append(g.Metrics, d)
		b.Cols = append(b.Cols, metric.Column{Bits: make([]uint64, processes)})
		if i%2 == 0 {
			b.Cols[i].Miss = make([]metric.Reason, processes)
		}
	}
	for i := range processes {
		b.Rows = append(b.Rows, &metric.Instance{ID: uint64(i), Key: fmt.Sprint(i, "@1"), Name: fmt.Sprintf("%06d sh", i), Rev: 1})
	}
	return &metric.Tick{Class: metric.Process, Blocks: []*metric.Block{b}}
}

func advance(t *metric.Tick, n int) {
	t.At = metric.Stamp{Wall: int64(n) * 1e9, Awake: int64(n) * 1e9, Cont: int64(n) * 1e9}
	t.Blocks[0].At = t.At
	for i := range t.Blocks[0].Cols {
		t.Blocks[0].Cols[i].Bits[n%len(t.Blocks[0].Rows)]++
	}
}

var info = &archive.Info{ID: "1", Host: metric.Host{ID: "h"}, BootID: "b", Intervals: intervals}

// BenchmarkTick is what a tick of 400 processes with 40 metrics each costs.
func BenchmarkTick(b *testing.B) {
	a, t := recent.New(recent.Keep{Ticks: 3}), crowd(400, 40)
	b.ReportAllocs()
	for n := 1; b.Loop(); n++ {
		advance(t, n)
		a.Tick(info, t)
	}
}

// BenchmarkUnwantedTick is what it costs where nothing of it is kept.
func BenchmarkUnwantedTick(b *testing.B) {
	a, t := recent.New(recent.Keep{Metric: func(d *metric.Desc) bool { return d.Name == "mem.free" }}), crowd(400, 40)
	b.ReportAllocs()
	for n := 1; b.Loop(); n++ {
		advance(t, n)
		a.Tick(info, t)
	}
}

// BenchmarkRate is a metric's rate at the last tick, of all processes.
func BenchmarkRate(b *testing.B) {
	a, t := recent.New(recent.Keep{Ticks: 3}), crowd(400, 40)
	for n := 1; n < 10; n++ {
		advance(t, n)
		a.Tick(info, t)
	}
	_, from, to, _ := a.Last(metric.Process)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for range query.Read(a, query.Request{Window: query.Window{From: from, To: to}, Metrics: []string{"proc.m1"}, Mode: query.Shown}) {
			n++
		}
		if n != 400 {
			b.Fatal(n)
		}
	}
}

// TestMemoryIsBounded adds ticks whose instances, groups and archives are never the
// same.
func TestMemoryIsBounded(t *testing.T) {
	a := recent.New(recent.Keep{})
	tick := crowd(50, 3)
	allocated := func(n int) float64 {
		return testing.AllocsPerRun(1, func() {
			for range n {
				advance(tick, int(tick.At.Wall/1e9)+1)
				a.Tick(info, tick)
			}
		})
	}
	allocated(10)
	if n := allocated(100); n > 2000 {
		t.Errorf("100 ticks of the same allocate %v times", n)
	}
	for n := range 3000 {
		next := crowd(2, 1)
		next.At = metric.Stamp{Wall: int64(n+1000) * 1e9, Cont: int64(n+1000) * 1e9}
		next.Blocks[0].At = next.At
		next.Blocks[0].Group.Name = fmt.Sprint("g", n)
		for i, in := range next.Blocks[0].Rows {
			in.Key = fmt.Sprint(n, i)
		}
		one := *info
		one.ID = fmt.Sprint(n)
		a.Tick(&one, next)
		a.Event(&one, &metric.Event{At: next.At, Kind: metric.EventProcessExit})
	}
	lives := 0
	for range a.Lives("process", 0, 0) {
		lives++
	}
	if lives != 4 || len(a.Archives()) > 3 || len(a.Metrics()) > 3 {
		t.Errorf("%d lives, %d archives and %d metrics are left", lives, len(a.Archives()), len(a.Metrics()))
	}
	events := 0
	for range a.Events(0, 0) {
		events++
	}
	if events > 3 {
		t.Errorf("%d events are left", events)
	}
}

package query_test

import (
	"fmt"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

// Where there are more processes than one sweep can read, the table is what
// several sweeps found together, without those that ended meanwhile.
func TestProcessesOfSeveralSweeps(t *testing.T) {
	const every, all, each = 5 * second, 30, 10
	desc := counterDesc("proc.psinfo.utime", metric.Milliseconds, metric.Process, "process")
	unread := &metric.Desc{Name: "proc.unread", Type: metric.U64, Class: metric.Process}
	total := &metric.Desc{Name: "proc.nprocs", Type: metric.U64, Class: metric.Process}
	group := &metric.Group{Name: "process", Indom: "process", Metrics: []*metric.Desc{desc}}
	counts := &metric.Group{Name: "procs", Metrics: []*metric.Desc{unread, total}}
	start := int64(1_790_000_000) * second
	var people []*metric.Instance
	for i := range all {
		people = append(people, &metric.Instance{ID: uint64(i + 1), Key: fmt.Sprint(i), Name: fmt.Sprintf("%06d p", i+1)})
	}
	part := &querytest.Part{Catalog: []*metric.Desc{desc, unread, total}, Info: store.ArchiveInfo{ID: "a", Host: metric.Host{ID: "h"}, BootID: "b",
		Intervals: metric.Intervals{metric.Process: time.Duration(every)}}}
	for n := range 9 {
		at := metric.Stamp{Wall: start + int64(n)*every, Cont: int64(n+100) * every}
		b := &metric.Block{Group: group, At: at, Cols: make([]metric.Column, 1)}
		for i := range each {
			p := (n*each + i) % all
			b.Rows = append(b.Rows, people[p])
			b.Cols[0].Bits = append(b.Cols[0].Bits, uint64(1000*n))
		}
		c := &metric.Block{Group: counts, At: at, Rows: []*metric.Instance{nil}, Cols: []metric.Column{{Bits: []uint64{all - each}}, {Bits: []uint64{all}}}}
		part.Ticks = append(part.Ticks, &metric.Tick{Class: metric.Process, At: at, Blocks: []*metric.Block{b, c}})
	}
	last := start + 8*every
	part.Events = append(part.Events, metric.Event{At: metric.Stamp{Wall: last - second}, Kind: metric.EventProcessExit, Indom: "process", Key: "3"})
	list := query.Processes(querytest.New(part), query.Window{}, last, nil)
	if len(list) != all-1 {
		t.Fatalf("%d processes, want %d", len(list), all-1)
	}
	for _, p := range list {
		if p.Instance.Key == "3" {
			t.Error("one that ended is there")
		}
		if got := p.Rates[query.UserTime]; got < 0.199 || got > 0.201 {
			t.Errorf("%s: %v, want 3 s in 15 s", p.Instance.Key, got)
		}
	}
}

package pcpexport

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tachograph/cmd/replay/internal/export"
	"tachograph/sample/metric"
	"tachograph/store/archive"
)

// BenchmarkEncode says how many values are encoded and written in a second of one
// processor: a machine with 600 metrics of its own and 400 processes of 15 metrics, one of
// which ends each time.
func BenchmarkEncode(b *testing.B) {
	in := &archive.Info{Host: metric.Host{ID: "h", Name: "h"}, BootID: "b", TimeZone: "UTC"}
	system := &metric.Group{Name: "system"}
	process := &metric.Group{Name: "process", Indom: "process"}
	for i := range 600 {
		system.Metrics = append(system.Metrics, &metric.Desc{Name: fmt.Sprintf("s.m%d", i), Type: metric.U64})
	}
	for i := range 15 {
		process.Metrics = append(process.Metrics, &metric.Desc{Name: fmt.Sprintf("p.m%d", i), Type: metric.U64, Indom: "process"})
	}
	values := int64(0)
	items := func(yield func(archive.Item, error) bool) {
		s := &metric.Block{Group: system, Rows: []*metric.Instance{nil}, Cols: make([]metric.Column, 600)}
		p := &metric.Block{Group: process, Cols: make([]metric.Column, 15)}
		for i := range s.Cols {
			s.Cols[i].Bits = []uint64{uint64(i)}
		}
		for i := range 400 {
			p.Rows = append(p.Rows, someone(i))
			for c := range p.Cols {
				p.Cols[c].Bits = append(p.Cols[c].Bits, uint64(i*c))
			}
		}
		tick := &metric.Tick{Blocks: []*metric.Block{s, p}}
		for n := range b.N {
			wall := int64(1.8e18) + int64(n)*1e9
			tick.At = metric.Stamp{Wall: wall, Awake: wall, Cont: wall}
			s.At, p.At = tick.At, tick.At
			p.Rows[n%400] = someone(n + 400)
			s.Cols[n%600].Bits[0]++
			values += int64(tick.Values())
			if !yield(archive.Item{Archive: in, Tick: tick}, nil) {
				return
			}
		}
	}
	base := filepath.Join(b.TempDir(), "x")
	e := &exporter{ctx: context.Background(), base: base, report: &export.Report{}}
	b.ResetTimer()
	start := used(b)
	if err := e.run(iter.Seq2[archive.Item, error](items)); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(values)/(used(b)-start).Seconds()/1e6, "Mvalues/cpu-s")
	b.ReportMetric(float64(e.report.Bytes)/float64(values), "B/value")
}

func someone(n int) *metric.Instance {
	return &metric.Instance{Key: fmt.Sprint(n), Name: fmt.Sprintf("%06d worker", n%32768)}
}

// used is the processor time of this program, that of the kernel for it included.
func used(b *testing.B) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

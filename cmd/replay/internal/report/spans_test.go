package report

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/layout"
	"tachograph/store/storetest/proof"
)

// TestPageOfAMonth makes the page of 21 days, whose processes it shows by the span of a chunk: the
// page says so, and shows what they used on average.
func TestPageOfAMonth(t *testing.T) {
	const every, ticks = int64(20e9), 21 * 24 * 180
	b := proof.NewBuilder(t, filepath.Join(t.TempDir(), "live"))
	g := &metric.Group{Name: "process", Indom: "process", Metrics: []*metric.Desc{
		{Name: "proc.psinfo.utime", Type: metric.U64, Sem: metric.Counter, Units: metric.Milliseconds, Indom: "process", Class: metric.Process},
		{Name: "proc.memory.rss", Type: metric.U64, Sem: metric.Instant, Units: metric.Bytes, Indom: "process", Class: metric.Process},
	}}
	b.Update(func(b *layout.Builder) {
		var every metric.Intervals
		every[metric.Process] = 20 * time.Second
		b.Settings("", every)
	})
	var rows []*metric.Instance
	for i := range 3 {
		rows = append(rows, &metric.Instance{ID: uint64(i + 1), Rev: 1, Key: fmt.Sprintf("%d/%d", 10+i, i), Name: fmt.Sprintf("%06d p%d", 10+i, i)})
	}
	for i := range ticks {
		at := metric.Stamp{Wall: 1e18 + int64(i)*every, Cont: 1e12 + int64(i)*every, Awake: 1e12 + int64(i)*every}
		block := &metric.Block{Group: g, At: at, Rows: rows, Cols: make([]metric.Column, 2)}
		for k := range rows {
			block.Cols[0].Bits = append(block.Cols[0].Bits, uint64(i*(k+1)*1000))
			block.Cols[1].Bits = append(block.Cols[1].Bits, uint64(k+1)<<20)
		}
		b.Append(&metric.Tick{At: at, Class: metric.Process, Blocks: []*metric.Block{block}})
		if i%720 == 719 {
			b.Seal(nil)
		}
	}
	b.Seal(nil)
	r, err := store.Open(b.Finish(filepath.Join(t.TempDir(), "x.tacho")))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p := collect(t, r, Request{})
	seen := 0
	for _, plot := range p.doc.Plots {
		if plot.ID != "processes-cpu" && plot.ID != "processes-memory" {
			continue
		}
		seen++
		if !strings.Contains(plot.About, "the mean of up to 4h") {
			t.Errorf("%s does not say what a point is: %s", plot.ID, plot.About)
		}
		for i, l := range plot.Series {
			want := map[string][]string{"processes-cpu": {"15 %", "10.0 %", "5.0 %"}, "processes-memory": {"3 MB", "2 MB", "1 MB"}}[plot.ID]
			if i < len(want) && l.Average != want[i] {
				t.Errorf("%s of %s is %s on average, want %s", plot.ID, l.Name, l.Average, want[i])
			}
		}
	}
	if seen != 2 {
		t.Errorf("%d plots of processes", seen)
	}
}

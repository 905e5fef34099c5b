package remote

import (
	"fmt"
	"testing"

	"tachograph/cmd/replay/internal/push"
	"tachograph/sample/metric"
	"tachograph/store/archive"
)

// workload are ticks as a machine of some size has them: 400 metrics without
// instances and 40 of each of 16 instances each second, of which most move.
func workload(seconds int) (*archive.Info, []*metric.Tick) {
	info := &archive.Info{ID: "a", BootID: "b", Host: metric.Host{ID: "h", Name: "host", Platform: "linux"}, Intervals: metric.Intervals{metric.Fast: 1e9}}
	group := func(name, indom string, n int) *metric.Group {
		g := &metric.Group{Name: name, Indom: indom}
		for i := range n {
			g.Metrics = append(g.Metrics, &metric.Desc{Name: fmt.Sprintf("%s.number%d.of.something", name, i), Type: metric.U64, Sem: metric.Counter, Units: metric.Bytes, Indom: indom})
		}
		return g
	}
	groups := []*metric.Group{group("mem", "", 400), group("disk.dev", "disk", 40)}
	rows := [][]*metric.Instance{{nil}, nil}
	for i := range 16 {
		name := fmt.Sprintf("nvme%dn1", i)
		rows[1] = append(rows[1], &metric.Instance{ID: uint64(i + 1), Key: name, Name: name})
	}
	var ticks []*metric.Tick
	for s := range seconds {
		at := metric.Stamp{Wall: 1_800_000_000e9 + int64(s)*1e9, Cont: int64(s+1) * 1e9}
		t := &metric.Tick{Class: metric.Fast, At: at}
		for gi, g := range groups {
			b := &metric.Block{Group: g, At: at, Rows: rows[gi], Cols: make([]metric.Column, len(g.Metrics))}
			for c := range b.Cols {
				for r := range b.Rows {
					b.Cols[c].Bits = append(b.Cols[c].Bits, uint64(c*1000+r*100+s*s%977*(c%7)))
				}
			}
			t.Blocks = append(t.Blocks, b)
		}
		ticks = append(ticks, t)
	}
	return info, ticks
}

// BenchmarkEncode makes requests of ticks: names, labels, protobuf and snappy. Run it
// with -cpu 1.
func BenchmarkEncode(b *testing.B) {
	info, ticks := workload(50) // as many values as a batch has
	to, err := push.NewEndpoint("http://127.0.0.1:1/api/v1/write", push.Access{})
	if err != nil {
		b.Fatal(err)
	}
	s := NewSink(to, SinkOptions{Own: true})
	values, bytes := 0, 0
	for b.Loop() {
		batch := s.NewBatch(push.BatchID{Archive: info})
		for _, t := range ticks {
			t.At.Wall += 50e9
			for _, block := range t.Blocks {
				block.At.Wall += 50e9
			}
			if err := batch.Add(&archive.Item{Archive: info, Tick: t}); err != nil {
				b.Fatal(err)
			}
		}
		v, n := batch.Size()
		values, bytes = values+v, bytes+n
	}
	b.ReportMetric(float64(values)/b.Elapsed().Seconds(), "values/s")
	b.ReportMetric(float64(bytes)/float64(values), "bytes/value")
}

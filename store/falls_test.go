package store_test

import (
	"path/filepath"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/storetest/proof"
)

// What a counter's fall meant is judged anew by whoever reads: a summary that
// was stored by a recorder that took it for a reset is not believed.
func TestFallsInStoredSummaries(t *testing.T) {
	b := proof.NewBuilder(t, filepath.Join(t.TempDir(), "live"))
	d := &metric.Desc{Name: "kernel.all.cpu.idle", Type: metric.U64, Sem: metric.Counter, Units: metric.Milliseconds, Class: metric.Fast}
	g := &metric.Group{Name: "g", Metrics: []*metric.Desc{d}}
	const n = 200
	for i := range uint64(n) {
		v := 10_000 + 1000*i*i%7919 // it goes up and down
		if i == n-1 {
			v = 20_000
		}
		at := metric.Stamp{Wall: int64(1e18 + 1e9*i), Cont: int64(1e9 * (i + 1))}
		b.Append(&metric.Tick{At: at, Class: metric.Fast, Blocks: []*metric.Block{{
			Group: g, At: at, Rows: []*metric.Instance{nil}, Cols: []metric.Column{{Bits: []uint64{v}}},
		}}})
	}
	b.Seal(nil)
	path := b.Finish(filepath.Join(t.TempDir(), "x.tacho"))
	for _, c := range []struct {
		name     string
		complete func(*metric.Host, *metric.Desc)
		resets   bool
		increase float64
	}{
		{name: "as the archive says", resets: true},
		{"as the catalogue knows", func(h *metric.Host, d *metric.Desc) {
			if h.Name != "host" {
				t.Errorf("asked about a metric of %q", h.Name)
			}
			d.Falls = metric.NeverRestarts
		}, false, 10_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := store.OpenWith(c.complete, path)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for s := range r.Summarize(store.Selection{}) {
				if s.Count != n || c.resets != (s.Resets > 0) || !c.resets && s.Increase != c.increase {
					t.Errorf("%d values, %d resets, increase %v, %v", s.Count, s.Resets, s.Increase, err)
				}
				if s.Metric != r.Lookup(d.Name) || r.Metrics()[0] != s.Metric {
					t.Error("the metric is not the same everywhere")
				}
			}
		})
	}
}

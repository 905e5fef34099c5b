package store_test

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/storetest/proof"
)

// TestWholeArchivesInOneSummary compares the summaries of a whole archive with its values, and
// checks in which windows they are not used.
func TestWholeArchivesInOneSummary(t *testing.T) {
	b := proof.NewBuilder(t, filepath.Join(t.TempDir(), "live"))
	g := &metric.Group{Name: "disks", Indom: "disk", Metrics: []*metric.Desc{
		{Name: "disk.dev.used", Type: metric.F64, Sem: metric.Instant, Indom: "disk", Class: metric.Fast},
		{Name: "disk.dev.read", Type: metric.U64, Sem: metric.Counter, Indom: "disk", Class: metric.Fast},
		{Name: "disk.dev.errors", Type: metric.U64, Sem: metric.Counter, Indom: "disk", Class: metric.Fast},
		{Name: "disk.dev.model", Type: metric.String, Sem: metric.Discrete, Indom: "disk", Class: metric.Fast},
	}}
	load := &metric.Group{Name: "load", Metrics: []*metric.Desc{{Name: "load", Type: metric.F32, Sem: metric.Instant, Class: metric.Fast}}}
	var disks []*metric.Instance
	for i := range 3 {
		disks = append(disks, &metric.Instance{ID: uint64(i + 1), Rev: 1, Key: fmt.Sprint("sd", i), Name: fmt.Sprint("disk ", i)})
	}
	const from, every, n = int64(1e18), int64(5e9), 4 * 720
	for i := range n {
		at := metric.Stamp{Wall: from + int64(i)*every, Cont: int64(1e9) + int64(i)*every}
		rows := disks[:2]
		if i >= 1000 && i < 2000 {
			rows = disks
		}
		block := &metric.Block{Group: g, At: at, Rows: rows, Cols: make([]metric.Column, 4)}
		for k := range rows {
			errors := uint64(i / 100)
			if i > 2500 {
				errors = uint64(i - 2500) // It began again.
			}
			block.Cols[0].Bits = append(block.Cols[0].Bits, math.Float64bits(float64(i%977+k)/8))
			block.Cols[1].Bits = append(block.Cols[1].Bits, uint64(i*i*(k+1)))
			block.Cols[2].Bits = append(block.Cols[2].Bits, errors)
			block.Cols[3].Bits, block.Cols[3].Words = append(block.Cols[3].Bits, 0), []string{"fast"}
		}
		one := &metric.Block{Group: load, At: at, Rows: []*metric.Instance{nil}, Cols: []metric.Column{{Bits: []uint64{uint64(math.Float32bits(float32(i % 64)))}}}}
		b.Append(&metric.Tick{At: at, Class: metric.Fast, Blocks: []*metric.Block{block, one}})
		if i%360 == 359 {
			b.Seal(nil)
		}
	}
	b.Seal(nil)
	path := b.Finish(filepath.Join(t.TempDir(), "x.tacho"))
	const to = from + (n-1)*every
	for _, test := range []struct {
		name string
		sel  store.Selection
		used bool
	}{
		{"everything", store.Selection{Whole: true}, true},
		{"just everything", store.Selection{From: from, To: to, Whole: true}, true},
		{"cut before and at the end", store.Selection{Cuts: []int64{from - 1, to}, Whole: true}, true},
		{"one metric", store.Selection{Metrics: []string{"disk.dev.read", "disk.dev.errors"}, Whole: true}, true},
		{"not asked for", store.Selection{}, false},
		{"without the first", store.Selection{From: from + 1, Whole: true}, false},
		{"without the last", store.Selection{To: to - 1, Whole: true}, false},
		{"cut at the first", store.Selection{Cuts: []int64{from}, Whole: true}, false},
		{"one key", store.Selection{Keys: []string{"sd1"}, Whole: true}, false},
		{"one that is sought", store.Selection{Instance: func(_ string, in *metric.Instance) bool { return in.Key == "sd2" }, Whole: true}, false},
		{"their spread", store.Selection{Spread: true, Whole: true}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := store.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			want := make(map[string]*store.Summary)
			for run := range r.Select(test.sel) {
				if run.Metric.Type != metric.String {
					plainSummary(want, run)
				}
			}
			got := make(map[string]*store.Summary)
			pieces := make(map[string]int)
			for s := range r.Summarize(test.sel) {
				name := seriesName(s.Metric, s.Instance)
				if got[name] == nil {
					got[name] = &store.Summary{Metric: s.Metric, Instance: s.Instance}
				}
				join(got[name], s)
				pieces[s.Metric.Name]++
				if whole := test.used && s.Metric.Name != "disk.dev.errors"; whole != (s.Longest != 0) {
					t.Errorf("%s: the longest pause is %d", name, s.Longest)
				}
			}
			for name, s := range got {
				compareSummary(t, want[name], s)
			}
			if len(got) != len(want) || len(got) == 0 {
				t.Errorf("%d series, want %d", len(got), len(want))
			}
			if reads := pieces["disk.dev.read"]; test.used && reads != 3 {
				t.Errorf("%d summaries of 3 disks", reads)
			}
		})
	}
}

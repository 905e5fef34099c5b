package query

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/layout"
	"tachograph/store/storetest/proof"
)

// Gauges that are worked out from summaries, and evaluated where their maximum may
// be, are those that are evaluated value by value.
func TestGaugesAreThoseOfValues(t *testing.T) {
	proof.Unraced(t)
	for seed := range uint64(proof.Pick(t, 4, 40)) {
		r := machine(t, seed)
		info := r.Archives()[0]
		rnd := rand.New(rand.NewPCG(seed, 2))
		for i := range proof.Pick(t, 10, 10) {
			w := Window{From: info.From, To: info.To}
			points := []int{1, 5, 40}[i%3]
			if i > 2 {
				w.From += rnd.Int64N((info.To - info.From) / 2)
				w.To -= rnd.Int64N((info.To - info.From) / 3)
			}
			got, err := Gauges(r, w, points)
			if err != nil {
				t.Fatal(err)
			}
			var want []*Gauge
			for k := range gauges {
				g, err := measure(r, &gauges[k], w, Cores(r, w), points)
				if err != nil {
					t.Fatal(err)
				}
				if g != nil {
					want = append(want, g)
				}
			}
			if len(got) != len(want) || len(got) < 6 {
				t.Fatalf("%d gauges, want %d", len(got), len(want))
			}
			for k, g := range got {
				x := want[k]
				same := func(a, b float64) bool { return a == b || math.Abs(a-b) <= 1e-9*math.Abs(b) || a != a && b != b }
				if g.Name != x.Name || g.Expr != x.Expr || g.Count != x.Count || g.Max != x.Max || g.MaxAt != x.MaxAt || g.Last != x.Last ||
					g.LastAt != x.LastAt || !same(g.Of, x.Of) || !same(g.Mean, x.Mean) {
					t.Errorf("window %d: %+v\nwant %+v", i, g, x)
				}
				near := func(a, b float64) bool { return same(a, b) || points == 1 && math.Abs(a-b) < 1e-3*b } // a mean by time
				if !slices.EqualFunc(g.Points, x.Points, near) {
					t.Errorf("window %d: points %v\nwant %v", i, g.Points, x.Points)
				}
			}
		}
		r.Close()
	}
}

// A clock that is set back or ahead, once or there and back, takes no gauge away:
// what summaries cannot tell is evaluated value by value.
func TestGaugesOfAClockThatIsSet(t *testing.T) {
	proof.Unraced(t)
	const hour = int64(3600e9)
	jumps := map[string]map[int]int64{
		"back in the first chunk":     {5: -30e9},
		"back in a chunk":             {14*120 + 60: -10 * 60e9},
		"back between two chunks":     {14 * 120: -10 * 60e9},
		"back behind the first":       {14*120 + 119: -10 * 60e9},
		"back by more than all":       {20*120 + 7: -3 * hour},
		"back with the last reading":  {30*120 - 1: -hour},
		"ahead and back in a chunk":   {3*120 + 10: 24 * hour, 3*120 + 70: -24 * hour},
		"ahead, back three later":     {3*120 + 10: 24 * hour, 6*120 + 70: -24 * hour},
		"back and ahead in one":       {3*120 + 10: -24 * hour, 3*120 + 70: 24 * hour},
		"back by less than a reading": {9*120 + 9: -200e6},
		"back again and again":        {121: -300e9, 500: -300e9, 1100: -300e9, 2222: -300e9, 3003: -300e9},
		"ahead by a day":              {14*120 + 60: 24 * hour},
	}
	for name, set := range jumps {
		t.Run(name, func(t *testing.T) {
			r := machineSet(t, 1, func(n int) int64 { return set[n] })
			defer r.Close()
			info := r.Archives()[0]
			w := Window{From: info.From, To: info.To}
			got, err := Gauges(r, w, 5)
			if err != nil {
				t.Fatal(err)
			}
			var want []*Gauge
			for k := range gauges {
				g, err := measure(r, &gauges[k], w, Cores(r, w), 5)
				if err != nil {
					t.Fatal(err)
				}
				if g != nil {
					want = append(want, g)
				}
			}
			if len(got) != len(want) || len(got) < 6 {
				t.Fatalf("%d gauges, want %d", len(got), len(want))
			}
			for k, g := range got {
				if x := want[k]; g.Name != x.Name || g.Count != x.Count || g.Max != x.Max || math.Abs(g.Mean-x.Mean) > 1e-9*math.Abs(x.Mean) {
					t.Errorf("%s: %d values, mean %v, max %v; want %d, %v, %v", g.Name, g.Count, g.Mean, g.Max, x.Count, x.Mean, x.Max)
				}
			}
		})
	}
}

// machine is an archive of thirty chunks of a machine with peaks, that sleeps, whose
// disks come and go and whose counters fall.
func machine(t *testing.T, seed uint64) *store.Reader {
	t.Helper()
	return machineSet(t, seed, func(int) int64 { return 0 })
}

// machineSet is that machine with a wall clock that jumps: set is by how much before a reading.
func machineSet(t *testing.T, seed uint64, set func(reading int) int64) *store.Reader {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 7))
	desc := func(name string, sem metric.Semantics, u metric.Units, indom string) *metric.Desc {
		return &metric.Desc{Name: name, Type: metric.U64, Sem: sem, Units: u, Class: metric.Fast, Indom: indom}
	}
	fixed := &metric.Group{Name: "fixed", Metrics: []*metric.Desc{desc("hinv.ncpu", metric.Discrete, metric.NoUnits, ""), desc("mem.physmem", metric.Discrete, metric.Kbytes, "")}}
	for _, d := range fixed.Metrics {
		d.Class = metric.Static
	}
	one := &metric.Group{Name: "one", Metrics: []*metric.Desc{
		desc("kernel.all.cpu.user", metric.Counter, metric.Milliseconds, ""), desc("kernel.all.cpu.sys", metric.Counter, metric.Milliseconds, ""),
		desc("kernel.all.cpu.nice", metric.Counter, metric.Milliseconds, ""), desc("kernel.all.cpu.wait.total", metric.Counter, metric.Milliseconds, ""),
		desc("mem.util.available", metric.Instant, metric.Kbytes, ""), desc("network.all.in.bytes", metric.Counter, metric.Bytes, ""),
		desc("network.all.out.bytes", metric.Counter, metric.Bytes, ""), desc("disk.all.read_bytes", metric.Counter, metric.Kbytes, "")}}
	disks := &metric.Group{Name: "disks", Indom: "disk", Metrics: []*metric.Desc{desc("disk.dev.avactive", metric.Counter, metric.Milliseconds, "disk")}}
	b := proof.NewBuilder(t, filepath.Join(t.TempDir(), "a.tacho"))
	b.Update(func(b *layout.Builder) {
		b.Settings("", metric.Intervals{metric.Fast: time.Second, metric.Static: metric.Once})
	})
	at := metric.Stamp{Wall: 1_790_000_000e9, Cont: 1e12, Awake: 1e12}
	blockOf := func(g *metric.Group, rows []*metric.Instance, values ...uint64) *metric.Block {
		block := &metric.Block{Group: g, At: at, Rows: rows, Cols: make([]metric.Column, len(g.Metrics))}
		for c := range block.Cols {
			block.Cols[c].Bits = values[c*len(rows) : (c+1)*len(rows)]
		}
		return block
	}
	alone := []*metric.Instance{nil}
	first := blockOf(fixed, alone, 4, 16<<20)
	b.Append(&metric.Tick{Class: metric.Static, At: at, Blocks: []*metric.Block{first}})
	vda, vdb := &metric.Instance{ID: 1, Key: "vda", Name: "vda"}, &metric.Instance{ID: 2, Key: "vdb", Name: "vdb"}
	sum := make([]uint64, len(one.Metrics))
	var busy [2]uint64
	for part := range 30 {
		var events []metric.Event
		for i := range 120 {
			step := int64(1e9) + rnd.Int64N(4e6) - 2e6
			if part == 12 && i == 30 {
				step = 600e9
				events = []metric.Event{{At: metric.Stamp{Wall: at.Wall + step, Cont: at.Cont + step, Awake: at.Awake + 1e9}, Kind: metric.EventWake,
					Labels: []metric.Label{{Name: "seconds", Value: fmt.Sprint(599)}}}}
			}
			if part == 17 && i == 60 {
				step = 30e9 // late
			}
			jump := set(part*120 + i)
			at = metric.Stamp{Wall: at.Wall + step + jump, Cont: at.Cont + step, Awake: at.Awake + 1e9}
			if max(jump, -jump) > 250e6 {
				events = append(events, metric.Event{At: at, Kind: metric.EventClockStep, Labels: []metric.Label{{Name: "step", Value: fmt.Sprint(jump / 1e9)}}})
			}
			for k := range sum {
				sum[k] += rnd.Uint64N(1000)
				if rnd.IntN(400) == 0 {
					sum[k] += rnd.Uint64N(3000)
				}
			}
			sum[4] = 4<<20 + rnd.Uint64N(1<<20)
			switch {
			case part == 5 && i == 50:
				sum[5] = 7 // reset
			case part == 8 && i == 90:
				sum[0] -= min(sum[0]/100, 20) // jitter
			case part == 20 && i == 119:
				sum[1] -= 10
			}
			busy[0] += rnd.Uint64N(900)
			if part > 20 {
				busy[1] += rnd.Uint64N(900)
			}
			block := blockOf(one, alone, slices.Clone(sum)...)
			if part == 25 && i == 10 {
				block.Cols[2].Miss = []metric.Reason{metric.TimedOut}
			}
			rows := []*metric.Instance{vda, vdb}
			if part < 6 {
				rows = rows[:1]
			}
			b.Append(&metric.Tick{Class: metric.Fast, At: at, Blocks: []*metric.Block{block, blockOf(disks, rows, slices.Clone(busy[:len(rows)])...)}})
		}
		b.Seal(events)
	}
	b.Close()
	r, err := store.Open(b.Path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

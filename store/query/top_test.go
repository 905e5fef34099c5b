package query_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

// TestTopAgainstOracle adds up what random processes used, reading by reading,
// and compares with the ranking.
func TestTopAgainstOracle(t *testing.T) {
	const every = 5 * second
	desc := counterDesc("proc.psinfo.utime", metric.Milliseconds, metric.Process, "process")
	group := &metric.Group{Name: "process", Indom: "process", Metrics: []*metric.Desc{desc}}
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 11))
		type proc struct {
			in        *metric.Instance
			from, end int
			value     float64
			rate      float64
			seen      map[int]float64
		}
		ticks := 30 + rnd.IntN(100)
		var procs []*proc
		for i := range 20 {
			p := &proc{in: &metric.Instance{ID: uint64(i + 1), Key: fmt.Sprint(i), Name: fmt.Sprintf("%06d name%d", i+10, i%4)}, seen: make(map[int]float64)}
			if i%5 != 0 {
				p.in.Labels = []metric.Label{{Name: metric.OwnerApp, Value: fmt.Sprint("app", i%3)}}
			}
			p.from, p.rate = max(rnd.IntN(2*ticks)-ticks, 0), rnd.ExpFloat64()*1000
			p.end = p.from + 1 + rnd.IntN(ticks)
			p.value = float64(rnd.IntN(100000))
			procs = append(procs, p)
		}
		part := func(n int) *querytest.Part {
			return &querytest.Part{Catalog: []*metric.Desc{desc}, Info: store.ArchiveInfo{ID: fmt.Sprint(n), Host: metric.Host{ID: "h"}, BootID: "b",
				Intervals: metric.Intervals{metric.Process: time.Duration(every)}}}
		}
		parts := []*querytest.Part{part(0)}
		start := int64(1_790_000_000) * second
		for n := range ticks {
			if n > 5 && rnd.IntN(40) == 0 {
				parts = append(parts, part(n)) // Rotated.
			}
			at := metric.Stamp{Wall: start + int64(n)*every, Cont: int64(n+100) * every}
			b := &metric.Block{Group: group, At: at, Cols: make([]metric.Column, 1)}
			for _, p := range procs {
				if n < p.from || n >= p.end {
					continue
				}
				p.value += float64(int(p.rate * rnd.Float64()))
				p.seen[n] = p.value
				b.Rows = append(b.Rows, p.in)
				b.Cols[0].Bits = append(b.Cols[0].Bits, uint64(p.value))
			}
			last := parts[len(parts)-1]
			last.Ticks = append(last.Ticks, &metric.Tick{Class: metric.Process, At: at, Blocks: []*metric.Block{b}})
		}
		a := querytest.New(parts...)
		lo := rnd.IntN(ticks - 1)
		hi := lo + 1 + rnd.IntN(ticks-lo-1)
		w := query.Window{From: start + int64(lo)*every + rnd.Int64N(every), To: start + int64(hi)*every + rnd.Int64N(every)}
		want := make(map[string]float64)
		byName, byApp := make(map[string]float64), make(map[string]float64)
		for _, p := range procs {
			total := 0.0
			for n := lo + 1; n <= hi; n++ {
				x, ok := p.seen[n]
				prev, before := p.seen[n-1]
				switch {
				case !ok:
				case before:
					total += x - prev
				case n == p.from:
					total += x // All of it since it began.
				}
			}
			if total > 0 {
				want[p.in.Key] = total / 1000
				byName[query.ProcessName(p.in)] += total / 1000
				byApp[cmp.Or(p.in.Label(metric.OwnerApp), "(no app)")] += total / 1000
			}
		}
		for group, want := range map[query.Grouping]map[string]float64{query.PerProcess: want, query.PerName: byName, query.PerApp: byApp} {
			r, err := query.Top(a, w, query.ByCPU, group, 0)
			if err != nil {
				t.Fatal(err)
			}
			last := 0.0
			for i, c := range r.Consumers {
				key := c.Instance.Key
				if group != query.PerProcess {
					key = c.Name
				}
				if x := c.CPUTime(); !near(x, want[key]) || i > 0 && x > last {
					t.Fatalf("seed %d, ticks %d to %d of %d: %s %s used %v, want %v", seed, lo, hi, ticks, group, key, x, want[key])
				}
				last = c.CPUTime()
			}
			if len(r.Consumers) != len(want) {
				t.Fatalf("seed %d: %d consumers, want %d", seed, len(r.Consumers), len(want))
			}
		}
	}
}

package query

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/layout"
	"tachograph/store/storetest/proof"
)

// Times that are all over six centuries, whatever gaps are between them, do not have a
// chunk decoded for each of its values.
func TestScatteredTimes(t *testing.T) {
	proof.Unraced(t)
	readings := proof.Pick(t, 20_000, 100_000)
	for name, next := range map[string]func(*rand.Rand, int) int64{
		"anywhere":        func(rnd *rand.Rand, _ int) int64 { return rnd.Int64N(1<<62)*2 - 1<<62 },
		"ever rarer":      func(rnd *rand.Rand, i int) int64 { return int64(math.Exp2(float64(i) * 61 / float64(readings))) },
		"a few at a time": func(rnd *rand.Rand, i int) int64 { return int64(i/200)<<53 + int64(i%200)*1e9 },
		"many at a time":  func(rnd *rand.Rand, i int) int64 { return int64(i/20000)<<59 + int64(i%20000)*1e9 },
	} {
		t.Run(name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(1, 1))
			g := &metric.Group{Name: "one"}
			for _, n := range []string{"kernel.all.cpu.user", "kernel.all.cpu.sys", "kernel.all.cpu.nice", "kernel.all.cpu.idle"} {
				g.Metrics = append(g.Metrics, &metric.Desc{Name: n, Type: metric.U64, Sem: metric.Counter, Units: metric.Milliseconds, Class: metric.Fast})
			}
			b := proof.NewBuilder(t, filepath.Join(t.TempDir(), "a.tacho"))
			b.Update(func(b *layout.Builder) { b.Settings("", metric.Intervals{metric.Fast: time.Second}) })
			for i := range readings {
				at := metric.Stamp{Wall: next(rnd, i) + 1e9, Cont: int64(i+1) * 1e9, Awake: int64(i+1) * 1e9}
				block := &metric.Block{Group: g, At: at, Rows: []*metric.Instance{nil}, Cols: make([]metric.Column, len(g.Metrics))}
				for c := range block.Cols {
					block.Cols[c].Bits = []uint64{rnd.Uint64N(1 << 30)}
				}
				b.Append(&metric.Tick{Class: metric.Fast, At: at, Blocks: []*metric.Block{block}})
			}
			b.Seal(nil)
			b.Close()
			r, err := store.Open(b.Path)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			counted := &counting{Reader: r}
			proof.Brief(t, name, func() {
				list, err := Gauges(counted, Window{}, 40)
				if err != nil || len(list) == 0 || counted.n > 60 {
					t.Errorf("%d gauges after %d times read: %v", len(list), counted.n, err)
				}
			})
		})
	}
}

// counting counts how often it is read.
type counting struct {
	*store.Reader
	n int
}

func (c *counting) Select(sel store.Selection) iter.Seq[*store.Run] {
	c.n++
	return c.Reader.Select(sel)
}

// What is remembered is what the archive says.
func TestMemo(t *testing.T) {
	r := machine(t, 3)
	defer r.Close()
	info := r.Archives()[0]
	rnd := rand.New(rand.NewPCG(3, 3))
	m := newMemo(r, info.From+(info.To-info.From)/5)
	for i := range proof.Pick(t, 10, 60) {
		sel := store.Selection{Metrics: []string{"disk.dev.avactive"}, Prior: i%2 == 0}
		if i%3 == 0 {
			sel.Metrics[0] = "kernel.all.cpu.nice"
		}
		if i%5 == 0 {
			sel.Keys = []string{"vdb"}
		}
		sel.From = info.From + rnd.Int64N(info.To-info.From)
		sel.To = sel.From + rnd.Int64N(info.To-sel.From+1)
		all := func(a Archive) map[string]string {
			out := make(map[string]string)
			for run := range a.Select(sel) {
				key := idOf(run.Archive, run.Metric, run.Instance).key
				for k, wall := range run.Wall {
					out[key] += fmt.Sprintln(wall, run.Cont[k], run.At(k))
				}
			}
			return out
		}
		if got, want := all(m), all(r); !maps.Equal(got, want) {
			t.Errorf("%+v: %v\nwant %v", sel, got, want)
		}
	}
	if len(m.of) != 2 {
		t.Errorf("%d metrics are remembered", len(m.of))
	}
}

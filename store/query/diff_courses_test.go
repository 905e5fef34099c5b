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

// What summaries tell of a window and its slots is what the values tell, whether the
// window cuts chunks or holds many of them: the mean of a counter is what it gained by
// the time between its readings, whatever slots there are, that of a level its readings'.
func TestCoursesAreThoseOfValues(t *testing.T) {
	r := manyChunks(t)
	defer r.Close()
	info := r.Archives()[0]
	rnd := rand.New(rand.NewPCG(1, 1))
	var names []string
	for _, m := range r.Metrics() {
		names = append(names, m.Name)
	}
	seamed := false
	for i := range 30 {
		w := Window{From: info.From, To: info.To}
		if i > 0 {
			w.From += rnd.Int64N(info.To - info.From - 200e9)
			w.To = w.From + 200e9 + rnd.Int64N(info.To-w.From-200e9+1)
		}
		d := &differ{a: r}
		windows := []Window{w}
		if i%3 == 2 {
			middle := w.From + (w.To-w.From)/2
			windows = []Window{{From: w.From, To: middle}, {From: middle + 1, To: w.To}}
		}
		for _, w := range windows {
			seamed = seamed || len(r.Seams(nil, w.From, w.To)) >= fewSeams
		}
		got := []map[string]course{{}, {}}
		err := d.courses(windows, names, func(n int, s *Series, c course) { got[n][s.Name] = c })
		if err != nil {
			t.Fatal(err)
		}
		for n, w := range windows {
			edges := d.edges(w)
			for _, name := range names {
				got, want := got[n][name], courseOf(r, w, edges, name)
				if !alike(got.slots, want.slots) || len(want.slots) > 0 && !alike(sample{got.mean()}, sample{want.mean()}) {
					t.Errorf("%s in window %d of %d: %v, mean %v, want %v, mean %v", name, n, i, got.slots, got.mean(), want.slots, want.mean())
				}
			}
		}
	}
	if !seamed {
		t.Error("no window had slots that end with chunks")
	}
}

func alike(a, b sample) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) <= 1e-9*math.Max(math.Abs(x), math.Abs(y)) })
}

// courseOf works out a course from the values alone.
func courseOf(r *store.Reader, w Window, edges []int64, name string) course {
	sel := w.Selection(name)
	sel.Prior = true
	var out course
	var sum, weight float64
	var before *store.Point
	var d *metric.Desc
	slot := 0
	finish := func() {
		switch {
		case weight > 0:
			out.slots = append(out.slots, sum/weight)
		case d.Sem == metric.Discrete && len(out.slots) > 0:
			out.slots = append(out.slots, out.slots[len(out.slots)-1])
		}
		if d.Sem != metric.Discrete {
			out.sum, out.weight = out.sum+sum, out.weight+weight
		}
		sum, weight = 0, 0
	}
	for run := range r.Select(sel) {
		d = run.Metric
		for i, wall := range run.Wall {
			at, _ := slices.BinarySearch(edges, wall)
			for wall >= w.From && slot < at {
				finish()
				slot++
			}
			if run.Miss != nil && run.Miss[i] != metric.Present {
				continue
			}
			p := store.Point{Wall: wall, Cont: run.Cont[i], Bits: run.Bits[i]}
			x := metric.Number(d.Type, p.Bits)
			switch {
			case wall < w.From:
			case d.Sem == metric.Counter && before != nil && p.Cont-before.Cont <= missedTicks*1e9 && p.Bits >= before.Bits:
				seconds := float64(p.Cont-before.Cont) / 1e9
				in := math.Min(seconds, float64(wall-w.From)/1e9)
				sum += float64((x - metric.Number(d.Type, before.Bits)) * in / seconds)
				weight += in
			case d.Sem == metric.Discrete:
				sum, weight = x, 1
			case d.Sem == metric.Instant:
				sum, weight = sum+x, weight+1
			}
			before = &p
		}
	}
	for ; slot <= len(edges); slot++ {
		finish()
	}
	if d.Sem == metric.Discrete {
		out.sum, out.weight = out.slots.mean(), 1
	}
	return out
}

// manyChunks is an archive of twenty chunks, with a sleep, absences and a reset.
func manyChunks(t *testing.T) *store.Reader {
	t.Helper()
	rnd := rand.New(rand.NewPCG(4, 4))
	desc := func(name string, typ metric.Type, sem metric.Semantics) *metric.Desc {
		return &metric.Desc{Name: name, Type: typ, Sem: sem, Units: metric.Counts, Class: metric.Fast}
	}
	g := &metric.Group{Name: "g", Metrics: []*metric.Desc{
		desc("level", metric.F64, metric.Instant), desc("whole", metric.I64, metric.Instant), desc("gains", metric.U64, metric.Counter),
		desc("idle", metric.U64, metric.Counter), desc("state", metric.U32, metric.Discrete), desc("reset", metric.U64, metric.Counter),
		desc("absent", metric.I64, metric.Instant),
	}}
	b := proof.NewBuilder(t, filepath.Join(t.TempDir(), "a.tacho"))
	b.Update(func(b *layout.Builder) { b.Settings("", metric.Intervals{metric.Fast: time.Second}) })
	at := metric.Stamp{Wall: 1_790_000_000e9, Cont: 1e12, Awake: 1e12}
	var gains, idle, reset, state, whole uint64
	for part := range 20 {
		var events []metric.Event
		for i := range 100 {
			step := int64(1e9)
			if part == 12 && i == 30 {
				step = 600e9
				events = []metric.Event{{At: metric.Stamp{Wall: at.Wall + step, Cont: at.Cont + step, Awake: at.Awake + 1e9}, Kind: metric.EventWake,
					Labels: []metric.Label{{Name: "seconds", Value: fmt.Sprint(599)}}}}
			}
			at = metric.Stamp{Wall: at.Wall + step, Cont: at.Cont + step, Awake: at.Awake + 1e9}
			gains += rnd.Uint64N(1 << 16)
			whole += rnd.Uint64N(9)
			if rnd.IntN(500) == 0 {
				idle++
				state++
			}
			if reset += 1 + rnd.Uint64N(1000); part == 7 && i == 50 {
				reset = 0
			}
			bits := []uint64{math.Float64bits(rnd.NormFloat64()), whole, gains, idle, state, reset, uint64(rnd.IntN(99))}
			block := &metric.Block{Group: g, At: at, Rows: []*metric.Instance{nil}, Cols: make([]metric.Column, len(bits))}
			for c := range bits {
				block.Cols[c].Bits = bits[c : c+1]
			}
			if rnd.IntN(10) == 0 {
				block.Cols[6].Miss = []metric.Reason{metric.TimedOut}
			}
			b.Append(&metric.Tick{Class: metric.Fast, At: at, Blocks: []*metric.Block{block}})
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

package store_test

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/chunk"
	"tachograph/store/storetest"
	"tachograph/store/storetest/proof"
)

// read selects into a ledger.
func read(t *testing.T, r *store.Reader, sel store.Selection) storetest.Ledger {
	t.Helper()
	l := make(storetest.Ledger)
	for run := range r.Select(sel) {
		for i := range run.Wall {
			l.Note(run.Metric, run.Instance, metric.Stamp{Wall: run.Wall[i], Cont: run.Cont[i]}, run.At(i))
		}
	}
	return l
}

// history is all ticks in plain form.
type history struct {
	ticks []*metric.Tick
}

// ledger is what a reader should return of h.
func (h *history) ledger(keep func(d *metric.Desc, in *metric.Instance, at metric.Stamp) bool) storetest.Ledger {
	l := make(storetest.Ledger)
	for _, t := range h.ticks {
		for _, b := range t.Blocks {
			for i, in := range b.Rows {
				for c, d := range b.Group.Metrics {
					if keep(d, in, b.At) {
						l.Note(d, in, metric.Stamp{Wall: b.At.Wall, Cont: b.At.Cont}, b.Cols[c].At(d.Type, i))
					}
				}
			}
		}
	}
	return l
}

func everything(*metric.Desc, *metric.Instance, metric.Stamp) bool { return true }

// record makes a random history and its archives, one with small chunks and a
// finished one.
func record(t *testing.T, seed uint64, ticks int) (h *history, paths []string) {
	w := storetest.NewWorld(seed)
	dir := t.TempDir()
	b := proof.NewBuilder(t, filepath.Join(dir, "small"))
	h = &history{}
	for range ticks {
		tick := w.Tick()
		h.ticks = append(h.ticks, tick)
		b.Append(tick)
		if w.R.IntN(15) == 0 {
			b.Seal(nil)
		}
	}
	b.Seal(nil)
	return h, []string{b.Path, b.Finish(filepath.Join(dir, "finished.tacho"))}
}

func TestSelectRandom(t *testing.T) {
	proof.Unraced(t)
	for seed := range uint64(40) {
		h, paths := record(t, seed, 60)
		for _, path := range paths {
			r, err := store.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			if d := r.Archives()[0].Damage; d != nil {
				t.Fatal(d)
			}
			read(t, r, store.Selection{}).Compare(t, h.ledger(everything))

			last := h.ticks[len(h.ticks)-1]
			from, to := h.ticks[len(h.ticks)/3].At.Wall, h.ticks[len(h.ticks)*2/3].At.Wall
			if from > to {
				from, to = to, from
			}
			group := last.Blocks[0].Group
			name := group.Metrics[0].Name
			got := read(t, r, store.Selection{Metrics: []string{name}, From: from, To: to})
			got.Compare(t, h.ledger(func(d *metric.Desc, _ *metric.Instance, at metric.Stamp) bool {
				return d.Name == name && at.Wall >= from && at.Wall <= to
			}))

			if rows := last.Blocks[0].Rows; group.Indom != "" && len(rows) > 0 {
				key := rows[0].Key
				want := h.ledger(func(d *metric.Desc, in *metric.Instance, _ metric.Stamp) bool {
					return in == nil || in.Key == key
				})
				read(t, r, store.Selection{Keys: []string{key}}).Compare(t, want)
				read(t, r, store.Selection{Instance: func(_ string, in *metric.Instance) bool { return in.Key == key }}).Compare(t, want)
			}
			if d := r.Archives()[0].Damage; d != nil {
				t.Fatal(d)
			}
			r.Close()
		}
	}
}

// TestSelectOrder checks that runs come metric by metric, instance by
// instance, in the order of time, and that instances keep their pointers.
func TestSelectOrder(t *testing.T) {
	_, paths := record(t, 3, 80)
	r, err := store.Open(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	type series struct {
		name string
		in   *metric.Instance
	}
	done := make(map[series]bool)
	keys := make(map[string]*metric.Instance)
	var now series
	var cont int64
	var names []string
	for run := range r.Select(store.Selection{}) {
		s := series{run.Metric.Name, run.Instance}
		if s != now {
			if done[s] {
				t.Fatalf("%v comes back", s)
			}
			done[now] = true
			now, cont = s, -1
		}
		if run.Cont[0] <= cont {
			t.Fatalf("%v: time goes back", s)
		}
		cont = run.Cont[len(run.Cont)-1]
		if run.Instance != nil {
			k := run.Metric.Indom + run.Instance.Key
			if keys[k] != nil && keys[k] != run.Instance {
				t.Fatalf("%s has two pointers", k)
			}
			keys[k] = run.Instance
		}
		names = append(names, run.Metric.Name)
	}
	if !slices.IsSorted(names) {
		t.Fatal("metrics are out of order")
	}
}

// TestPrior checks that the value before the window comes with it.
func TestPrior(t *testing.T) {
	for seed := range uint64(20) {
		h, paths := record(t, seed, 50)
		k := len(h.ticks) / 2
		from := h.ticks[k].At.Wall
		for i, tick := range h.ticks {
			if i < k && tick.At.Wall+1e6 >= from || i > k && tick.At.Wall < from {
				from = 0 // a stepped clock: what is before is another test's matter
				break
			}
		}
		if from == 0 {
			continue
		}
		// Of each group, the rows of the last block before the window.
		latest := make(map[string]metric.Stamp)
		for _, tick := range h.ticks[:k] {
			for _, b := range tick.Blocks {
				latest[b.Group.Name] = b.At
			}
		}
		group := make(map[*metric.Desc]string)
		for _, tick := range h.ticks {
			for _, b := range tick.Blocks {
				for _, d := range b.Group.Metrics {
					group[d] = b.Group.Name
				}
			}
		}
		want := h.ledger(func(d *metric.Desc, _ *metric.Instance, at metric.Stamp) bool {
			return at.Wall >= from || at == latest[group[d]]
		})
		for _, path := range paths {
			r, err := store.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			read(t, r, store.Selection{From: from, Prior: true}).Compare(t, want)
			r.Close()
		}
	}
}

func TestSummarizeRandom(t *testing.T) {
	proof.Unraced(t)
	for seed := range uint64(proof.Pick(t, 10, 30)) {
		h, paths := record(t, seed, 200)
		from, to := h.ticks[20].At.Wall, h.ticks[170].At.Wall
		for _, window := range [][2]int64{{0, 0}, {min(from, to), max(from, to)}} {
			sel := store.Selection{From: window[0], To: window[1]}
			for _, path := range paths {
				r, err := store.Open(path)
				if err != nil {
					t.Fatal(err)
				}
				want := make(map[string]*store.Summary)
				for run := range r.Select(sel) {
					if run.Metric.Type != metric.String {
						plainSummary(want, run)
					}
				}
				got := make(map[string]*store.Summary)
				for s := range r.Summarize(sel) {
					name := seriesName(s.Metric, s.Instance)
					if got[name] == nil {
						got[name] = &store.Summary{Metric: s.Metric, Instance: s.Instance}
					}
					join(got[name], s)
				}
				for name, s := range got {
					compareSummary(t, want[name], s)
				}
				if len(got) != len(want) {
					t.Fatalf("%d summaries, want %d", len(got), len(want))
				}
				r.Close()
			}
		}
	}
}

// join continues s with the piece that comes next.
func join(s, next *store.Summary) {
	s.Missing += next.Missing
	if next.Count == 0 {
		return
	}
	d := s.Metric
	if s.Count == 0 {
		s.First, s.Min, s.Max = next.First, next.Min, next.Max
	} else {
		s.Weighted += metric.Number(d.Type, next.First.Bits) * float64(next.First.Cont-s.Last.Cont) / 1e9
		if d.Sem == metric.Counter {
			gain, how := metric.Increase(d, s.Last.Bits, next.First.Bits, float64(next.First.Cont-s.Last.Cont)/1e9)
			s.Increase += gain
			if how == metric.Wrapped {
				s.Wraps++
			}
			if how == metric.Restarted {
				s.Resets++
			}
		}
		if math.IsNaN(metric.Number(d.Type, s.Min)) || chunk.Less(d.Type, next.Min, s.Min) {
			s.Min = next.Min
		}
		if math.IsNaN(metric.Number(d.Type, s.Max)) || chunk.Less(d.Type, s.Max, next.Max) {
			s.Max = next.Max
		}
	}
	s.Count += next.Count
	s.Sum += next.Sum
	s.Weighted += next.Weighted
	s.Increase += next.Increase
	s.Resets += next.Resets
	s.Wraps += next.Wraps
	s.Last = next.Last
}

func seriesName(d *metric.Desc, in *metric.Instance) string {
	if in == nil {
		return d.Name
	}
	return d.Name + "/" + in.Key
}

// plainSummary adds up a run value by value.
func plainSummary(to map[string]*store.Summary, run *store.Run) {
	name := seriesName(run.Metric, run.Instance)
	s := to[name]
	if s == nil {
		s = &store.Summary{Metric: run.Metric, Instance: run.Instance}
		to[name] = s
	}
	d := run.Metric
	for i := range run.Wall {
		v := run.At(i)
		if v.Miss != metric.Present {
			s.Missing++
			continue
		}
		p := store.Point{run.Wall[i], run.Cont[i], v.Bits}
		x := v.Number()
		if s.Count == 0 {
			s.First = p
			s.Min, s.Max = v.Bits, v.Bits
		} else {
			s.Weighted += x * float64(p.Cont-s.Last.Cont) / 1e9
			if d.Sem == metric.Counter {
				gain, how := metric.Increase(d, s.Last.Bits, v.Bits, float64(p.Cont-s.Last.Cont)/1e9)
				s.Increase += gain
				if how == metric.Wrapped {
					s.Wraps++
				}
				if how == metric.Restarted {
					s.Resets++
				}
			}
			if lo := metric.Number(d.Type, s.Min); x < lo || math.IsNaN(lo) || d.Type == metric.U64 && v.Bits < s.Min || d.Type == metric.I64 && int64(v.Bits) < int64(s.Min) {
				s.Min = v.Bits
			}
			if hi := metric.Number(d.Type, s.Max); x > hi || math.IsNaN(hi) || d.Type == metric.U64 && v.Bits > s.Max || d.Type == metric.I64 && int64(v.Bits) > int64(s.Max) {
				s.Max = v.Bits
			}
		}
		s.Count++
		s.Sum += x
		s.Last = p
	}
}

func compareSummary(t *testing.T, want, got *store.Summary) {
	t.Helper()
	if want == nil {
		t.Fatalf("%s: not asked for", seriesName(got.Metric, got.Instance))
	}
	name := seriesName(got.Metric, got.Instance)
	if got.Count != want.Count || got.Missing != want.Missing || got.First != want.First || got.Last != want.Last ||
		got.Resets != want.Resets || got.Wraps != want.Wraps {
		t.Fatalf("%s: %+v, want %+v", name, got, want)
	}
	num := func(bits uint64) float64 { return metric.Number(got.Metric.Type, bits) }
	if !got.Metric.Type.Float() && (got.Min != want.Min || got.Max != want.Max) ||
		!near(num(got.Min), num(want.Min)) || !near(num(got.Max), num(want.Max)) {
		t.Fatalf("%s: %x to %x, want %x to %x", name, got.Min, got.Max, want.Min, want.Max)
	}
	if big := max(-num(got.Min), num(got.Max)); big > 1e12 || math.IsNaN(want.Sum) {
		return // sums of numbers so far apart depend on the order
	}
	if !near(got.Sum, want.Sum) || !near(got.Weighted, want.Weighted) || !near(got.Increase, want.Increase) {
		t.Fatalf("%s: sum %g, weighted %g, increase %g; want %g, %g, %g", name, got.Sum, got.Weighted, got.Increase, want.Sum, want.Weighted, want.Increase)
	}
}

func near(a, b float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-7*max(math.Abs(a), math.Abs(b)) || math.IsInf(a, 0) && math.IsNaN(b) || math.IsNaN(a) && math.IsInf(b, 0)
}

func TestLives(t *testing.T) {
	h, paths := record(t, 5, 100)
	for _, path := range paths {
		r, err := store.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		indoms := make(map[string]bool)
		want := make(map[string][2]int64)
		for _, tick := range h.ticks {
			for _, b := range tick.Blocks {
				for _, in := range b.Rows {
					if in == nil {
						continue
					}
					indoms[b.Group.Indom] = true
					k := b.Group.Indom + "/" + in.Key
					span, ok := want[k]
					if !ok {
						span = [2]int64{b.At.Wall, b.At.Wall}
					}
					want[k] = [2]int64{min(span[0], b.At.Wall), max(span[1], b.At.Wall)}
				}
			}
		}
		n := 0
		for indom := range indoms {
			for l := range r.Lives(indom, 0, 0) {
				n++
				// With a stepped clock the first and the last block need not
				// be the earliest and the latest.
				if w := want[indom+"/"+l.Instance.Key]; l.From < w[0] || l.To > w[1] || len(l.Names) == 0 {
					t.Fatalf("%s lived from %d to %d as %v, want %v", l.Instance.Key, l.From, l.To, l.Names, w)
				}
			}
		}
		if n != len(want) {
			t.Fatalf("%d lives, want %d", n, len(want))
		}
		r.Close()
	}
}

func TestEvents(t *testing.T) {
	dir := t.TempDir()
	b := proof.NewBuilder(t, filepath.Join(dir, "a"))
	var want []string
	for k := range 3 {
		var batch []metric.Event
		for i := range 10 {
			e := metric.Event{At: metric.Stamp{Wall: int64(k*100 + i), Cont: int64(k*100 + i), Awake: -1}, Kind: metric.EventProcessStart,
				Text: fmt.Sprint("text ", i), Indom: "process", Key: fmt.Sprint(i), Labels: []metric.Label{{Name: "pid", Value: fmt.Sprint(i)}}}
			if i == 3 {
				e.Kind = metric.EventGap
			}
			batch = append(batch, e)
			want = append(want, fmt.Sprint(e))
		}
		b.Seal(batch)
	}
	path := b.Finish(filepath.Join(dir, "b.tacho"))
	for _, p := range []string{b.Path, path} {
		r, err := store.Open(p)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for e := range r.Events(0, 0) {
			got = append(got, fmt.Sprint(e.Event))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v\nwant %v", got, want)
		}
		n := 0
		for e := range r.Events(100, 203, metric.EventGap) {
			if e.Kind != metric.EventGap {
				t.Fatal(e)
			}
			n++
		}
		if n != 2 {
			t.Fatalf("%d gaps, want 2", n)
		}
		r.Close()
	}
}

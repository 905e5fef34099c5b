package query_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

// sampled is a raw value as it was recorded, kept apart from the archive for
// computations that are too simple to be wrong.
type sampled struct {
	wall, cont int64
	boot       string
	part       int // archive
	value      metric.Value
}

// recorded is everything about one series.
type recorded struct {
	desc *metric.Desc
	in   *metric.Instance
	all  []sampled
}

// world is a random recording and what is known about it.
type world struct {
	archive *querytest.Archive
	series  []*recorded
	breaks  map[string][]int64 // continuous clocks by boot
	starts  []int64            // of the archives
	from    int64
	to      int64
	every   int64
}

const second = int64(1e9)

// newWorld records some metrics with resets, wraps, gaps, absences, sleeps and
// reboots over several archives.
func newWorld(seed uint64) *world {
	rnd := rand.New(rand.NewPCG(seed, 77))
	every := []int64{second, 2 * second, 10 * second}[rnd.IntN(3)]
	descs := []*metric.Desc{
		{Name: "a.wide", Type: metric.U64, Sem: metric.Counter, Units: metric.Bytes, Class: metric.Fast},
		{Name: "b.narrow", Type: metric.U64, Sem: metric.Counter, Width: 32, Units: metric.Counts, Class: metric.Fast},
		{Name: "c.clamped", Type: metric.U64, Sem: metric.Counter, Width: 31, Clamped: true, Units: metric.Counts, Class: metric.Fast},
		{Name: "d.time", Type: metric.U64, Sem: metric.Counter, Units: metric.Milliseconds, Class: metric.Fast},
		{Name: "e.level", Type: metric.F64, Sem: metric.Instant, Units: metric.Kbytes, Class: metric.Fast},
		{Name: "f.state", Type: metric.I64, Sem: metric.Discrete, Class: metric.Fast},
		{Name: "g.disk", Type: metric.U32, Sem: metric.Counter, Indom: "disk", Units: metric.Counts, Class: metric.Fast},
		{Name: "h.disk", Type: metric.I32, Sem: metric.Instant, Indom: "disk", Class: metric.Fast},
	}
	disks := []*metric.Instance{{ID: 1, Key: "sda", Name: "sda"}, {ID: 2, Key: "sdb", Name: "sdb"}}
	w := &world{breaks: make(map[string][]int64), every: every}
	find := make(map[string]*recorded)
	at := int64(1_790_000_000) * second
	w.from = at
	state := make(map[string]float64)
	var parts []*querytest.Part
	boot, bootAt := "b0", at-int64(rnd.IntN(1e6))*second
	one := &metric.Group{Name: "one", Metrics: descs[:6]}
	two := &metric.Group{Name: "disk", Indom: "disk", Metrics: descs[6:]}
	for n := range 1 + rnd.IntN(3) {
		p := &querytest.Part{Catalog: descs, Info: store.ArchiveInfo{
			ID: fmt.Sprint(n), Host: metric.Host{ID: "h", Name: "h"}, BootID: boot,
			Intervals: metric.Intervals{metric.Fast: time.Duration(every)},
		}}
		w.starts = append(w.starts, at)
		for range 20 + rnd.IntN(60) {
			stamp := metric.Stamp{Wall: at, Cont: at - bootAt, Awake: at - bootAt}
			t := &metric.Tick{Class: metric.Fast, At: stamp}
			rows := disks[:1+rnd.IntN(2)]
			t.Blocks = append(t.Blocks, w.block(rnd, one, []*metric.Instance{nil}, stamp, boot, state, find))
			t.Blocks = append(t.Blocks, w.block(rnd, two, rows, stamp, boot, state, find))
			p.Ticks = append(p.Ticks, t)
			w.to = at
			at += every + int64(rnd.IntN(1000))*1e4
			switch rnd.IntN(25) {
			case 0: // A sleep, with its event.
				long := int64(1+rnd.IntN(100)) * every
				at += long
				e := metric.Event{At: metric.Stamp{Wall: at - 1, Cont: at - 1 - bootAt}, Kind: metric.EventWake}
				p.Events = append(p.Events, e)
				w.breaks[boot] = append(w.breaks[boot], e.At.Cont)
			case 1: // A gap that nobody noticed.
				at += int64(1+rnd.IntN(20)) * every
			}
		}
		parts = append(parts, p)
		if rnd.IntN(2) == 0 {
			boot = fmt.Sprintf("b%d", n+1)
			at += 60 * second
			bootAt = at - 5*second
			clear(state)
		}
	}
	w.archive = querytest.New(parts...)
	w.archive.RunLength = 1 + rnd.IntN(20)
	return w
}

func (w *world) block(rnd *rand.Rand, g *metric.Group, rows []*metric.Instance, at metric.Stamp, boot string, state map[string]float64, find map[string]*recorded) *metric.Block {
	b := &metric.Block{Group: g, At: at, Rows: rows, Cols: make([]metric.Column, len(g.Metrics))}
	for c, d := range g.Metrics {
		for _, in := range rows {
			key := d.Name
			if in != nil {
				key += in.Key
			}
			x, known := state[key]
			top := math.Pow(2, float64(min(d.Bits(), 50)))
			if !known {
				x = math.Floor(rnd.Float64() * top)
			}
			v := metric.Value{Type: d.Type}
			switch {
			case d.Sem == metric.Counter && rnd.IntN(30) == 0:
				x = math.Floor(rnd.Float64() * 1000)
			case d.Sem == metric.Counter && rnd.IntN(15) == 0:
				x -= math.Floor(min(x/8, 50000) * rnd.Float64()) // jitter
			case d.Sem == metric.Counter && rnd.IntN(15) == 0:
				x += math.Floor(rnd.Float64() * top / 3)
			case d.Sem == metric.Counter:
				x += float64(rnd.IntN(100000))
			default:
				x = math.Floor(rnd.Float64()*2000) - 1000
			}
			switch {
			case d.Clamped && x >= top:
				x = top - 1
			case d.Sem == metric.Counter && x >= top:
				x -= top
			}
			state[key] = x
			switch {
			case d.Type == metric.F64:
				v.Bits = math.Float64bits(x)
			default:
				v.Bits = uint64(int64(x))
			}
			if rnd.IntN(12) == 0 {
				v = metric.Value{Type: d.Type, Miss: metric.Permission}
			}
			b.Cols[c].Bits = append(b.Cols[c].Bits, v.Bits)
			b.Cols[c].Miss = append(b.Cols[c].Miss, v.Miss)
			r := find[key]
			if r == nil {
				r = &recorded{desc: d, in: in}
				find[key] = r
				w.series = append(w.series, r)
			}
			r.all = append(r.all, sampled{at.Wall, at.Cont, boot, len(w.starts) - 1, v})
		}
	}
	return b
}

// gained is what a counter's interval gave, computed the long way.
type gained struct {
	wall         int64
	seconds, inc float64
	known        bool
}

// gains applies the rules to a series of raw values: the last present value
// before, in the same boot, without a break or a long silence in between, and
// neither a reset nor a limit.
func (w *world) gains(r *recorded, from int64) []gained {
	var out []gained
	var present []int
	var lastInc, owed float64
	for i, s := range r.all {
		g := gained{wall: s.wall}
		if s.value.Miss == metric.Present {
			if n := len(present); n > 0 {
				p := r.all[present[n-1]]
				if p.boot != s.boot || p.wall < from {
					owed = 0 // Nobody saw what it stood at before.
				}
				elapsed := s.cont - p.cont
				usual := w.every
				if n > 2 && r.all[present[n-2]].boot == s.boot && r.all[present[n-3]].boot == s.boot {
					usual = max(usual, min(p.cont-r.all[present[n-2]].cont, r.all[present[n-2]].cont-r.all[present[n-3]].cont))
				}
				broken := false
				for _, b := range w.breaks[s.boot] {
					broken = broken || b > p.cont && b <= s.cont
				}
				near := !broken && elapsed <= 4*usual
				sec := 0.0
				if near {
					sec = float64(elapsed) / 1e9
				}
				inc, known := increase(r.desc, p.value.Bits, s.value.Bits, lastInc, sec)
				if !known && s.value.Bits < p.value.Bits {
					owed = 0
				}
				inc -= owed
				// An absence right before the window hides what was there before it.
				unseen := p.wall < from && r.all[present[n-1]+1].wall < from
				if owed = 0; p.boot == s.boot && !unseen {
					owed = max(0, -inc)
				}
				if p.boot == s.boot && near {
					g.inc, g.known = max(0, inc), known
					g.seconds = float64(elapsed) / 1e9
					if g.known {
						lastInc = g.inc
					}
				}
			}
			present = append(present, i)
		}
		out = append(out, g)
	}
	return out
}

// increase is the rule for counters, the long way. A dip is a gain below zero.
func increase(d *metric.Desc, prev, cur uint64, lastInc, seconds float64) (inc float64, known bool) {
	top := math.Pow(2, float64(d.Bits()))
	p, c := float64(prev), float64(cur)
	if d.Clamped && c >= top-1 {
		return 0, false
	}
	narrow := d.Bits() < 64 && !d.Clamped
	if c >= p {
		if narrow && p < top/16 && top-c < top/16 {
			return c - top - p, true
		}
		return c - p, true
	}
	if gain := c + top - p; narrow && gain < top/2 {
		most := map[metric.Units]float64{metric.Counts: 1e9, metric.Bytes: 125e9, metric.Milliseconds: 4096e3}[d.Units]
		if most == 0 || gain <= most*seconds {
			return gain, gain <= top/4 || gain <= 64*(lastInc+1)
		}
	}
	if d.Falls == metric.NeverRestarts || p-c <= p/8 {
		return c - p, true
	}
	return 0, false
}

func near(a, b float64) bool {
	return a == b || math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b)) || math.IsNaN(a) && math.IsNaN(b)
}

// window picks a part of the recording.
func (w *world) window(rnd *rand.Rand) query.Window {
	span := w.to - w.from
	from := w.from + rnd.Int64N(span)
	to := from + rnd.Int64N(w.to-from+1)
	switch rnd.IntN(4) {
	case 0:
		return query.Window{}
	case 1:
		return query.Window{From: from}
	}
	return query.Window{From: from, To: to}
}

func (w *world) inside(win query.Window, wall int64) bool {
	return wall >= win.From && (win.To == 0 || wall <= win.To)
}

type shown struct {
	wall  int64
	value float64
	known bool
}

func collect(t *testing.T, w *world, r *recorded, req query.Request) []shown {
	t.Helper()
	req.Metrics = []string{r.desc.Name}
	if r.in != nil {
		req.Instance = func(_ string, in *metric.Instance) bool { return in.Key == r.in.Key }
	}
	var out []shown
	for s, err := range query.Read(w.archive, req) {
		if err != nil {
			t.Fatal(err)
		}
		for i, wall := range s.Wall {
			v := s.Value(i)
			out = append(out, shown{wall, v.Number(), v.Miss == metric.Present})
		}
	}
	return out
}

const worlds = 150

func TestRatesAgainstOracle(t *testing.T) {
	for seed := range uint64(worlds) {
		w := newWorld(seed)
		rnd := rand.New(rand.NewPCG(seed, 5))
		win := w.window(rnd)
		for _, r := range w.series {
			got := collect(t, w, r, query.Request{Window: win, Mode: query.Shown})
			var want []shown
			gains := w.gains(r, win.From)
			_, factor := query.RateUnits(r.desc.Units)
			held := math.NaN()
			for i, s := range r.all {
				v := s.value.Number()
				if r.desc.Sem == metric.Discrete {
					if v == v {
						held = v
					}
					next := i+1 < len(r.all) && r.all[i+1].wall <= win.From
					if s.wall < win.From && !next && s.value.Miss == metric.Present &&
						w.onEve(r, i, win) {
						want = append(want, shown{win.From, v, true})
					}
					v = held
				}
				if !w.inside(win, s.wall) {
					if i+1 < len(r.all) && r.all[i+1].wall < win.From {
						held = math.NaN()
					}
					continue
				}
				if r.desc.Sem == metric.Counter {
					g := gains[i]
					want = append(want, shown{s.wall, g.inc / g.seconds * factor, g.known})
					continue
				}
				want = append(want, shown{s.wall, v, v == v})
			}
			compare(t, fmt.Sprintf("seed %d, %s, window %v", seed, name(r), win), got, want, w.windowStart(r, win))
		}
	}
}

// onEve reports whether value i is the one that holds when the window begins:
// the last before it, in the archive that the window begins in.
func (w *world) onEve(r *recorded, i int, win query.Window) bool {
	if i+1 < len(r.all) && r.all[i+1].wall < win.From {
		return false
	}
	part := r.all[i].part
	return part+1 == len(w.starts) || w.starts[part+1] >= win.From
}

// windowStart is the first instant from which the values before the window do
// not matter any more: the reader knows one value before it, the oracle all.
func (w *world) windowStart(r *recorded, win query.Window) int64 {
	n := 0
	for _, s := range r.all {
		if s.wall >= win.From && s.value.Miss == metric.Present {
			if n++; n == 5 {
				return s.wall
			}
		}
	}
	return math.MaxInt64 / 2
}

func compare(t *testing.T, what string, got, want []shown, sure int64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d rows, want %d\n got %v\nwant %v", what, len(got), len(want), got, want)
	}
	for i := range got {
		g, x := got[i], want[i]
		if g.wall != x.wall {
			t.Fatalf("%s: row %d is at %d, want %d", what, i, g.wall, x.wall)
		}
		if g.wall < sure && (!g.known || !x.known) {
			continue // It may not know enough yet; it must not be wrong.
		}
		if g.known != x.known || g.known && !near(g.value, x.value) {
			t.Fatalf("%s: row %d is %v, want %v", what, i, g, x)
		}
	}
}

func name(r *recorded) string {
	if r.in == nil {
		return r.desc.Name
	}
	return r.desc.Name + "[" + r.in.Key + "]"
}

func TestStepsAgainstOracle(t *testing.T) {
	for seed := range uint64(worlds) {
		w := newWorld(seed)
		rnd := rand.New(rand.NewPCG(seed, 6))
		win := w.window(rnd)
		if win.From == 0 {
			win.From = w.from - second*int64(rnd.IntN(5))
		}
		step := second * int64(1+rnd.IntN(60))
		for _, r := range w.series {
			if r.desc.Sem == metric.Discrete {
				continue
			}
			got := collect(t, w, r, query.Request{Window: win, Mode: query.Shown, Step: step})
			sum, weight := make(map[int64]float64), make(map[int64]float64)
			_, factor := query.RateUnits(r.desc.Units)
			gains := w.gains(r, win.From)
			for i, s := range r.all {
				if !w.inside(win, s.wall) {
					continue
				}
				if r.desc.Sem == metric.Instant {
					if s.value.Miss == metric.Present {
						n := max((s.wall-win.From+step-1)/step, 1)
						sum[n] += s.value.Number()
						weight[n]++
					}
					continue
				}
				g := gains[i]
				if !g.known {
					continue
				}
				begin := max(g.wall-int64(g.seconds*1e9), win.From)
				for n := (begin - win.From) / step; win.From+n*step < g.wall; n++ {
					lo, hi := max(begin, win.From+n*step), min(g.wall, win.From+(n+1)*step)
					if hi > lo {
						sum[n+1] += g.inc / g.seconds * factor * float64(hi-lo) / 1e9
						weight[n+1] += float64(hi-lo) / 1e9
					}
				}
			}
			known := make(map[int64]float64)
			for n, x := range weight {
				end := win.From + n*step
				if win.To != 0 {
					end = min(end, win.To)
				}
				known[end] = sum[n] / x
			}
			sure := w.windowStart(r, win)
			for _, g := range got {
				x, ok := known[g.wall]
				if g.known && (!ok || !near(g.value, x)) && g.wall > sure+step || !g.known && ok && g.wall > sure+step {
					t.Fatalf("seed %d, %s, window %v, step %d: %d is %v (%v), want %v (%v)", seed, name(r), win, step, g.wall, g.value, g.known, x, ok)
				}
				delete(known, g.wall)
			}
			for end, x := range known {
				if end > sure+step {
					t.Fatalf("seed %d, %s, window %v, step %d: no row at %d, want %v", seed, name(r), win, step, end, x)
				}
			}
			if !slices.IsSortedFunc(got, func(a, b shown) int { return int(a.wall - b.wall) }) {
				t.Fatalf("seed %d: steps out of order", seed)
			}
		}
	}
}

func TestRangesAgainstOracle(t *testing.T) {
	for seed := range uint64(worlds) {
		w := newWorld(seed)
		rnd := rand.New(rand.NewPCG(seed, 7))
		win := w.window(rnd)
		for _, r := range w.series {
			req := query.RangeRequest{Request: query.Request{Window: win, Metrics: []string{r.desc.Name}}, Percentiles: true}
			if r.in != nil {
				req.Instance = func(_ string, in *metric.Instance) bool { return in.Key == r.in.Key }
			}
			var got *query.Range
			for s, err := range query.Ranges(w.archive, req) {
				if err != nil {
					t.Fatal(err)
				}
				if got != nil {
					t.Fatalf("seed %d, %s: two ranges", seed, name(r))
				}
				got = s
			}
			w.checkRange(t, fmt.Sprintf("seed %d, %s, window %v", seed, name(r), win), r, win, got)
		}
	}
}

func (w *world) checkRange(t *testing.T, what string, r *recorded, win query.Window, got *query.Range) {
	t.Helper()
	var values []float64
	var weighted, seconds, inc float64
	var prev *sampled
	missing := uint64(0)
	for i := range r.all {
		s := &r.all[i]
		if !w.inside(win, s.wall) {
			continue
		}
		if s.value.Miss != metric.Present {
			missing++
			continue
		}
		values = append(values, s.value.Number())
		if prev != nil && prev.boot == s.boot {
			x, _ := metric.Increase(r.desc, prev.value.Bits, s.value.Bits, float64(s.cont-prev.cont)/1e9)
			inc += x // dips are gains below zero
			slept := false
			for _, b := range w.breaks[s.boot] {
				slept = slept || b > prev.cont && b <= s.cont
			}
			if !slept {
				weighted += s.value.Number() * float64(s.cont-prev.cont) / 1e9
				seconds += float64(s.cont-prev.cont) / 1e9
			}
		}
		prev = s
	}
	if len(values) == 0 {
		if got != nil && got.Count != 0 {
			t.Fatalf("%s: %d values, want none", what, got.Count)
		}
		return
	}
	if got == nil {
		t.Fatalf("%s: no range of %d values", what, len(values))
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := func(q float64) float64 { return sorted[max(int(math.Ceil(q*float64(len(sorted))))-1, 0)] }
	mean := values[len(values)-1]
	if seconds > 0 {
		mean = weighted / seconds
	}
	checks := []struct {
		name      string
		got, want float64
	}{
		{"count", float64(got.Count), float64(len(values))},
		{"missing", float64(got.Missing), float64(missing)},
		{"first", got.First.Number(), values[0]},
		{"last", got.Last.Number(), values[len(values)-1]},
		{"min", got.Min.Number(), sorted[0]},
		{"max", got.Max.Number(), sorted[len(sorted)-1]},
		{"mean", got.Mean, mean},
		{"p50", got.P50, rank(0.5)}, {"p95", got.P95, rank(0.95)}, {"p99", got.P99, rank(0.99)},
	}
	if r.desc.Sem == metric.Counter {
		checks = append(checks, struct {
			name      string
			got, want float64
		}{"increase", got.Increase, max(0, inc)})
	}
	for _, c := range checks {
		if !near(c.got, c.want) && math.Abs(c.got-c.want) > 1e-6*math.Abs(sorted[0]-sorted[len(sorted)-1]) {
			t.Fatalf("%s: %s is %v, want %v", what, c.name, c.got, c.want)
		}
	}
}

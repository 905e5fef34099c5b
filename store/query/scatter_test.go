package query_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
	"tachograph/store/storetest/proof"
)

// decoding is an archive that cannot tell how values are spread.
type decoding struct{ query.Archive }

// Percentiles told from sketches and from few chunks are those of the values, or
// as near as they say; everything else of a range is the same either way.
func TestPercentilesOfLongWindows(t *testing.T) {
	for seed := range uint64(proof.Pick(t, 6, 40)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := spreadOut(t, seed)
			defer r.Close()
			from, to := r.Archives()[0].From, r.Archives()[0].To
			rnd := rand.New(rand.NewPCG(seed, 3))
			near := 0
			for i := range proof.Pick(t, 12, 12) {
				w := query.Window{}
				if i > 0 {
					w.From = from + rnd.Int64N(to-from)
					w.To = w.From + rnd.Int64N(to-w.From+1)
				}
				ask := query.RangeRequest{Request: query.Request{Window: w}, Percentiles: true}
				for _, d := range r.Metrics() {
					ask.Metrics = append(ask.Metrics, d.Name)
				}
				want := ranges(t, decoding{r}, ask)
				near += compareRanges(t, ranges(t, r, ask), want)
				ask.Exact = true
				if n := compareRanges(t, ranges(t, r, ask), want); n > 0 {
					t.Errorf("%d are not exact that should be", n)
				}
			}
			if near == 0 {
				t.Error("nothing was told from sketches")
			}
		})
	}
}

func ranges(t *testing.T, a query.Archive, ask query.RangeRequest) map[string]*query.Range {
	t.Helper()
	out := make(map[string]*query.Range)
	for r, err := range query.Ranges(a, ask) {
		if err != nil {
			t.Fatal(err)
		}
		key := r.Name
		if r.Instance != nil {
			key += " " + r.Instance.Key
		}
		out[key] = r
	}
	return out
}

// compareRanges returns how many of got are not exact.
func compareRanges(t *testing.T, got, want map[string]*query.Range) (near int) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d ranges, want %d", len(got), len(want))
	}
	for key, g := range got {
		w := want[key]
		if g.Within > 0 {
			near++
		}
		for i, p := range [][2]float64{{g.P50, w.P50}, {g.P95, w.P95}, {g.P99, w.P99}} {
			off := math.Abs(p[0] - p[1])
			if !(off <= (g.Within+w.Within)*math.Abs(p[1])*(1+1e-12)) && !(p[0] != p[0] && p[1] != p[1]) {
				t.Errorf("%s: percentile %d is %v, want %v, within %v", key, i, p[0], p[1], g.Within)
			}
		}
		a, b := *g, *w
		for _, r := range []*query.Range{&a, &b} {
			r.P50, r.P95, r.P99, r.Within, r.Metric, r.Archive, r.Instance = 0, 0, 0, 0, nil, nil, nil
		}
		if fmt.Sprintf("%+v", a) != fmt.Sprintf("%+v", b) {
			t.Errorf("%s: %+v, want %+v", key, a, b)
		}
	}
	return near
}

// spreadOut is an archive of a dozen chunks whose values are spread in ways that
// are hard on sketches: all signs and sizes, few values and many, steps, absences,
// what is no number, a counter that falls and one that does not.
func spreadOut(t *testing.T, seed uint64) *store.Reader {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 9))
	level := func(name string, typ metric.Type) *metric.Desc {
		return &metric.Desc{Name: name, Type: typ, Sem: metric.Instant, Class: metric.Fast}
	}
	g := &metric.Group{Name: "g", Metrics: []*metric.Desc{
		level("signed", metric.F64), level("heavy", metric.F64), level("whole", metric.I64), level("small", metric.U32), level("narrow", metric.F32),
		level("odd", metric.F64), level("steps", metric.U64), level("near", metric.F64), level("constant", metric.U64), level("rare", metric.U64),
		{Name: "rises", Type: metric.U64, Sem: metric.Counter, Class: metric.Fast}, {Name: "resets", Type: metric.U64, Sem: metric.Counter, Class: metric.Fast},
	}}
	b := proof.NewBuilder(t, filepath.Join(t.TempDir(), "a.tacho"))
	at := metric.Stamp{Wall: 1_790_000_000e9, Cont: 1e12, Awake: 1e12}
	var whole, step int64
	var rises, resets, rare uint64
	for part := range 12 {
		for i := range 150 + rnd.IntN(100) {
			at = metric.Stamp{Wall: at.Wall + 1e9, Cont: at.Cont + 1e9, Awake: at.Awake + 1e9}
			whole += rnd.Int64N(2001) - 1000
			if rnd.IntN(40) == 0 {
				step = rnd.Int64N(1 << 40)
			}
			rises += rnd.Uint64N(1 << 20)
			if resets += rnd.Uint64N(1 << 10); rnd.IntN(300) == 0 {
				resets = 0
			}
			if rnd.IntN(200) == 0 {
				rare++
			}
			odd := rnd.ExpFloat64()
			if part == 5 && i%50 == 7 {
				odd = []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[rnd.IntN(3)]
			}
			bits := []uint64{
				math.Float64bits(rnd.NormFloat64() * float64(part)), math.Float64bits(math.Exp(rnd.NormFloat64() * 20)), uint64(whole), uint64(rnd.IntN(70)),
				uint64(math.Float32bits(float32(1000 + rnd.Float64()))), math.Float64bits(odd), uint64(step), math.Float64bits(1 + math.Ldexp(rnd.Float64(), -40)), 7, rare,
				rises, resets,
			}
			block := &metric.Block{Group: g, At: at, Rows: []*metric.Instance{nil}, Cols: make([]metric.Column, len(bits))}
			for c := range bits {
				block.Cols[c].Bits = bits[c : c+1]
				if part%3 == 1 && rnd.IntN(30) == 0 {
					block.Cols[c].Miss = []metric.Reason{metric.TimedOut}
				}
			}
			b.Append(&metric.Tick{Class: metric.Fast, At: at, Blocks: []*metric.Block{block}})
		}
		b.Seal(nil)
	}
	b.Close()
	r, err := store.Open(b.Path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

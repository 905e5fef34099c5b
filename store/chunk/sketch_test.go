package chunk

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tachograph/sample/metric"
)

// Every number lies within its bucket, the middle of the bucket is as near to it as
// promised, and buckets are in the order of the numbers.
func TestBuckets(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	numbers := []float64{0, math.Copysign(0, -1), 1, -1, 0.1, 63, 64, 65, 1e300, -1e300, math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, 1 << 53}
	for range 20000 {
		numbers = append(numbers, math.Ldexp(rnd.Float64()*2-1, rnd.IntN(2000)-1000))
	}
	for _, x := range numbers {
		b := Bucket{Index: BucketOf(x)}
		lo, hi := b.Bounds()
		if x < lo || x > hi {
			t.Fatalf("%g is not between %g and %g", x, lo, hi)
		}
		if BucketOf(lo) != b.Index || BucketOf(hi) != b.Index {
			t.Fatalf("%g: the bounds %g and %g are of buckets %d and %d", x, lo, hi, BucketOf(lo), BucketOf(hi))
		}
		if middle := lo/2 + hi/2; b.Index != 0 && math.Abs(middle-x) > BucketError*math.Abs(x) {
			t.Fatalf("%g is the middle for %g", middle, x)
		}
	}
	slices.Sort(numbers)
	if !slices.IsSortedFunc(numbers, func(x, y float64) int { return int(BucketOf(x) - BucketOf(y)) }) {
		t.Error("buckets are out of order")
	}
}

// levels returns ticks of metrics whose values are spread in many ways. The sixth metric is
// the first one in other units.
func levels(seed uint64) []*metric.Tick {
	rnd := rand.New(rand.NewPCG(seed, 5))
	g := &metric.Group{Name: "levels", Metrics: []*metric.Desc{
		{Name: "walk", Type: metric.I64, Sem: metric.Instant}, {Name: "heavy", Type: metric.F64, Sem: metric.Instant},
		{Name: "small", Type: metric.U32, Sem: metric.Discrete}, {Name: "count", Type: metric.U64, Sem: metric.Counter},
		{Name: "odd", Type: metric.F64, Sem: metric.Instant}, {Name: "pages", Type: metric.I64, Sem: metric.Instant},
	}}
	var out []*metric.Tick
	walk, count := int64(-300), uint64(0)
	for i := range 400 {
		walk += rnd.Int64N(41) - 20
		count += rnd.Uint64N(1000)
		odd := rnd.NormFloat64()
		if i%97 == 96 {
			odd = math.NaN()
		}
		heavy := math.Exp(rnd.NormFloat64() * 9)
		bits := []uint64{uint64(walk), math.Float64bits(heavy), uint64(rnd.IntN(5)), count, math.Float64bits(odd), uint64(walk * 4)}
		out = append(out, oneTick(g, i, bits))
	}
	return out
}

func oneTick(g *metric.Group, i int, bits []uint64) *metric.Tick {
	at := int64(i+1) * 1e9
	b := &metric.Block{Group: g, At: metric.Stamp{Wall: 1.7e18 + at, Cont: at, Awake: at}, Rows: []*metric.Instance{nil}, Cols: make([]metric.Column, len(bits))}
	for c := range bits {
		b.Cols[c].Bits = bits[c : c+1]
	}
	return &metric.Tick{Class: metric.Fast, At: b.At, Blocks: []*metric.Block{b}}
}

// The sketches of a chunk count its values, merged or not. A counter has none, nor has a
// series with values that are not finite. Verify finds a sketch that disagrees with the
// values.
func TestSketches(t *testing.T) {
	var n numbers
	var parts []*Chunk
	for seed := range uint64(3) {
		b := NewBuilder(metric.Fast)
		for _, tick := range levels(seed) {
			if err := b.Append(tick); err != nil {
				t.Fatal(err)
			}
		}
		bare, err := b.SealBare(n.number)
		if err != nil {
			t.Fatal(err)
		}
		if got := sketchesOf(t, openSealed(t, bare), &n); len(got) != 0 {
			t.Fatalf("a bare chunk has %d sketches", len(got))
		}
		s, err := b.Seal(n.number)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, openSealed(t, s))
	}
	sealed, err := Merge(parts, n.desc)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range append(parts, openSealed(t, sealed)) {
		if err := c.Verify(n.desc); err != nil {
			t.Fatal(err)
		}
		got := sketchesOf(t, c, &n)
		for _, name := range []string{"walk", "heavy", "pages"} {
			if got[name] == nil {
				t.Errorf("%s has no sketch", name)
			}
		}
		if got["count"] != nil || got["odd"] != nil || got["small"] == nil {
			t.Errorf("sketches of a counter, of what is not finite, of small numbers: %v, %v, %v", got["count"], got["odd"], got["small"])
		}
	}
	c := openSealed(t, sealed)
	from := c.sketchesAt.at
	for i := range c.sketchesAt.len {
		data := bytes.Clone(sealed.Data)
		data[from+int64(i)] ^= 1
		if unchecked(data).Verify(n.desc) == nil {
			t.Errorf("byte %d of the sketches is another one and nobody notices", i)
		}
	}
}

func openSealed(t *testing.T, s *Sealed) *Chunk {
	t.Helper()
	c, err := Open(bytes.NewReader(s.Data), int64(len(s.Data)))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// sketchesOf compares the sketches of the first group with the values, and returns them by
// metric.
func sketchesOf(t *testing.T, c *Chunk, n *numbers) map[string]Sketch {
	t.Helper()
	out := make(map[string]Sketch)
	g := c.Groups[0]
	sums := make(map[int]Summary)
	err := g.Summaries(func(col int) *metric.Desc { return n.desc(g.Columns[col].Number) }, nil, func(col, _ int, s *Summary) { sums[col] = *s })
	if err != nil {
		t.Fatal(err)
	}
	for col := range g.Columns {
		d := n.desc(g.Columns[col].Number)
		sum := sums[col]
		s, err := g.Sketch(col, 0, &sum)
		if err != nil {
			t.Fatal(err)
		}
		if s == nil {
			continue
		}
		out[d.Name] = s
		have := make(map[int32]uint64)
		roster, _ := g.Instances()
		err = g.Series(col, nil, func(_ int, series *Series) error {
			series.Stretches(&roster[0], 0, math.MaxUint32, func(start, end uint32, bits uint64, _ metric.Reason) {
				have[BucketOf(metric.Number(d.Type, bits))] += uint64(end - start)
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range s {
			if have[b.Index] != b.Count {
				t.Errorf("%s: bucket %d has %d values, the sketch says %d", d.Name, b.Index, have[b.Index], b.Count)
			}
			delete(have, b.Index)
		}
		if len(have) > 0 {
			t.Errorf("%s: the sketch lacks buckets %v", d.Name, have)
		}
		sum.Count++
		if _, err := g.Sketch(col, 0, &sum); err == nil {
			t.Errorf("%s: the sketch fits a summary of one value more", d.Name)
		}
	}
	return out
}

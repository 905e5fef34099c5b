package query

import (
	"cmp"
	"math"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/chunk"
)

// fewSketches is the most chunks of a series that are decoded rather than estimated from their
// sketches: short windows have exact percentiles.
const fewSketches = 4

// A scatter is how the values of a series are spread over a window. Chunks that have not been
// decoded are in parts, or were merged into the sketch.
type scatter struct {
	values distribution
	sketch map[int32]uint64
	parts  []valueRange
	// sketched are the parts that have a sketch, as long as they are few.
	sketched []valueRange
	exactly  bool
}

// A valueRange is a chunk's values, all between lo and hi.
type valueRange struct {
	lo, hi float64
	n      uint64
	place  store.Place
	sketch chunk.Sketch
}

// add adds the values of a summary.
func (d *scatter) add(s *store.Summary) {
	typ := s.Metric.Type
	lo, hi := metric.Number(typ, s.Min), metric.Number(typ, s.Max)
	known := !math.IsNaN(s.Sum) && !math.IsInf(s.Sum, 0) // there are only finite numbers
	p := valueRange{lo: lo, hi: hi, n: s.Count, place: s.Spread.Place, sketch: s.Spread.Sketch}
	switch {
	case s.Spread.Values != nil:
		d.decoded(typ, s.Spread.Values)
	case known && lo == hi:
		d.values.addTimes(lo, s.Count)
	case !known:
		p.lo, p.hi = math.Inf(-1), math.Inf(1)
		d.parts = append(d.parts, p)
	case p.sketch == nil || d.exactly:
		d.parts = append(d.parts, p)
	case d.sketch == nil && len(d.sketched) < fewSketches:
		d.sketched = append(d.sketched, p)
	default:
		d.merge(p.sketch)
		for _, p := range d.sketched {
			d.merge(p.sketch)
		}
		d.sketched = nil
	}
}

func (d *scatter) decoded(typ metric.Type, values []store.Repeated) {
	for _, v := range values {
		if x := metric.Number(typ, v.Bits); x == x {
			d.values.addTimes(x, v.Times)
		}
	}
}

func (d *scatter) merge(s chunk.Sketch) {
	if d.sketch == nil {
		d.sketch = make(map[int32]uint64)
	}
	for _, b := range s {
		d.sketch[b.Index] += b.Count
	}
}

// A mass is a number of values that lie somewhere between lo and hi: those of a bucket, or of a
// part.
type mass struct {
	lo, hi float64
	n      uint64
}

// masses returns the values that are known only by their bounds.
func (d *scatter) masses(t *tally) []mass {
	var out []mass
	for index, n := range d.sketch {
		lo, hi := (chunk.Bucket{Index: index}).Bounds()
		lo, hi = max(lo, t.min), min(hi, t.max)
		if !t.Type.Float() {
			lo, hi = math.Ceil(lo), math.Floor(hi)
		}
		out = append(out, mass{lo, hi, n})
	}
	for _, p := range d.parts {
		out = append(out, mass{p.lo, p.hi, p.n})
	}
	return out
}

var percentiles = []float64{0.5, 0.95, 0.99}

// rank is the place of a quantile among n values, counted from 1 at the smallest.
func rank(q float64, n uint64) uint64 { return max(uint64(math.Ceil(q*float64(n))), 1) }

// ranked returns the percentiles of values and masses, taking each mass to lie at the point that
// at returns; nil if there are no values at all.
func ranked(values []weighted, masses []mass, at func(m mass) float64) (out []float64) {
	slices.SortFunc(masses, func(x, y mass) int { return cmp.Compare(at(x), at(y)) })
	total := uint64(0)
	for _, v := range values {
		total += v.n
	}
	for _, m := range masses {
		total += m.n
	}
	if total == 0 {
		return nil
	}
	below, last := uint64(0), 0.0
	for _, q := range percentiles {
		for below < rank(q, total) {
			if len(masses) == 0 || len(values) > 0 && values[0].x <= at(masses[0]) {
				below, last, values = below+values[0].n, values[0].x, values[1:]
			} else {
				below, last, masses = below+masses[0].n, at(masses[0]), masses[1:]
			}
		}
		out = append(out, last)
	}
	return out
}

// bounds returns the lowest and the highest value that each percentile can have.
func bounds(values []weighted, masses []mass) (lo, hi []float64) {
	return ranked(values, masses, func(m mass) float64 { return m.lo }), ranked(values, masses, func(m mass) float64 { return m.hi })
}

// wanted returns the parts that must be decoded because a percentile may be one of their values.
func (d *scatter) wanted(t *tally) []valueRange {
	d.parts = append(d.parts, d.sketched...)
	d.sketched = nil
	lo, hi := bounds(d.values.list(), d.masses(t))
	var out []valueRange
	d.parts = slices.DeleteFunc(d.parts, func(p valueRange) bool {
		for i := range lo {
			if p.lo <= hi[i] && p.hi >= lo[i] {
				out = append(out, p)
				return true
			}
		}
		return false
	})
	return out
}

// percentiles returns the percentiles of the values so far, and how far off they may be, as a
// part of them.
func (d *scatter) percentiles(t *tally) (out []float64, within float64) {
	values, masses := d.values.list(), d.masses(t)
	lo, hi := bounds(values, masses)
	if lo == nil {
		return []float64{math.NaN(), math.NaN(), math.NaN()}, 0
	}
	if !d.values.exact() {
		within = coarseError
	}
	for i := range lo {
		for _, m := range masses {
			if m.lo < m.hi && m.lo <= hi[i] && m.hi >= lo[i] {
				within = chunk.BucketError
			}
		}
	}
	// All values of a part that was not decoded lie on one side of each percentile.
	return ranked(values, masses, func(m mass) float64 { return float64(m.lo/2) + float64(m.hi/2) }), within
}

// percentilesAtOnce is how many metrics' percentiles are computed at a time.
const percentilesAtOnce = 8

// tellPercentiles computes the percentiles of the tallies, some metrics at a time, and
// decodes only the chunks that they need.
func tellPercentiles(a Archive, order []*tally) {
	var spare []distribution
	for len(order) > 0 {
		n := 1
		for names := 1; n < len(order); n++ {
			if order[n].Name != order[n-1].Name {
				if names++; names > percentilesAtOnce {
					break
				}
			}
		}
		var places []store.Place
		var of []*tally
		for _, t := range order[:n] {
			parts := t.scatter.wanted(t)
			for _, p := range parts {
				places, of = append(places, p.place), append(of, t)
			}
			if k := len(spare); k > 0 && len(parts) > 0 {
				t.scatter.values.use(&spare[k-1])
				spare = spare[:k-1]
			}
		}
		a.Values(places, func(i int, values []store.Repeated) {
			of[i].scatter.decoded(of[i].Metric.Type, values)
		})
		for _, t := range order[:n] {
			q, within := t.scatter.percentiles(t)
			t.P50, t.P95, t.P99, t.Within = q[0], q[1], q[2], within
			spare = append(spare, t.scatter.values)
			t.scatter, t.settled = nil, true
		}
		order = order[n:]
	}
}

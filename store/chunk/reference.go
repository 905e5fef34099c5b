package chunk

import (
	"math"
	"math/bits"
	"slices"

	"tachograph/sample/metric"
)

// A kernel counts many things twice: free memory in kB and in pages, packets by interface and
// by protocol, faults and allocations. A series may therefore be predicted from another one of
// the same chunk: its expected change is the other's change at that tick times a factor. The
// other one may itself be predicted from a third, and so on, up to a limit: reading one series
// decodes all of these.
const (
	maxReferences = 3 // the longest chain of series behind a series
)

// A seriesAt is the location of a series in a chunk.
type seriesAt struct{ group, col, inst int }

// references say which series are predicted from which others, and which series others are
// predicted from.
type references struct {
	of    map[seriesAt]*reference
	roots map[seriesAt]bool
}

// A reference names the series that another one is predicted from, by its place, and the
// factor, in units of 2^-16.
type reference struct {
	seriesAt
	factor int64
}

const (
	factorBits = 16
	maxFactor  = 1 << 46
)

// expect returns the change that follows from a change of the other series.
func (f *reference) expect(change int64) int64 {
	neg := (change < 0) != (f.factor < 0)
	hi, lo := bits.Mul64(magnitudeOf(change), magnitudeOf(f.factor))
	lo, carry := bits.Add64(lo, 1<<(factorBits-1), 0)
	hi += carry
	if hi>>factorBits != 0 {
		return 0 // too large to mean anything
	}
	v := hi<<(64-factorBits) | lo>>factorBits
	if neg {
		v = -v
	}
	return int64(v)
}

func magnitudeOf(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

// A guide walks the changes of the other series.
type guide struct {
	reference
	at   []uint32
	bits []uint64
	k    int
}

// change returns the other's change at ordinal t; t must grow from call to call.
func (g *guide) change(t uint32) int64 {
	for g.k+1 < len(g.at) && g.at[g.k+1] < t {
		g.k++
	}
	if g.k+1 < len(g.at) && g.at[g.k+1] == t {
		return int64(g.bits[g.k+1] - g.bits[g.k])
	}
	return 0
}

// expected returns the change to expect from the other's change at ordinal t, and its size in
// bits plus 1, or 0 where the other does not change.
func (g *guide) expected(t uint32) (change int64, size uint32) {
	c := g.change(t)
	if c == 0 {
		return 0, 0
	}
	change = g.expect(c)
	return change, uint32(bits.Len64(magnitudeOf(change))) + 1
}

// Only series with many changes take part, and no more than can be compared pairwise.
const (
	guidedChanges = 48
	maxGuided     = 512
	guidedGroup   = 64 // the most instances that a group may have
	sampled       = 192
)

// candidate is a series that takes part.
type candidate struct {
	seriesAt
	at     []uint32
	vals   []uint64
	cost   int       // roughly in bits, when predicted from itself; raised for series that come first
	sample []float64 // its change at the sampled ticks
	square float64
	depth  int  // how many series are behind it
	alone  bool // its group has no instances
}

// references chooses which series are predicted from which. The costly series come first:
// others refer to them. Series without instances come before the rest, because they are read
// most, and the parts of a sum can be predicted from the sum as well as the other way round.
// Few of these refer to others, as reading one of them would take the time of two. (In a day of
// a workstation this takes 1 % more space than ordering by cost alone, and the rate of
// kernel.all.cpu.user decodes 2.6 times less.)
func (t *table) references() *references {
	cs := t.candidates()
	ticks := pick(len(t.ticks))
	for _, c := range cs {
		c.sampleAt(ticks)
	}
	refs := &references{of: make(map[seriesAt]*reference), roots: make(map[seriesAt]bool)}
	for i, c := range cs {
		best, most := (*candidate)(nil), 0.0
		own := c.sampleCost(nil, 0, math.Inf(1))
		for _, r := range cs[:i] {
			if r.square == 0 || r.depth == maxReferences {
				continue
			}
			dot := 0.0
			for i, v := range c.sample {
				dot += float64(v * r.sample[i])
			}
			if dot*dot < 0.1*c.square*r.square {
				continue
			}
			f := dot / r.square
			deeper := float64(own * deeper * float64(r.depth))
			// If it costs more, even by a rounding error, it would gain too little.
			enough := own - deeper - most + 1
			cost := c.sampleCost(r, f, enough)
			cost = min(cost, c.sampleCost(r, simple(f), min(cost, enough)))
			gain := own - cost - deeper
			if gain > most && (!c.alone || gain > aloneBits*float64(len(ticks))) {
				best, most = r, gain
			}
		}
		if best != nil && most > own/16 {
			if ref := c.refer(best, own, most); ref != nil {
				refs.of[c.seriesAt] = ref
				refs.roots[best.seriesAt] = true
				c.depth = best.depth + 1
			}
		}
	}
	return refs
}

const (
	// aloneFirst is the factor by which the cost of a series without instances counts more.
	// aloneBits is how many bits it must save at each tick to refer to another.
	aloneFirst = 4
	aloneBits  = 0.8
	// deeper is the part of its bits that each further series behind a series must save.
	deeper = 0.04
)

// guides reports whether series of g may take part, in a chunk with that many ticks.
func (g *groupTable) guides(ticks int) bool {
	return len(g.insts) <= guidedGroup && len(g.at) == ticks
}

// candidates returns the lively series that exist in every tick, the costliest first.
func (t *table) candidates() []*candidate {
	var cs []*candidate
	for gi, g := range t.groups {
		if !g.guides(len(t.ticks)) {
			continue
		}
		for i := range g.insts {
			if g.insts[i].lifetime() != uint32(len(t.ticks)) {
				continue
			}
			for ci := range g.cols {
				col := &g.cols[ci]
				if g.metrics[ci].typ.Float() || col.off[i+1]-col.off[i] < guidedChanges || col.missOf(i) != nil {
					continue
				}
				c := &candidate{seriesAt: seriesAt{gi, ci, i}, at: col.at[col.off[i]:col.off[i+1]], vals: col.bits[col.off[i]:col.off[i+1]]}
				_, c.cost = chooseMethod(c.vals)
				if c.alone = g.indom == metric.NoIndom; c.alone {
					c.cost *= aloneFirst
				}
				cs = append(cs, c)
			}
		}
	}
	slices.SortStableFunc(cs, func(a, b *candidate) int { return b.cost - a.cost })
	return cs[:min(len(cs), maxGuided)]
}

// pick chooses the ticks at which series are compared, spread over the whole chunk.
func pick(ticks int) []uint32 {
	var at []uint32
	step := max(1, ticks/sampled)
	for t := 1; t < ticks; t += step {
		at = append(at, uint32(t))
	}
	return at
}

func (c *candidate) sampleAt(ticks []uint32) {
	g := guide{at: c.at, bits: c.vals}
	for _, t := range ticks {
		d := float64(g.change(t))
		c.sample = append(c.sample, d)
		c.square += float64(d * d)
	}
}

// sampleCost returns roughly the number of bits that c's sampled changes take when predicted
// from r's times a factor. It stops once the sum exceeds enough.
func (c *candidate) sampleCost(r *candidate, factor, enough float64) float64 {
	sum := 0.0
	for i, v := range c.sample {
		if r != nil {
			v -= math.Round(factor * r.sample[i])
		}
		if sum += sizeOf(v); sum > enough {
			break
		}
	}
	return sum
}

// sizeOf returns roughly the number of bits of a whole number.
func sizeOf(v float64) float64 {
	if v == 0 {
		return 0
	}
	return float64(int(math.Float64bits(math.Abs(v))>>52) - 1022 + 1)
}

// refer makes a reference of c to r, which saves about gain of own bits of the sample. It
// returns nil if the reference is not worthwhile: where that is not clear, it tries both ways.
func (c *candidate) refer(r *candidate, own, gain float64) *reference {
	dot, square := 0.0, 0.0
	mine, other := guide{at: c.at, bits: c.vals}, guide{at: r.at, bits: r.vals}
	for _, t := range c.at[1:] {
		a, b := float64(mine.change(t)), float64(other.change(t))
		dot += float64(a * b)
		square += float64(b * b)
	}
	if square == 0 {
		return nil
	}
	f := dot / square
	if s := simple(f); c.sampleCost(r, s, math.Inf(1)) <= c.sampleCost(r, f, math.Inf(1)) {
		f = s
	}
	f = math.Round(f * (1 << factorBits))
	if f == 0 || math.Abs(f) > maxFactor {
		return nil
	}
	ref := &reference{r.seriesAt, int64(f)}
	if gain < own/clearGain && c.size(ref, r) >= c.size(nil, r) {
		return nil
	}
	return ref
}

// clearGain sets the part of the bits, 1/clearGain, whose saving makes a trial unnecessary.
// trialChanges is how many changes a trial encodes.
const (
	clearGain    = 3
	trialChanges = 512
)

// simple returns the nearest power of two, or its inverse: units differ by those.
func simple(f float64) float64 {
	if f == 0 {
		return 0
	}
	frac, exp := math.Frexp(math.Abs(f))
	if frac < math.Sqrt2/2 {
		exp--
	}
	return math.Copysign(math.Ldexp(1, exp), f)
}

// size returns how many bytes the beginning of c takes.
func (c *candidate) size(ref *reference, r *candidate) int {
	var e encoder
	e.begin(nil)
	var m seriesModel
	m.init(true)
	k := min(len(c.at), trialChanges)
	e.series(&m, c.at[:k], c.vals[:k], c.at[k-1]+1, nil, c.guide(ref, r))
	return len(e.end())
}

func (c *candidate) guide(ref *reference, r *candidate) *guide {
	if ref == nil {
		return nil
	}
	return &guide{reference: *ref, at: r.at, bits: r.vals}
}

// guide returns the guide of the series at p, nil if there is none.
func (r *references) guide(t *table, p seriesAt) *guide {
	ref := r.of[p]
	if ref == nil {
		return nil
	}
	col := &t.groups[ref.group].cols[ref.col]
	from, to := col.off[ref.inst], col.off[ref.inst+1]
	return &guide{reference: *ref, at: col.at[from:to], bits: col.bits[from:to]}
}

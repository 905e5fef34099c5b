package chunk

import (
	"math"
	"math/bits"
	"slices"

	"tachograph/sample/metric"
)

// Much that a kernel counts, it counts twice: free memory in kB and in pages,
// packets by interface and by protocol, faults and allocations. A series may
// therefore be predicted from another one of the same chunk: its change is
// expected to be the other's change at that tick times a factor. The other one
// may itself be predicted from a third, and so on, but not without end: whoever
// asks for one series decodes all of these.
const (
	maxReferences = 3 // so many series in a row behind one
)

// A place says where a series is in a chunk.
type place struct{ group, col, inst int }

// references are what is predicted from what, and what others are predicted
// from.
type references struct {
	of    map[place]*reference
	roots map[place]bool
}

// A reference is what a series is predicted from: the place of another series
// and the factor, in units of 2^-16.
type reference struct {
	place
	factor int64
}

const (
	factorBits = 16
	maxFactor  = 1 << 46
)

// expect is the change that follows from a change of the other series.
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

// change is the other's change at ordinal t; t must grow from call to call.
func (g *guide) change(t uint32) int64 {
	for g.k+1 < len(g.at) && g.at[g.k+1] < t {
		g.k++
	}
	if g.k+1 < len(g.at) && g.at[g.k+1] == t {
		return int64(g.bits[g.k+1] - g.bits[g.k])
	}
	return 0
}

// expected is the change that the other's change at ordinal t lets expect, and
// its size in bits plus 1, or 0 where the other does not change.
func (g *guide) expected(t uint32) (change int64, size uint32) {
	c := g.change(t)
	if c == 0 {
		return 0, 0
	}
	change = g.expect(c)
	return change, uint32(bits.Len64(magnitudeOf(change))) + 1
}

// Only series with many changes take part, and not more of them than can be
// compared pairwise.
const (
	guidedChanges = 48
	maxGuided     = 512
	guidedGroup   = 64 // instances of a group, at most
	sampled       = 192
)

// candidate is a series that takes part.
type candidate struct {
	place
	at     []uint32
	vals   []uint64
	cost   int       // in bits, about, when predicted from itself; what comes first has more
	sample []float64 // its change at the sampled ticks
	square float64
	depth  int  // how many series stand behind it
	alone  bool // it is the only one of its group
}

// references chooses what is predicted from what. The costly series come
// first: they are what others refer to. Those that have no instances come before:
// they are what is asked for most, and what a sum is made of follows from the
// sum as well as the other way round. Few of these refer to others, as to read
// one of them would take the time of two. (In a day of a workstation that takes
// 1 % more than the order of cost alone, and what is decoded for the rate of
// kernel.all.cpu.user is 2.6 times less.)
func (t *table) references() *references {
	cs := t.candidates()
	ticks := pick(len(t.ticks))
	for _, c := range cs {
		c.sampleAt(ticks)
	}
	refs := &references{of: make(map[place]*reference), roots: make(map[place]bool)}
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
			// What costs more, even by what rounding may do, would gain too little.
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
				refs.of[c.place] = ref
				refs.roots[best.place] = true
				c.depth = best.depth + 1
			}
		}
	}
	return refs
}

const (
	// aloneFirst is how many times its cost a series without instances counts,
	// aloneBits how much it must save at each tick to refer to another.
	aloneFirst = 4
	aloneBits  = 0.8
	// deeper is the part of its bits that each further series behind a series must
	// save.
	deeper = 0.04
)

// guides reports whether series of g may take part, in a chunk of so many ticks.
func (g *groupTable) guides(ticks int) bool {
	return len(g.insts) <= guidedGroup && len(g.at) == ticks
}

// candidates are the lively series that exist in every tick, the costliest
// first.
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
				c := &candidate{place: place{gi, ci, i}, at: col.at[col.off[i]:col.off[i+1]], vals: col.bits[col.off[i]:col.off[i+1]]}
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

// pick chooses the ticks at which series are compared: spread over the whole,
// in pairs, because what moves in one tick often moves in the next.
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

// sampleCost is about the number of bits that c's sampled changes take beside
// r's times a factor. Of what is above enough it tells no more than that.
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

// sizeOf is about the number of bits of a whole number.
func sizeOf(v float64) float64 {
	if v == 0 {
		return 0
	}
	return float64(int(math.Float64bits(math.Abs(v))>>52) - 1022 + 1)
}

// refer makes a reference of c to r, which saves about gain of own bits of the
// sample, if it really pays: where that is not clear, both ways are tried.
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
	ref := &reference{r.place, int64(f)}
	if gain < own/clearGain && c.size(ref, r) >= c.size(nil, r) {
		return nil
	}
	return ref
}

// clearGain is the part of the bits that must be saved to need no trial;
// trialChanges is how many changes a trial encodes.
const (
	clearGain    = 3
	trialChanges = 512
)

// simple is the nearest power of two, or its inverse: units differ by those.
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

// size is how many bytes the beginning of c takes.
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

// guide is what the series at p is predicted from, nil for nothing.
func (r *references) guide(t *table, p place) *guide {
	ref := r.of[p]
	if ref == nil {
		return nil
	}
	col := &t.groups[ref.group].cols[ref.col]
	from, to := col.off[ref.inst], col.off[ref.inst+1]
	return &guide{reference: *ref, at: col.at[from:to], bits: col.bits[from:to]}
}

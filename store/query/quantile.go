package query

import (
	"math"
	"slices"
)

// exactValues is how many distinct values a distribution keeps exactly; beyond it, values are
// counted in buckets narrower than a thousandth of their size, so that memory stays bounded
// however long the archive. For rates, which hardly ever repeat, exactRates is the limit unless
// the request asks for exact quantiles.
const (
	exactValues = 1 << 16
	exactRates  = 1 << 11
)

// fewFresh is how many values are gathered at least before they are sorted. Most of the many
// distributions of an answer have few distinct values.
const fewFresh = 256

// distribution counts values, for quantiles by nearest rank.
type distribution struct {
	n      uint64
	most   int // of distinct values; 0 for exactValues
	last   float64
	repeat uint64 // of last, not yet in fresh
	fresh  []weighted
	sorted []weighted
	coarse map[int64]uint64
}

type weighted struct {
	x float64
	n uint64
}

// coarseError is how far off a value can be, as a part of it, if the middle of its bucket stands
// in for it.
const coarseError = 1.0 / (2 * subBuckets)

func (d *distribution) add(x float64) { d.addTimes(x, 1) }

func (d *distribution) addTimes(x float64, n uint64) {
	d.n += n
	if d.repeat > 0 && x == d.last {
		d.repeat += n
		return
	}
	d.settle()
	d.last, d.repeat = x, n
}

func (d *distribution) settle() {
	if d.repeat == 0 {
		return
	}
	if d.coarse != nil {
		d.coarse[bucket(d.last)] += d.repeat
	} else {
		d.fresh = append(d.fresh, weighted{d.last, d.repeat})
		if len(d.fresh) >= max(min(fewFresh, d.limit()), len(d.sorted)) {
			d.merge()
		}
	}
	d.repeat = 0
}

// use moves the values into the memory of another distribution, which is not needed any more.
func (d *distribution) use(spare *distribution) {
	d.fresh, d.sorted = append(spare.fresh[:0], d.fresh...), append(spare.sorted[:0], d.sorted...)
}

func (d *distribution) limit() int {
	if d.most > 0 {
		return d.most
	}
	return exactValues
}

// merge brings the fresh values into the sorted ones.
func (d *distribution) merge() {
	all := append(d.sorted, d.fresh...)
	d.fresh = d.fresh[:0]
	slices.SortFunc(all, func(a, b weighted) int {
		switch {
		case a.x < b.x:
			return -1
		case a.x > b.x:
			return 1
		}
		return 0
	})
	out := all[:0]
	for _, w := range all {
		if len(out) > 0 && out[len(out)-1].x == w.x {
			out[len(out)-1].n += w.n
		} else {
			out = append(out, w)
		}
	}
	d.sorted = out
	if len(out) <= d.limit() {
		return
	}
	d.coarse = make(map[int64]uint64)
	for _, w := range out {
		d.coarse[bucket(w.x)] += w.n
	}
	d.sorted, d.fresh = nil, nil
}

// subBuckets divide each power of two: the values of a bucket are equal in the bits above those
// that are left out.
const (
	subBuckets = 1024
	leftOut    = 52 - 10
)

// bucket numbers grow with x.
func bucket(x float64) int64 {
	if x == 0 {
		return 0
	}
	b := int64(math.Float64bits(math.Abs(x))>>leftOut) + 1
	if x < 0 {
		return -b
	}
	return b
}

// middleOf returns the value in the middle of a bucket.
func middleOf(b int64) float64 {
	if b == 0 {
		return 0
	}
	sign := 1.0
	if b < 0 {
		sign, b = -1, -b
	}
	lo := math.Float64frombits(uint64(b-1) << leftOut)
	if math.IsInf(lo, 0) {
		return sign * lo
	}
	return sign * math.Float64frombits(uint64(b-1)<<leftOut|1<<(leftOut-1))
}

// exact reports whether quantiles are values that occurred.
func (d *distribution) exact() bool { return d.coarse == nil }

// quantiles returns the values below or at which the fractions qs (ascending) of the values lie:
// for each the smallest value whose rank is at least q·n.
func (d *distribution) quantiles(qs ...float64) []float64 {
	out := make([]float64, len(qs))
	if d.n == 0 {
		for i := range out {
			out[i] = math.NaN()
		}
		return out
	}
	list := d.list()
	var below uint64
	i := 0
	for k, q := range qs {
		for below+list[i].n < rank(q, d.n) {
			below += list[i].n
			i++
		}
		out[k] = list[i].x
	}
	return out
}

// list returns the values and their counts, in order.
func (d *distribution) list() []weighted {
	d.settle()
	if d.coarse == nil {
		d.merge()
	}
	if d.coarse == nil {
		return d.sorted
	}
	var list []weighted
	for b, n := range d.coarse {
		list = append(list, weighted{float64(b), n})
	}
	slices.SortFunc(list, func(a, b weighted) int { return int(a.x - b.x) })
	for i := range list {
		list[i].x = middleOf(int64(list[i].x))
	}
	return list
}

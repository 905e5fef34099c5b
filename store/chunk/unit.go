package chunk

import (
	"math/bits"

	"tachograph/sample/metric"
)

// Memory comes in pages, reads and writes in sectors, and time in the ticks of a kernel,
// whatever unit they are reported in. A column whose values are all multiples of one number is
// therefore stored in units of that number. Otherwise each value would pay for what is common
// to all.

// measure converts the values of t to their units, and restore converts them back. Columns that
// are made later are measured at that time.
func (t *table) measure() {
	for _, g := range t.groups {
		for c := range g.cols {
			if g.metrics[c].typ == metric.String {
				continue
			}
			g.cols[c].measure()
		}
	}
}

func (t *columnTable) measure() {
	if t.unit = commonUnit(t.bits); t.unit > 1 {
		for i, v := range t.bits {
			t.bits[i] = uint64(int64(v) / int64(t.unit))
		}
	}
}

func (t *table) restore() {
	for _, g := range t.groups {
		for c := range g.cols {
			g.cols[c].bits = inUnits(g.cols[c].bits, g.cols[c].unit)
			g.cols[c].unit = 0
		}
	}
}

// commonUnit returns the largest number that all values, taken as signed, are multiples of, or
// 0 if it would not save enough.
func commonUnit(vals []uint64) uint64 {
	unit := uint64(0)
	for _, v := range vals {
		m := magnitudeOf(int64(v))
		if unit > 1 && m%unit == 0 {
			continue
		}
		for m != 0 {
			unit, m = m, unit%m
		}
		if unit == 1 {
			break
		}
	}
	if unit < 2 || unit > maxUnit || len(vals)*bits.Len64(unit) < worthUnit {
		return 0
	}
	return unit
}

// worthUnit is how many bits a unit must save at least.
const (
	worthUnit = 256
	maxUnit   = 1<<63 - 1
)

// inUnits converts vals, which count units, to values.
func inUnits(vals []uint64, unit uint64) []uint64 {
	if unit > 1 {
		for i := range vals {
			vals[i] *= unit
		}
	}
	return vals
}

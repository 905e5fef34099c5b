package journal

import (
	"math"

	"tachograph/sample/metric"
)

// Most floats that kernels print are decimals of a few places: 0.53 moves by hundredths, though
// its bits move by millions. Such a value is coded as an integer of thousandths if that gives
// the same bits back.
const decimals = 1000

// thousandths returns v as a whole number of thousandths, if it is one.
func thousandths(t metric.Type, v uint64) (int64, bool) {
	var f float64
	if t == metric.F32 {
		f = float64(math.Float32frombits(uint32(v)))
	} else {
		f = math.Float64frombits(v)
	}
	scaled := math.RoundToEven(float64(f * decimals))
	if !(math.Abs(scaled) < 1<<52) {
		return 0, false
	}
	k := int64(scaled)
	return k, fromThousandths(t, k) == v
}

func fromThousandths(t metric.Type, k int64) uint64 {
	f := float64(k) / decimals
	if t == metric.F32 {
		return uint64(math.Float32bits(float32(f)))
	}
	return math.Float64bits(f)
}

// float codes the new value v of a cell of floats, at a place.
func (s *state) float(m *column, k *motion, at cellAt, v uint64, beside uint8) uint64 {
	c, t := &s.coder, m.typ
	var d int64
	val := at.row.vals[at.col]
	was, _ := thousandths(t, val)
	ok := false
	if !c.dec {
		var now int64
		now, ok = thousandths(t, v)
		if d = now - was; d == 0 {
			ok = false
		}
	}
	if c.bit(&m.decimal, b2i(ok)) != 0 {
		return fromThousandths(t, was+s.delta(m, k, at, d, beside))
	}
	return val + uint64(s.delta(m, k, at, int64(v-val), beside))
}

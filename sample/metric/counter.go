package metric

import "math"

// Step says what happened to a counter between two readings.
type Step uint8

const (
	Advanced  Step = iota // it grew, or stood still
	Wrapped               // it passed its largest value and began again
	Restarted             // its source was reset
	Saturated             // it stands at the largest value it can show
)

// Increase is what a counter of d gained between two successive readings of
// the same instance, given as the bits a Column holds.
//
// A counter of 32 bits that falls from the upper half of its range into the
// lower has wrapped; any other fall is a reset, and then the counter gained at
// least what it shows now. A counter that clamps and stands at its limit
// gained an unknown amount: Saturated, with what is known.
func Increase(d *Desc, prev, cur uint64) (float64, Step) {
	if d.Type.Float() {
		p, c := Number(d.Type, prev), Number(d.Type, cur)
		switch {
		case math.IsNaN(p) || math.IsNaN(c):
			return 0, Restarted
		case c >= p:
			return c - p, Advanced
		}
		return c, Restarted
	}
	bits := d.Bits()
	if d.Type.Signed() && int64(cur) < 0 || d.Type.Signed() && int64(prev) < 0 {
		// A signed field that the kernel uses as a counter shows its upper
		// half as negative numbers; only its low bits mean anything.
		if bits < 64 {
			mask := uint64(1)<<bits - 1
			prev, cur = prev&mask, cur&mask
		}
	}
	if d.Clamped && bits < 64 && cur >= clampLimit(bits) {
		if cur >= prev {
			return float64(cur - prev), Saturated
		}
		return float64(cur), Saturated
	}
	if cur >= prev {
		return float64(cur - prev), Advanced
	}
	if !d.Clamped && bits < 64 {
		half := uint64(1) << (bits - 1)
		if prev >= half && cur < half && prev>>bits == 0 {
			return float64(cur + (1 << bits) - prev), Wrapped
		}
	}
	return float64(cur), Restarted
}

func clampLimit(bits int) uint64 {
	return uint64(1)<<bits - 1
}

// Number is the value of bits of type t as a float, for arithmetic that may
// round. Strings have no number.
func Number(t Type, bits uint64) float64 {
	switch t {
	case I32, I64:
		return float64(int64(bits))
	case F32:
		return float64(math.Float32frombits(uint32(bits)))
	case F64:
		return math.Float64frombits(bits)
	case String:
		return math.NaN()
	default:
		return float64(bits)
	}
}

package metric

import "math"

// Falls says what it can mean when a counter shows less than before. Whatever it says, a counter
// narrower than its type may wrap, where that is plausible. The kernel reads many counters
// without a lock, so any of them may step back a little.
type Falls uint8

// The numbers are stored in archives: append, never renumber.
const (
	// MayRestart counters begin again at zero when what they count goes away and comes back, or
	// when a user resets them. A fall by no more than an eighth is the kernel's jitter.
	MayRestart Falls = iota
	// NeverRestarts counters live exactly as long as what they count, such as
	// the time of a processor or of a process: every fall is jitter.
	NeverRestarts
	numFalls
)

// Valid reports whether f is known to this program.
func (f Falls) Valid() bool { return f < numFalls }

func (f Falls) String() string {
	if f == NeverRestarts {
		return "never restarts"
	}
	return "may restart"
}

// Step is what happened to a counter between two readings.
type Step uint8

const (
	Advanced  Step = iota // it grew, or did not change
	Wrapped               // it passed its largest value and began again
	Restarted             // its source was reset
	Saturated             // it is at the largest value it can show
	Dipped                // the kernel's jitter: it counts again once it passes its previous value
)

// Increase returns what a counter of d gained between two successive readings of the same
// instance. The readings are the bits that a Column holds, taken the given seconds apart (0 if
// unknown).
//
// This is the one rule for counters that fall:
//   - A counter narrower than its type has wrapped if the gain would be less than half
//     its range and possible in the time.
//   - Otherwise, a counter that never restarts, or that fell by an eighth or less, has
//     Dipped: Increase returns the fall as a negative number, and the counter counts
//     again once it has caught up. Sums over many readings come out right by
//     themselves; to show shorter spans, use a Debt.
//   - Anything else is a reset, and the counter gained at least its current value.
//
// A clamped counter at its limit gained an unknown amount: Increase returns Saturated, with the
// part that is known.
func Increase(d *Desc, prev, cur uint64, seconds float64) (float64, Step) {
	if d.Type.Float() {
		return increaseFloat(d, Number(d.Type, prev), Number(d.Type, cur))
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
	wraps := !d.Clamped && bits < 64 && prev>>bits == 0 && cur>>bits == 0
	if cur >= prev {
		if size := uint64(1) << bits; wraps && fellAcrossZero(prev, cur, size) {
			return -float64(prev + size - cur), Dipped
		}
		return float64(cur - prev), Advanced
	}
	if wraps {
		gain := cur + 1<<bits - prev
		if gain < 1<<(bits-1) && possible(d.Units, float64(gain), seconds) {
			return float64(gain), Wrapped
		}
	}
	if d.Falls == NeverRestarts || prev-cur <= prev/smallFall {
		return -float64(prev - cur), Dipped
	}
	return float64(cur), Restarted
}

// A Debt is how much a counter must catch up after it dipped.
type Debt float64

// Pay returns the part of a gain that counts. A dip is a negative gain.
func (d *Debt) Pay(gain float64, step Step) float64 {
	if step == Restarted {
		*d = 0
		return gain
	}
	gain -= float64(*d)
	*d = 0
	if gain < 0 {
		*d, gain = Debt(-gain), 0
	}
	return gain
}

// smallFall is the part (an eighth) by which a counter may fall without a reset.
const smallFall = 8

func increaseFloat(d *Desc, prev, cur float64) (float64, Step) {
	switch {
	case math.IsNaN(prev) || math.IsNaN(cur):
		return 0, Restarted
	case cur >= prev:
		return cur - prev, Advanced
	case d.Falls == NeverRestarts || prev-cur <= prev/smallFall:
		return cur - prev, Dipped
	}
	return cur, Restarted
}

// fellAcrossZero reports whether a counter that had just wrapped stepped back below zero. As a
// gain that would be nearly the whole range.
func fellAcrossZero(prev, cur, size uint64) bool {
	return prev < size/smallFall/2 && size-cur < size/smallFall/2
}

// The largest plausible increases per second: 4096 processors or requests that wait at once, a
// terabit, and a billion of anything counted one by one.
const (
	mostSeconds = 4096
	mostBytes   = 125e9
	mostCounts  = 1e9
)

// possible reports whether a gain in u is plausible in so many seconds.
func possible(u Units, gain, seconds float64) bool {
	if seconds <= 0 {
		return true
	}
	for _, limit := range []struct {
		unit Units
		most float64
	}{{Seconds, mostSeconds}, {Bytes, mostBytes}, {Counts, mostCounts}} {
		if f, err := u.Factor(limit.unit); err == nil {
			return gain*f <= limit.most*seconds
		}
	}
	return true
}

func clampLimit(bits int) uint64 {
	return uint64(1)<<bits - 1
}

// Number converts bits of type t to a float, for arithmetic that may round. Strings give NaN.
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

package darwin

import "math"

// celsius turns a battery's temperature into degrees: models count in
// hundredths of a degree Celsius or of a kelvin.
func celsius(raw int64) float64 {
	const freezing = 27315
	if raw > freezing {
		return float64(raw-freezing) / 100
	}
	return float64(raw) / 100
}

// health is what is left of a battery's capacity, in percent, rounded down.
// New batteries may hold more than they were designed for.
func health(full, design int64) (uint64, bool) {
	if full < 0 || design <= 0 || full > math.MaxInt64/100 {
		return 0, false
	}
	return uint64(min(100, full*100/design)), true
}

// fullCharge is a battery's capacity in mAh. Apple silicon has the real number
// under another name and reports 100, a percentage, under the old one.
func fullCharge(raw int64, hasRaw bool, old int64, hasOld bool) (int64, bool) {
	if hasRaw {
		return raw, true
	}
	return old, hasOld && old > 100
}

// percent is a charge as a share of its full scale, which on some machines is
// in mAh.
func percent(current, full int64) uint64 {
	if full <= 0 || full == 100 {
		return uint64(max(current, 0))
	}
	return uint64(max(current, 0) * 100 / full)
}

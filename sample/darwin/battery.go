package darwin

import (
	"math"

	"tachograph/sample/metric"
)

// celsius is a battery's temperature in degrees. Temperature is in tenths of a
// kelvin, as in the specification of smart batteries; VirtualTemperature, which
// newer drivers add, is in hundredths of a degree Celsius and is believed first.
// A number that no battery survives is no temperature.
func celsius(virtual int64, hasVirtual bool, kelvin int64, hasKelvin bool) (float64, bool) {
	const coldest, hottest = -60.0, 150.0
	if c := float64(virtual) / 100; hasVirtual && c > coldest && c < hottest {
		return c, true
	}
	// One division of whole numbers, so that 2998 is 26.65 and not nearly so.
	c := float64(10*min(max(kelvin, 0), math.MaxInt32)-27315) / 100
	return c, hasKelvin && c > coldest && c < hottest
}

// widened is a signed number that a driver may have stored as an unsigned one
// of 16 or 32 bits: a current of more than 32 A is a negative one.
func widened(v int64) int64 {
	switch {
	case v > math.MaxInt16 && v <= math.MaxUint16:
		return int64(int16(v))
	case v > math.MaxInt32 && v <= math.MaxUint32:
		return int64(int32(v))
	}
	return v
}

// Why a battery's time is absent.
var (
	timeUnknown = metric.ReasonFor("macOS has not worked it out yet")
	timeNone    = metric.ReasonFor("the battery neither charges nor empties")
)

// remaining is the time until a battery is full, if it charges, or empty, if
// the machine runs on it. macOS says -1 while it does not know.
func remaining(charging, onBattery bool, toFull, toEmpty int64) (int64, metric.Reason) {
	minutes := toEmpty
	switch {
	case charging:
		minutes = toFull
	case !onBattery:
		return 0, timeNone
	}
	if minutes < 0 || minutes >= math.MaxUint16 {
		return 0, timeUnknown
	}
	return minutes, metric.Present
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

package darwin

import (
	"math"

	"tachograph/sample/darwin/rows"
	"tachograph/sample/metric"
)

// batteryRows are what the battery's driver says and what the power management
// does. A driver's Temperature is in tenths of a kelvin, as in the specification
// of smart batteries; VirtualTemperature, which newer ones add, is in hundredths
// of a degree Celsius and is believed first.
func batteryRows() (battery, charge *rows.Table) {
	funcs := map[string]rows.Func{
		"plausible": plausible,
		"signed":    func(v, _ uint64) (uint64, bool) { return uint64(widened(int64(v))), true },
		"charge":    func(v, _ uint64) (uint64, bool) { return v, isCharge(int64(v)) },
		"health":    func(full, design uint64) (uint64, bool) { return health(int64(full), int64(design)) },
		"percent":   func(current, full uint64) (uint64, bool) { return percent(int64(current), int64(full)), true },
	}
	return rows.New("battery", rows.Select(metric.NoIndom, "IOKit AppleSmartBattery"), 0, funcs),
		rows.New("charge", rows.Select(metric.NoIndom, "IOPSCopyPowerSourcesInfo"), 0, funcs)
}

// remainingWord is how the row of the time that remains begins, which is worked
// out from more than numbers.
const remainingWord = "remaining("

// plausible takes a number that no battery survives for no temperature.
func plausible(celsius, _ uint64) (uint64, bool) {
	const coldest, hottest = -60.0, 150.0
	c := math.Float64frombits(celsius)
	return celsius, c > coldest && c < hottest
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

// isCharge tells a battery's capacity in mAh from a percentage. Apple silicon
// has the real number under another name and reports 100 under the old one.
func isCharge(capacity int64) bool { return capacity > 100 }

// percent is a charge as a share of its full scale, which on some machines is
// in mAh.
func percent(current, full int64) uint64 {
	if full <= 0 || full == 100 {
		return uint64(max(current, 0))
	}
	return uint64(max(current, 0) * 100 / full)
}

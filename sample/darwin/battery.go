package darwin

import (
	"math"

	"tachograph/sample/darwin/rows"
	"tachograph/sample/metric"
)

// batteryRows returns the tables of the battery's driver and of the power management. A driver's
// Temperature is in tenths of a kelvin, as in the specification of smart batteries;
// VirtualTemperature, which newer drivers add, is in hundredths of a degree Celsius and has
// precedence.
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

// remainingWord is the beginning of the row for the remaining time, which is computed from more
// than numbers.
const remainingWord = "remaining("

// plausible rejects temperatures that no battery survives.
func plausible(celsius, _ uint64) (uint64, bool) {
	const coldest, hottest = -60.0, 150.0
	c := math.Float64frombits(celsius)
	return celsius, c > coldest && c < hottest
}

// widened returns a signed number that a driver may have stored as an unsigned one of 16 or 32
// bits: a current above 32 A is really a negative one.
func widened(v int64) int64 {
	switch {
	case v > math.MaxInt16 && v <= math.MaxUint16:
		return int64(int16(v))
	case v > math.MaxInt32 && v <= math.MaxUint32:
		return int64(int32(v))
	}
	return v
}

// The reasons for a battery's missing time.
var (
	timeUnknown = metric.ReasonFor("macOS has not worked it out yet")
	timeNone    = metric.ReasonFor("the battery neither charges nor empties")
)

// remaining returns the time until a battery is full, if it charges, or empty, if the machine
// runs on it. macOS says -1 while it does not know.
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

// health is the remaining part of a battery's capacity, in percent, rounded down. New batteries
// may hold more than they were designed for.
func health(full, design int64) (uint64, bool) {
	if full < 0 || design <= 0 || full > math.MaxInt64/100 {
		return 0, false
	}
	return uint64(min(100, full*100/design)), true
}

// isCharge distinguishes a battery's capacity in mAh from a percentage. Apple silicon has the
// real number under another name and reports 100 under the old one.
func isCharge(capacity int64) bool { return capacity > 100 }

// percent converts a charge to a share of its full scale, which on some machines is in mAh.
func percent(current, full int64) uint64 {
	if full <= 0 || full == 100 {
		return uint64(max(current, 0))
	}
	return uint64(max(current, 0) * 100 / full)
}

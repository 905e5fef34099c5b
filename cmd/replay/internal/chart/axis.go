package chart

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"tachograph/cmd/replay/internal/human"
	"tachograph/sample/metric"
)

// Axis is a scale of values: its ends, and its labels.
type Axis struct {
	Low, High float64
	Ticks     []Tick // upwards; the first is Low, the last High
}

// Tick is a mark of a scale.
type Tick struct {
	Value float64
	Label string
}

// Share returns how far up the scale v is, from 0 to 1. It computes with halves, because the
// ends may be as far apart as floats go.
func (a *Axis) Share(v float64) float64 {
	low := float64(a.Low / 2)
	share := (float64(v/2) - low) / (float64(a.High/2) - low)
	if !(share > 0) {
		return 0
	}
	return math.Min(share, 1)
}

// Values returns the axis for values from low to high in u, with at most that many spaces
// between its ticks. Ticks are numbers that people count in and that replay writes without
// rounding: 0, 50, 100 %; 256 MB, 512 MB; half minutes and quarters of an hour. The ends are
// ticks: the scale reaches at least from low to high.
func Values(low, high float64, u metric.Units, rate bool, most int) Axis {
	label := func(x float64) string { return tickText(x, u, rate) }
	if math.IsNaN(low) || math.IsNaN(high) || math.IsInf(low, 0) || math.IsInf(high, 0) || low > high {
		low, high = 0, 1
	}
	if low == high {
		if low, high = math.Min(low, 0), math.Max(high, 0); low == high {
			high = 1
		}
	}
	scale := human.ScaleOf(u, rate)
	for _, step := range steps(low, high, scale, max(most, 1)) {
		if a, ok := axisOf(low, high, step, max(most, 1), scale, label); ok {
			return a
		}
	}
	return Axis{Low: low, High: high, Ticks: []Tick{{low, label(low)}, {high, label(high)}}}
}

// axisOf returns the axis with a step, if it has few enough ticks and their labels are exact.
func axisOf(low, high, step float64, most int, scale human.Scale, label func(float64) string) (a Axis, ok bool) {
	// Counted in steps, so that ticks are exact. A value a hair beyond a tick is on it: a hair
	// of the step, or of the values if the step is much longer than they are.
	largest := math.Max(math.Abs(low), math.Abs(high)) * scale.Factor
	hair := float64(1e-9 * math.Min(1, largest/step))
	first, last := math.Floor(low*scale.Factor/step+hair), math.Ceil(high*scale.Factor/step-hair)
	if last <= first {
		last = first + 1
	}
	if most := float64(most); !(last-first <= most && math.Abs(first) <= 1e12 && math.Abs(last) <= 1e12) {
		return a, false
	}
	for i := first; i <= last; i++ {
		v := float64(i*step) / scale.Factor
		t := Tick{Value: v, Label: label(v)}
		if n := len(a.Ticks); n > 0 && a.Ticks[n-1].Label == t.Label || !exact(t.Label, float64(i*step), scale) {
			return a, false
		}
		a.Ticks = append(a.Ticks, t)
	}
	a.Low, a.High = a.Ticks[0].Value, a.Ticks[len(a.Ticks)-1].Value
	return a, !math.IsInf(a.Low, 0) && !math.IsInf(a.High, 0) && a.Low < a.High
}

// steps returns the distances that ticks may have, in what the scale counts, the shortest first.
func steps(low, high float64, scale human.Scale, most int) []float64 {
	least := (float64(high/float64(most)) - float64(low/float64(most))) * scale.Factor
	switch {
	case scale.Kind == human.Times && least >= 1:
		var list []float64
		for _, s := range lengths {
			if s >= least {
				list = append(list, s)
			}
		}
		for _, s := range decades(math.Max(least/86400, 10)) {
			list = append(list, s*86400)
		}
		return list
	case scale.Kind == human.Sizes && least < math.MaxFloat64:
		// Tens and tenths of each unit, and the halves that make up the next unit.
		var list []float64
		top := math.Max(math.Abs(low), math.Abs(high)) * scale.Factor
		for unit := 1.0; unit <= math.Max(least, top)*1024 && unit < 1e24; unit *= 1024 {
			for _, s := range decades(least / unit) {
				if s < 1000 {
					list = append(list, s*unit)
				}
			}
			// Within the unit of the largest value, tens are enough.
			for s := unit; s < 1024*unit; s *= 2 {
				if s >= least && (top < unit || top >= 256*unit) {
					list = append(list, s)
				}
			}
		}
		slices.Sort(list)
		return slices.Compact(list)
	}
	return decades(least)
}

// lengths are round times in seconds, as people count seconds, minutes, hours and days.
var lengths = []float64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 2 * 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86400, 2 * 86400, 5 * 86400}

// decades returns numbers from least on that begin with 1, 2, 2.5 or 5.
func decades(least float64) []float64 {
	if !(least > 1e-290) || math.IsInf(least, 0) {
		least = 1e-290
	}
	var list []float64
	exponent := int(math.Floor(math.Log10(least)))
	for e := exponent; e < exponent+6; e++ {
		for _, digits := range []string{"1", "2", "2.5", "5"} {
			// Parsed from text, so that 0.1 is the number written that way.
			if s, err := strconv.ParseFloat(digits+"e"+strconv.Itoa(e), 64); err == nil && s >= least*(1-1e-9) {
				list = append(list, s)
			}
		}
	}
	return list
}

// exact reports whether a text gives a number exactly: the figure before its unit is the number,
// up to powers of what the unit is divided into.
func exact(text string, x float64, scale human.Scale) bool {
	if x == 0 || scale.Kind == human.Times && math.Abs(x) >= 60 {
		return true // Minutes and hours are written one after the other.
	}
	figure, _, _ := strings.Cut(text, " ")
	y, err := strconv.ParseFloat(figure, 64)
	if err != nil || y == 0 {
		return false
	}
	power := math.Log10(math.Abs(x / y))
	if scale.Kind == human.Sizes {
		power = math.Log2(math.Abs(x/y)) / 10
	}
	return math.Abs(power-math.Round(power)) < 1e-9 && (x > 0) == (y > 0)
}

// tickText writes a value as replay does everywhere, but without digits that say nothing on a
// scale.
func tickText(x float64, u metric.Units, rate bool) string {
	return strings.Replace(human.Value(x, u, rate), ".0 %", " %", 1)
}

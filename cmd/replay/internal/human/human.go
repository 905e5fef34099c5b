// Package human formats numbers for people: scaled, with a unit and at most four figures.
package human

import (
	"math"
	"strconv"
	"strings"
	"time"

	"tachograph/sample/metric"
)

var byteNames = []string{"B", "KB", "MB", "GB", "TB", "PB", "EB"}

// Bytes writes a size.
func Bytes(x float64) string {
	i := 0
	for math.Abs(x) >= 999.5 && i < len(byteNames)-1 {
		x /= 1024
		i++
	}
	return Figures(x) + " " + byteNames[i]
}

// Count writes a number, with k, M, G if it is large.
func Count(x float64) string {
	for _, s := range []struct {
		limit float64
		name  string
	}{{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e4, "k"}} {
		if math.Abs(x) >= s.limit {
			div := s.limit
			if s.name == "k" {
				div = 1e3
			}
			return Figures(x/div) + " " + s.name
		}
	}
	return Figures(x)
}

// endless is the size from which all digits of a number say nothing any more.
const endless = 1e18

// Figures writes x with three or four figures and no trailing zeros.
func Figures(x float64) string {
	a := math.Abs(x)
	digits := 0
	switch {
	case x == math.Trunc(x) && a < 1e7:
	case a < 0.001 || a >= endless && !math.IsInf(x, 0):
		return strconv.FormatFloat(x, 'g', 3, 64)
	case a < 0.1:
		digits = 4
	case a < 1:
		digits = 3
	case a < 10:
		digits = 2
	case a < 100:
		digits = 1
	}
	s := strconv.FormatFloat(x, 'f', digits, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// Percent writes a share: 0.25 as 25 %.
func Percent(x float64) string {
	x *= 100
	switch a := math.Abs(x); {
	case a != 0 && a < 0.095:
		return strconv.FormatFloat(x, 'f', 2, 64) + " %"
	case a < 10:
		return strconv.FormatFloat(x, 'f', 1, 64) + " %"
	case a >= endless:
		return Figures(x) + " %"
	}
	return strconv.FormatFloat(x, 'f', 0, 64) + " %"
}

// Seconds writes a duration given in seconds.
func Seconds(x float64) string {
	a := math.Abs(x)
	switch {
	case a == 0:
		return "0 s"
	case a < 1e-6:
		return Figures(x*1e9) + " ns"
	case a < 1e-3:
		return Figures(x*1e6) + " µs"
	case a < 1:
		return Figures(x*1e3) + " ms"
	case a < 60 || math.IsNaN(x) || math.IsInf(x, 0):
		return Figures(x) + " s"
	case a >= longest:
		return Count(x/86400) + " d"
	}
	return Duration(time.Duration(x * 1e9))
}

// longest is, in seconds, the first length that a time.Duration cannot represent.
const longest = 1 << 63 / 1e9

// Duration writes a length of time in its two largest units.
func Duration(d time.Duration) string {
	if d < 0 {
		return "-" + Duration(-max(d, -math.MaxInt64)) // The least value has no opposite.
	}
	s := int64(d.Round(time.Second) / time.Second)
	switch {
	case d < time.Minute-time.Second/2:
		return Figures(d.Seconds()) + " s"
	case s < 3600:
		return two(s/60, "m", s%60, "s")
	case s < 86400:
		return two(s/3600, "h", s%3600/60, "m")
	}
	return two(s/86400, "d", s%86400/3600, "h")
}

func two(a int64, an string, b int64, bn string) string {
	s := strconv.FormatInt(a, 10) + an
	if b != 0 {
		s += " " + strconv.FormatInt(b, 10) + bn
	}
	return s
}

// Watts writes a power.
func Watts(x float64) string {
	if x < 0.9995 {
		return Figures(math.Round(x*1000)) + " mW"
	}
	return Figures(x) + " W"
}

var others = map[string]struct {
	factor float64
	name   string
}{
	"C": {1, "°C"}, "mA": {1, "mA"}, "mV": {1e-3, "V"}, "mW": {1e-3, "W"}, "rpm": {1, "rpm"}, "MHz": {1, "MHz"},
	"nanojoule": {1e-9, "J"}, "percent": {1, "%"}, "cycle": {1, "cycles"},
}

// Value writes x, which is in u. A rate comes from a counter; a rate of time is a utilisation.
func Value(x float64, u metric.Units, rate bool) string {
	if math.IsNaN(x) {
		return "NaN"
	}
	if math.IsInf(x, 0) {
		return strings.TrimPrefix(strconv.FormatFloat(x, 'f', -1, 64), "+")
	}
	if u.Other != "" {
		o, known := others[u.Other]
		if !known || u.Space != 0 || u.Count != 0 {
			return Figures(x) + " " + u.String()
		}
		switch {
		case u.Time == -1 && u.Other == "nanojoule":
			return Figures(x*o.factor*scale(u.TimeScale)) + " W"
		case u.Time == 0:
			return Figures(x*o.factor) + " " + o.name
		}
		return Figures(x) + " " + u.String()
	}
	switch {
	case u == metric.NoUnits && rate:
		return Percent(x)
	case u == metric.NoUnits:
		return plain(x)
	case u.Space == 1 && u.Time == 0 && u.Count == 0:
		return Bytes(x * math.Pow(1024, float64(u.SpaceScale)))
	case u.Space == 1 && u.Time == -1 && u.Count == 0:
		return Bytes(x*math.Pow(1024, float64(u.SpaceScale))*scale(u.TimeScale)) + "/s"
	case u.Time == 1 && u.Space == 0 && u.Count == 0:
		return Seconds(x / scale(u.TimeScale))
	case u.Count == 1 && u.Space == 0 && u.Time == 0:
		return Count(x * math.Pow10(int(u.CountScale)))
	case u.Count == 1 && u.Space == 0 && u.Time == -1:
		return Count(x*math.Pow10(int(u.CountScale))*scale(u.TimeScale)) + " /s"
	case u.Space == 0 && u.Count == 0 && u.Time == -1 && rate:
		return Count(x*scale(u.TimeScale)) + " /s"
	case u.Space == 1 && u.Count == -1 && u.Time == 0:
		return Bytes(x*math.Pow(1024, float64(u.SpaceScale))) + " each"
	case u.Time == 1 && u.Count == -1 && u.Space == 0:
		return Seconds(x/scale(u.TimeScale)) + " each"
	}
	return Figures(x) + " " + u.String()
}

// scale returns how many of a time scale's units make a second.
func scale(s int8) float64 {
	f, err := metric.Seconds.Factor(metric.Units{Time: 1, TimeScale: s})
	if err != nil {
		return 1
	}
	return f
}

// plain writes a number without units: whole numbers exactly, others with few figures.
func plain(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	if a := math.Abs(x); a >= 1e6 && a < endless {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return Figures(x)
}

var sparks = []rune("▁▂▃▄▅▆▇█")

// Spark draws values as a line of blocks between zero and top; NaN is a blank.
func Spark(values []float64, top float64) string { return Sparks(values, top, 1)[0] }

// Sparks draws a small chart of several lines, the uppermost first.
func Sparks(values []float64, top float64, height int) []string {
	lines := make([]string, height)
	for row := range lines {
		var b strings.Builder
		for _, v := range values {
			full := 1
			if share := v / top; top > 0 && share > 0 {
				full += int(math.Min(share, 1) * float64(height*len(sparks)))
			}
			full = min(full, height*len(sparks)) - (height-1-row)*len(sparks)
			if math.IsNaN(v) || full < 1 {
				b.WriteByte(' ')
				continue
			}
			b.WriteRune(sparks[min(full, len(sparks))-1])
		}
		lines[row] = b.String()
	}
	return lines
}

// Kind says how numbers of a unit are counted.
type Kind int

const (
	Tens  Kind = iota // 1, 10, 100
	Sizes             // bytes: 1024 make the next larger unit
	Times             // seconds: 60 make the next larger unit
)

// Scale is the way Value counts: values times Factor are bytes or seconds, or numbers counted in
// tens.
type Scale struct {
	Kind   Kind
	Factor float64
}

// ScaleOf returns how Value counts numbers in u.
func ScaleOf(u metric.Units, rate bool) Scale {
	switch {
	case u.Other != "" || u == metric.NoUnits:
	case u.Space == 1 && u.Time == 0 && (u.Count == 0 || u.Count == -1):
		return Scale{Sizes, math.Pow(1024, float64(u.SpaceScale))}
	case u.Space == 1 && u.Time == -1 && u.Count == 0:
		return Scale{Sizes, math.Pow(1024, float64(u.SpaceScale)) * scale(u.TimeScale)}
	case u.Time == 1 && u.Space == 0 && (u.Count == 0 || u.Count == -1):
		return Scale{Times, 1 / scale(u.TimeScale)}
	}
	return Scale{Tens, 1}
}

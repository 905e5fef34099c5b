package metric

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Units are PCP's: exponents and scales in space, time and count. A unit for which PCP has no
// dimension (degrees, amperes, joules) has a name in Other; it is multiplied with the three and
// converts only to itself. "percent" is no dimension but a scale: a hundredth of a plain number.
type Units struct {
	Space, Time, Count                int8
	SpaceScale, TimeScale, CountScale int8
	Other                             string
}

// Scales of space are powers of 1024, scales of time as named, scales of count powers of ten.
const (
	Byte = iota
	Kbyte
	Mbyte
	Gbyte
	Tbyte
	Pbyte
	Ebyte
)

const (
	Nanosec = iota
	Microsec
	Millisec
	Sec
	Min
	Hour
)

var (
	spaceNames = []string{"byte", "Kbyte", "Mbyte", "Gbyte", "Tbyte", "Pbyte", "Ebyte"}
	timeNames  = []string{"nanosec", "microsec", "millisec", "sec", "min", "hour"}
	timeNanos  = []float64{1, 1e3, 1e6, 1e9, 60e9, 3600e9}
)

// The units that tables use most.
var (
	NoUnits      = Units{}
	Bytes        = Units{Space: 1, SpaceScale: Byte}
	Kbytes       = Units{Space: 1, SpaceScale: Kbyte}
	Mbytes       = Units{Space: 1, SpaceScale: Mbyte}
	Nanoseconds  = Units{Time: 1, TimeScale: Nanosec}
	Microseconds = Units{Time: 1, TimeScale: Microsec}
	Milliseconds = Units{Time: 1, TimeScale: Millisec}
	Seconds      = Units{Time: 1, TimeScale: Sec}
	Counts       = Units{Count: 1}
	PerSecond    = Units{Count: 1, Time: -1, TimeScale: Sec}
	Percent      = Units{Other: "percent"}
)

// String prints u as PCP does: numerator, slash, denominator; "" for a number without units.
func (u Units) String() string {
	var num, den []string
	add := func(exp int8, name string) {
		switch {
		case exp == 1:
			num = append(num, name)
		case exp > 1:
			num = append(num, name+"^"+strconv.Itoa(int(exp)))
		case exp == -1:
			den = append(den, name)
		case exp < -1:
			den = append(den, name+"^"+strconv.Itoa(int(-exp)))
		}
	}
	add(u.Space, scaleName(spaceNames, u.SpaceScale))
	if u.Other != "" {
		num = append(num, u.Other)
	}
	count := "count"
	if u.CountScale != 0 {
		count += "x10^" + strconv.Itoa(int(u.CountScale))
	}
	add(u.Count, count)
	// Time comes last on either side, so that a rate reads "count / sec".
	add(u.Time, scaleName(timeNames, u.TimeScale))
	s := strings.Join(num, " ")
	if len(den) > 0 {
		s = strings.TrimSpace(s + " / " + strings.Join(den, " "))
	}
	return s
}

func scaleName(names []string, scale int8) string {
	if scale >= 0 && int(scale) < len(names) {
		return names[scale]
	}
	return names[0] + "x" + strconv.Itoa(int(scale))
}

// ParseUnits reads what String prints, and the everyday spellings B, KB, MB,
// GB, TB, ns, us, ms, s, %. "none" and "" are no units.
func ParseUnits(s string) (Units, error) {
	var u Units
	text := strings.TrimSpace(s)
	if text == "" || text == "none" {
		return u, nil
	}
	num, den, slashed := strings.Cut(text, "/")
	if slashed && strings.TrimSpace(den) == "" {
		return u, fmt.Errorf("metric: units %q: nothing after the slash", s)
	}
	for _, w := range strings.Fields(num) {
		if err := u.mul(w, 1); err != nil {
			return Units{}, fmt.Errorf("metric: units %q: %w", s, err)
		}
	}
	for _, w := range strings.Fields(den) {
		if err := u.mul(w, -1); err != nil {
			return Units{}, fmt.Errorf("metric: units %q: %w", s, err)
		}
	}
	return u, nil
}

var shortUnits = map[string]string{
	"b": "byte", "kb": "Kbyte", "mb": "Mbyte", "gb": "Gbyte", "tb": "Tbyte",
	"bytes": "byte", "kbytes": "Kbyte", "mbytes": "Mbyte", "gbytes": "Gbyte", "tbytes": "Tbyte",
	"ns": "nanosec", "us": "microsec", "µs": "microsec", "ms": "millisec", "s": "sec",
	"second": "sec", "seconds": "sec", "minute": "min", "h": "hour", "hours": "hour",
}

// otherUnits are the possible names in Units.Other, where PCP has no dimension.
var otherUnits = map[string]bool{
	"C": true, "mA": true, "mV": true, "mW": true, "rpm": true, "MHz": true, "nanojoule": true, "bit": true, "percent": true, "cycle": true,
}

func (u *Units) mul(word string, sign int8) error {
	name, exp := word, int8(1)
	if base, e, ok := strings.Cut(word, "^"); ok && !strings.HasSuffix(base, "x10") {
		n, err := strconv.ParseInt(e, 10, 8)
		if err != nil || n < 1 || n > 7 {
			return fmt.Errorf("bad exponent in %q", word)
		}
		name, exp = base, int8(n)
	}
	exp *= sign
	if name == "%" {
		name = Percent.Other
	}
	if otherUnits[name] {
		if sign < 0 || u.Other != "" || exp != 1 {
			return fmt.Errorf("%q can only stand alone and above the slash", word)
		}
		u.Other = name
		return nil
	}
	if full, ok := shortUnits[strings.ToLower(name)]; ok {
		name = full
	}
	if i := indexOf(spaceNames, name); i >= 0 {
		return set(&u.Space, &u.SpaceScale, exp, int8(i), word)
	}
	if i := indexOf(timeNames, name); i >= 0 {
		return set(&u.Time, &u.TimeScale, exp, int8(i), word)
	}
	if name == "count" {
		return set(&u.Count, &u.CountScale, exp, 0, word)
	}
	if rest, ok := strings.CutPrefix(name, "countx10^"); ok {
		n, err := strconv.ParseInt(rest, 10, 8)
		if err != nil {
			return fmt.Errorf("bad scale in %q", word)
		}
		return set(&u.Count, &u.CountScale, exp, int8(n), word)
	}
	return fmt.Errorf("unknown unit %q", word)
}

func set(dim, scale *int8, exp, sc int8, word string) error {
	if *dim != 0 {
		return fmt.Errorf("%q repeats a dimension", word)
	}
	*dim, *scale = exp, sc
	return nil
}

func indexOf(names []string, s string) int {
	for i, n := range names {
		if n == s {
			return i
		}
	}
	return -1
}

// SameDimension reports whether values in u can be converted to v.
func (u Units) SameDimension(v Units) bool {
	u, _ = u.Plain()
	v, _ = v.Plain()
	return u.Space == v.Space && u.Time == v.Time && u.Count == v.Count && u.Other == v.Other
}

// Plain returns u without percent, and the factor that converts a value in u to that.
func (u Units) Plain() (Units, float64) {
	if u.Other != Percent.Other {
		return u, 1
	}
	u.Other = ""
	return u, 0.01
}

// Factor returns the factor that converts a value in u to v.
func (u Units) Factor(v Units) (float64, error) {
	if !u.SameDimension(v) {
		return 0, fmt.Errorf("%s cannot be converted to %s: the dimensions differ", u.orNone(), v.orNone())
	}
	f := math.Pow(1024, float64(u.Space)*float64(u.SpaceScale-v.SpaceScale))
	if u.Other != v.Other { // one of them is in percent
		if u.Other == Percent.Other {
			f /= 100
		} else {
			f *= 100
		}
	}
	if u.Time != 0 {
		f *= math.Pow(nanos(u.TimeScale)/nanos(v.TimeScale), float64(u.Time))
	}
	return f * math.Pow(10, float64(u.Count)*float64(u.CountScale-v.CountScale)), nil
}

func nanos(scale int8) float64 {
	if scale >= 0 && int(scale) < len(timeNanos) {
		return timeNanos[scale]
	}
	return 1
}

func (u Units) orNone() string {
	if s := u.String(); s != "" {
		return s
	}
	return "a number without units"
}

// PerSec returns the units of the rate of a counter in u.
func (u Units) PerSec() Units {
	if u.Time == 0 {
		u.Time, u.TimeScale = -1, Sec
		return u
	}
	// Time per second is utilisation: a plain number once scaled.
	u.Time--
	if u.Time == 0 {
		u.TimeScale = 0
	}
	return u
}

// Quantity formats a value for people, in three digits.
func Quantity(v float64, u Units) string {
	words := u.String()
	if f, err := u.Factor(Seconds); err == nil {
		v, words = v*f, "s"
	}
	if u == Percent {
		words = "%"
	}
	text := strconv.FormatFloat(v, 'g', 3, 64)
	if a := math.Abs(v); a >= 1000 && a < 1e15 {
		text = strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strings.TrimSpace(text + " " + words)
}

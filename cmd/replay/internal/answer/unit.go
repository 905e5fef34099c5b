package answer

import (
	"math"
	"strconv"

	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/out"
)

// A Unit says how the numbers of a field are written, for people and for programs.
type Unit struct {
	text func(float64) string
	kind out.Kind
	cell func(float64) out.Cell
	// Sizes says that they are numbers of bytes.
	Sizes bool
}

// The units of fields. Number has no unit; Share is of 1 for people and in percent for programs.
var (
	Number    = Unit{text: human.Figures, kind: out.Int, cell: Whole}
	Count     = Unit{text: human.Count, kind: out.Int, cell: Whole}
	PerSecond = Unit{text: human.Count, kind: out.Float, cell: Real}
	Bytes     = Unit{text: human.Bytes, kind: out.Int, cell: Whole, Sizes: true}
	Speed     = Unit{text: func(x float64) string { return human.Bytes(x) + "/s" }, kind: out.Float, cell: Real, Sizes: true}
	Share     = Unit{text: human.Percent, kind: out.Float, cell: func(x float64) out.Cell { return Real(x * 100) }}
	Percent   = Unit{text: func(x float64) string { return human.Percent(x / 100) }, kind: out.Float, cell: Real}
	Seconds   = Unit{text: human.Seconds, kind: out.Float, cell: Real}
	Joules    = Unit{text: func(x float64) string { return human.Figures(x) + " J" }, kind: out.Float, cell: Real}
	// WattHours are joules, which people get to the last mWh.
	WattHours = Unit{text: func(x float64) string { return strconv.FormatFloat(x/3600, 'f', 3, 64) + " Wh" }, kind: out.Float, cell: Real}
	Watts     = Unit{text: human.Watts, kind: out.Float, cell: Real}

	// Kilobytes, Microseconds and Milliseconds are bytes and seconds which programs get in smaller units.
	Kilobytes    = Unit{text: human.Bytes, kind: out.Int, cell: func(x float64) out.Cell { return Whole(x / 1024) }, Sizes: true}
	Microseconds = Unit{text: human.Seconds, kind: out.Int, cell: func(x float64) out.Cell { return Whole(x * 1e6) }}
	Milliseconds = Unit{text: human.Seconds, kind: out.Float, cell: func(x float64) out.Cell { return Real(x * 1e3) }}
)

// Text writes a number for people, "-" if it is unknown.
func (u Unit) Text(x float64) string {
	if math.IsNaN(x) {
		return "-"
	}
	return u.text(x)
}

// Text is a cell for a text, absent if it is empty.
func Text(s string) out.Cell {
	if s == "" {
		return out.Cell{}
	}
	return out.Str(s)
}

// Real is a cell for a number, absent if it is unknown.
func Real(x float64) out.Cell {
	if math.IsNaN(x) {
		return out.Cell{}
	}
	return out.Number(x)
}

// Whole is a cell for a whole number, absent if it is unknown. What is too large for a whole
// number, as archives of unknown origin may say, is a number of another kind.
func Whole(x float64) out.Cell {
	switch {
	case math.IsNaN(x):
		return out.Cell{}
	case math.Abs(x) >= 1<<63:
		return out.Number(x)
	}
	return out.Whole(int64(math.Round(x)))
}

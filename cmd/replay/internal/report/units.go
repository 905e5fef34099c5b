package report

import (
	"tachograph/cmd/replay/internal/human"
	"tachograph/sample/metric"
)

// measure is the unit of the values of a plot, and how they are written: by human.Value, and by
// the page in the same way.
type measure struct {
	units metric.Units
	rate  bool
	form  Form
}

// Form tells the page to do what human.Value does with values of a measure: it has the function
// that writes them, and a suffix.
type Form struct {
	Kind   string `json:"kind"`
	Suffix string `json:"suffix,omitempty"`
}

var (
	shares       = &measure{metric.NoUnits, true, Form{Kind: "percent"}}
	sizes        = &measure{metric.Bytes, false, Form{Kind: "bytes"}}
	sizesASecond = &measure{metric.Units{Space: 1, Time: -1, TimeScale: metric.Sec}, true, Form{Kind: "bytes", Suffix: "/s"}}
	aSecond      = &measure{metric.PerSecond, true, Form{Kind: "count", Suffix: " /s"}}
	plain        = &measure{metric.NoUnits, false, Form{Kind: "plain"}}
	celsius      = &measure{metric.Units{Other: "C"}, false, Form{Kind: "figures", Suffix: " °C"}}
	rpm          = &measure{metric.Units{Other: "rpm"}, false, Form{Kind: "figures", Suffix: " rpm"}}
)

// write writes a value.
func (m *measure) write(x float64) string {
	return human.Value(x, m.units, m.rate)
}

// factor returns the factor from values in u to m; zero if they measure something else.
func (m *measure) factor(u metric.Units) float64 {
	if m == shares || m == plain {
		if plain, f := u.Plain(); plain == metric.NoUnits {
			return f
		}
		return 0
	}
	f, err := u.Factor(m.units)
	if err != nil {
		return 0
	}
	return f
}

package report

import (
	"tachograph/cmd/replay/internal/human"
	"tachograph/sample/metric"
)

// measure is what the values of a plot are in, and how they are written: by
// human.Value, and by the page in the same way.
type measure struct {
	units metric.Units
	rate  bool
	form  Form
}

// Form is what human.Value does with values of a measure, in the page's terms: the
// function that writes them, and what follows.
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

// write is how a value reads.
func (m *measure) write(x float64) string {
	return human.Value(x, m.units, m.rate)
}

// factor brings values in u to m; zero where they are something else.
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

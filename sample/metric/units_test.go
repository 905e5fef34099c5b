package metric

import "testing"

func TestUnitsPrintAndParse(t *testing.T) {
	for _, s := range []string{
		"", "byte", "Kbyte", "Mbyte", "nanosec", "millisec", "sec", "count", "count / sec",
		"Kbyte / sec", "/ millisec", "millisec / count", "C", "mA", "mA hour", "bit / sec", "countx10^3", "byte^2 / sec", "percent", "percent / sec",
	} {
		u, err := ParseUnits(s)
		if err != nil {
			t.Errorf("ParseUnits(%q): %v", s, err)
			continue
		}
		if got := u.String(); got != s {
			t.Errorf("ParseUnits(%q) prints as %q", s, got)
		}
	}
	for _, s := range []string{"furlong", "byte byte", "byte /", "sec^99", "C C"} {
		if u, err := ParseUnits(s); err == nil {
			t.Errorf("ParseUnits(%q) = %v, want an error", s, u)
		}
	}
}

func TestUnitsConvert(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     float64
	}{
		{"Kbyte", "byte", 1024},
		{"byte", "MB", 1.0 / (1 << 20)},
		{"millisec", "sec", 1e-3},
		{"Kbyte / sec", "byte / millisec", 1.024},
		{"hour", "min", 60},
		{"count", "countx10^3", 1e-3},
		{"percent", "", 0.01},
		{"", "%", 100},
		{"percent", "percent", 1},
		{"percent / sec", "/ min", 0.6},
	} {
		t.Run(c.from+" to "+c.to, func(t *testing.T) {
			from, _ := ParseUnits(c.from)
			to, _ := ParseUnits(c.to)
			got, err := from.Factor(to)
			if err != nil || got < c.want*(1-1e-12) || got > c.want*(1+1e-12) {
				t.Errorf("%v, %v; want %v", got, err, c.want)
			}
		})
	}
	if _, err := Bytes.Factor(Seconds); err == nil {
		t.Error("bytes converted to seconds")
	}
	if _, err := Percent.Factor(Bytes); err == nil {
		t.Error("percent converted to bytes")
	}
}

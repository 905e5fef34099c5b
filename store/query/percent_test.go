package query_test

import (
	"math"
	"strings"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

// percentages is a machine whose volume is 20 % full, whose battery has 74 % of
// its health, and of whose two cores one and a half work.
func percentages(t *testing.T) *querytest.Archive {
	t.Helper()
	parts, err := querytest.Parse(strings.NewReader(`start 2026-11-20T03:00:00Z
host box
interval fast 1s
metric full f64 instant - fast percent
metric health u32 instant - fast percent
metric load f32 instant - fast
metric ncpu u32 discrete - fast
metric cpu u64 counter - fast millisec
metric used u64 instant - fast Kbyte
metric all u64 instant - fast Mbyte
metric share f64 instant - fast percent
  formula used / all
boot b1 -1h
every 1s 0s 10s fast
  full 20
  health 74
  load 1.5
  ncpu 2
  cpu rate=1500
  used 512
  all 1
`))
	if err != nil {
		t.Fatal(err)
	}
	return querytest.New(parts...)
}

func TestPercentInExpressions(t *testing.T) {
	a := percentages(t)
	for _, c := range []struct {
		text  string
		want  float64
		units string
	}{
		{"full > 90%", 0, ""},
		{"full > 15%", 1, ""},
		{"full > 15", 1, ""},
		{"90% > full", 1, ""},
		{"health < 80%", 1, ""},
		{"health < 74%", 0, ""},
		{"rate(cpu) / ncpu > 70%", 1, ""},
		{"rate(cpu) / ncpu > 80%", 0, ""},
		{"rate(cpu) > 140%", 1, ""},
		{"cpu > 160%", 0, ""},
		{"used / all > 49%", 1, ""},
		{"used / all > 51%", 0, ""},
		{"used > 49% * all", 1, ""},
		{"share > 51%", 0, ""},
		{"share == full * 2.5", 1, ""},
		{"load / ncpu > 70%", 1, ""},
		{"full > 1 - 75%", 0, ""},
		{"full > 1 - 85%", 1, ""},
		{"full", 20, "percent"},
		{"100 - full", 80, "percent"},
		{"full + 5%", 25, "percent"},
		{"full * 50%", 10, "percent"},
		{"full / 2", 10, "percent"},
		{"full * all", 0.2, "Mbyte"},
		{"all / full", 5, "Mbyte"},
		{"full / health", 20.0 / 74, ""},
		{"full + used / all", 70, "percent"},
		{"used / all - full", 0.3, ""},
		{"share", 50, "percent"},
		{"50% * load", 0.75, ""},
		{"abs(full - 30)", 10, "percent"},
		{"delta(full)", 0, "percent"},
	} {
		t.Run(c.text, func(t *testing.T) {
			e, err := query.Compile(a, nil, c.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := e.Units().String(); got != c.units {
				t.Errorf("it is in %q, want %q", got, c.units)
			}
			last := math.NaN()
			for s, err := range query.Evaluate(a, e, query.Request{}) {
				if err != nil {
					t.Fatal(err)
				}
				if v := s.Value(len(s.Wall) - 1); v.Miss == metric.Present {
					last = v.Number()
				}
			}
			if math.Abs(last-c.want) > 1e-9 || last != last {
				t.Errorf("it is %v, want %v", last, c.want)
			}
		})
	}
}

func TestPercentIsCheckedLikeAnyUnit(t *testing.T) {
	a := percentages(t)
	for text, want := range map[string]string{
		"used > 90%":     "Kbyte on the left and percent on the right of > do not go together",
		"full > 3MB":     "percent on the left and Mbyte on the right of > do not go together",
		"full + used":    "percent on the left and Kbyte on the right of + do not go together",
		"load > 80%":     "load is a plain number and no share of anything",
		"80% < load":     "load is a plain number and no share of anything",
		"full > load":    "load is a plain number and no share of anything",
		"full * 2 > 5ms": "percent on the left and millisec on the right of > do not go together",
	} {
		t.Run(text, func(t *testing.T) {
			if _, err := query.Compile(a, nil, text); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", text, err, want)
			}
		})
	}
}

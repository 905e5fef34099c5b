package query_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

// falling records one counter, a reading every five seconds, in chunks of n.
func falling(t *testing.T, n int, describe string, readings ...uint64) *querytest.Archive {
	t.Helper()
	name, class, key := "x", "fast", ""
	if strings.HasPrefix(describe, "proc.") {
		name, class, key = "proc.psinfo.utime", "process", "[1]"
		describe = strings.TrimPrefix(describe, "proc. ")
	}
	indom := map[string]string{"fast": "-", "process": "process"}[class]
	var b strings.Builder
	fmt.Fprintf(&b, "start 2026-11-20T03:00:00Z\nhost box\ninterval fast 5s\ninterval process 5s\nmetric %s u64 counter %s %s %s\n", name, indom, class, describe)
	b.WriteString("instance process 1 000001 worker\nboot b1 -1h\n")
	for i, v := range readings {
		fmt.Fprintf(&b, "tick %s %ds\n  %s%s %d\n", class, 5*(i+1), name, key, v)
	}
	parts, err := querytest.Parse(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	a := querytest.New(parts...)
	a.RunLength = n
	return a
}

// A counter that falls is judged alike by every question.
func TestFallingCounters(t *testing.T) {
	for _, c := range []struct {
		name, describe string
		readings       []uint64
		gains          []float64 // of each interval; NaN where it was reset
		total          float64
	}{
		{"an interface falls by eleven bytes", "byte", []uint64{9_800_000_000, 9_800_000_100, 9_800_000_089, 9_800_000_089, 9_800_000_120, 9_800_000_200},
			[]float64{100, 0, 0, 20, 80}, 200},
		{"a processor's idle time falls by a tick", "millisec\n  restarts never", []uint64{5000, 10000, 9990, 15000, 20000}, []float64{5000, 0, 5000, 5000}, 15000},
		{"it falls by more than its eighth", "millisec\n  restarts never", []uint64{500, 1000, 600, 900, 2000}, []float64{500, 0, 0, 1000}, 1500},
		{"a process's time falls by a second", "proc. millisec", []uint64{613_000, 612_000, 614_000, 615_000}, []float64{0, 1000, 1000}, 2000},
		{"the last reading is a dip", "proc. millisec", []uint64{613_000, 612_000}, []float64{0}, 0},
		{"a disk is plugged in anew", "Kbyte", []uint64{8000, 9000, 500, 700}, []float64{1000, math.NaN(), 200}, 1700},
		{"32 bits wrap", "byte\n  width 32", []uint64{1<<32 - 1000, 1<<32 - 500, 200, 900}, []float64{500, 700, 700}, 1900},
		{"32 bits fall by one over the middle", "count\n  width 32", []uint64{1 << 31, 1<<31 - 1, 1<<31 + 1}, []float64{0, 1}, 1},
		{"32 bits step back where they wrapped", "count\n  width 32", []uint64{1<<32 - 10, 4, 1<<32 - 2, 10}, []float64{14, 0, 6}, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, n := range []int{1, 2, 100} {
				a := falling(t, n, c.describe, c.readings...)
				what := fmt.Sprintf("%s, in pieces of %d", c.name, n)
				d := a.Metrics()[0]
				_, factor := query.RateUnits(d.Units)
				var got []float64
				for s, err := range query.Read(a, query.Request{Metrics: []string{d.Name}, Mode: query.Shown}) {
					if err != nil {
						t.Fatal(err)
					}
					for i := range s.Wall {
						got = append(got, s.Value(i).Number()*5/factor)
					}
				}
				for i, want := range c.gains {
					if len(got) != len(c.gains)+1 || math.Abs(got[i+1]-want) > 1e-6 || math.IsNaN(got[i+1]) != math.IsNaN(want) {
						t.Errorf("%s: gains are %v, want %v", what, got, c.gains)
						break
					}
				}
				e, err := query.Compile(a, nil, "delta("+d.Name+")")
				if err != nil {
					t.Fatal(err)
				}
				sum, known := 0.0, 0.0
				for s, err := range query.Evaluate(a, e, query.Request{}) {
					if err != nil {
						t.Fatal(err)
					}
					for i := range s.Wall {
						if v := s.Value(i); v.Miss == metric.Present {
							sum += v.Number()
						}
					}
				}
				for _, x := range c.gains {
					if x == x {
						known += x
					}
				}
				if sum != known {
					t.Errorf("%s: the deltas add up to %v, want %v", what, sum, known)
				}
				for r, err := range query.Ranges(a, query.RangeRequest{Request: query.Request{Metrics: []string{d.Name}}}) {
					if err != nil || r.Increase != c.total {
						t.Errorf("%s: increase is %v, want %v (%v)", what, r.Increase, c.total, err)
					}
				}
				if d.Indom != "process" {
					continue
				}
				top, err := query.Top(a, query.Window{}, query.ByCPU, query.PerProcess, 0)
				if err != nil {
					t.Fatal(err)
				}
				used := 0.0
				for _, x := range top.Consumers {
					used += x.CPUTime()
				}
				if used != c.total/1000 {
					t.Errorf("%s: top says %v s, want %v", what, used, c.total/1000)
				}
			}
		})
	}
}

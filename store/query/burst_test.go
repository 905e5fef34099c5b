package query_test

import (
	"strings"
	"testing"

	"tachograph/sample/metric"
	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

// In a burst a class is read more often than its archive says, for a while and
// off its grid. Rates have that resolution, there is no gap where it begins and
// ends, and expressions hold what is read less often.
func TestABurstIsReadAsItWasRecorded(t *testing.T) {
	parts, err := querytest.Parse(strings.NewReader(`
start 2026-11-20T03:00:00Z
host web-1 os=Linux
boot b1 -1h
interval process 5s
interval polled 10s
metric busy u64 counter process process millisec
metric cpus u64 instant - polled
instance process 1/1 000001 a
every 10s 0s 60s polled
  cpus 2
every 5s 0s 20s process
  busy[1/1] rate=100
every 100ms 21300ms 31200ms process
  busy[1/1] rate=100
every 5s 35s 60s process
  busy[1/1] rate=100
`))
	if err != nil {
		t.Fatal(err)
	}
	a := querytest.New(parts...)
	for _, text := range []string{"rate(busy)", "rate(busy) / cpus"} {
		e, err := query.Compile(a, nil, text)
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for s, err := range query.Evaluate(a, e, query.Request{Mode: query.Shown}) {
			if err != nil {
				t.Fatal(err)
			}
			for i := range s.Wall {
				v := s.Value(i)
				if v.Miss != metric.Present {
					t.Errorf("%s: no value at %d: %s", text, s.Wall[i], v.Miss)
				}
				got++
			}
		}
		// Five before, a hundred in ten seconds, six after; the first has no rate.
		if got != 5+100+6-1 {
			t.Errorf("%s: %d values", text, got)
		}
	}
}

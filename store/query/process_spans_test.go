package query_test

import (
	"math"
	"testing"

	"tachograph/store"
	"tachograph/store/query"
	"tachograph/store/storetest"
)

// compareSpans compares what the spans of processes add up to with the totals of all names (a process that started another
// program has a name in each span): with all digests, with short ones only, and without any.
func compareSpans(t *testing.T, r *store.Reader, w query.Window) {
	t.Helper()
	for _, h := range r.Hosts() {
		w.Hosts = []string{h.ID}
		want, err := query.TopNames(r, w, 1000, query.ByCPU, query.ByMemory)
		if err != nil {
			continue
		}
		for _, c := range []struct {
			of      query.Archive
			longest int64
		}{{r, math.MaxInt64}, {r, 256 * int64(storetest.CrowdInterval)}, {undigested{r}, math.MaxInt64}} {
			cpu, memory, end := 0.0, 0.0, int64(0)
			ok, err := query.ProcessSpans(c.of, w, c.longest, []query.ProcessCounter{query.UserTime, query.SystemTime}, []query.ProcessLevel{query.Resident}, func(s *query.ProcessSpan) {
				if s.Counter != query.NumProcessCounters {
					cpu += s.Amount
				} else {
					memory += s.Amount
				}
			}, func(from, to int64) error {
				if from >= to || to <= end {
					t.Errorf("a span from %d to %d after %d", from, to, end)
				}
				end = to
				return nil
			})
			if !ok || err != nil {
				t.Fatal(ok, err)
			}
			if end != want[0].To {
				t.Errorf("the last span ends at %d, want %d", end, want[0].To)
			}
			mean := 0.0
			for _, one := range want[1].Consumers {
				mean += one.Mean * (want[1].SecondsOf(one) + storetest.CrowdInterval.Seconds())
			}
			if !alike(cpu, want[0].Total) || !alike(memory, mean) {
				t.Fatalf("spans of %d: %g s of CPU and %g bytes times seconds, want %g and %g", c.longest, cpu, memory, want[0].Total, mean)
			}
		}
	}
	if ok, err := query.ProcessSpans(r, w, int64(60e9), []query.ProcessCounter{query.UserTime}, nil, func(*query.ProcessSpan) {}, func(int64, int64) error { return nil }); ok && w.From == 0 || err != nil {
		t.Errorf("chunks are longer than a minute: %t, %v", ok, err)
	}
}

func alike(x, y float64) bool { return math.Abs(x-y) <= 1e-6*math.Max(math.Abs(x), 1) }

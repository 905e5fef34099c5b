package journal

import (
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/storetest"
)

// BenchmarkFollowed decodes the records of a machine with 400 processes and 2000 other
// series: the first ticks of a generation, and the others. Before each of the others,
// something else uses the processor's caches, or nothing does. The result is the least time
// of each tick over all rounds.
func BenchmarkFollowed(b *testing.B) {
	l := storetest.NewLoad(400, 40, 5, 2000)
	enc := NewEncoder()
	var bodies [][]byte
	for range 60 {
		_, ticks := l.Next()
		for _, t := range ticks {
			body, err := enc.Tick(nil, t)
			if err != nil {
				b.Fatal(err)
			}
			bodies = append(bodies, body)
		}
	}
	others := make([]byte, 64<<20)
	for _, cold := range []bool{false, true} {
		name := "hot"
		if cold {
			name = "cold"
		}
		b.Run(name, func(b *testing.B) {
			least := make([]time.Duration, len(bodies))
			class := make([]metric.Class, len(bodies))
			for b.Loop() {
				dec := NewDecoder(false, nil)
				var rec Record
				for i, body := range bodies {
					for k := 0; cold && k < len(others); k += 64 {
						others[k]++
					}
					began := time.Now()
					if err := dec.Decode(body, &rec); err != nil {
						b.Fatal(err)
					}
					took := time.Since(began)
					if least[i] == 0 || took < least[i] {
						least[i] = took
					}
					class[i] = rec.Tick.Class
				}
			}
			var sum [metric.NumClasses]time.Duration
			var n [metric.NumClasses]int
			for i := 2; i < len(bodies); i++ {
				sum[class[i]] += least[i]
				n[class[i]]++
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64((least[0] + least[1]).Microseconds()), "first-us")
			b.ReportMetric(float64(sum[metric.Fast].Microseconds())/float64(n[metric.Fast]), "system-us")
			b.ReportMetric(float64(sum[metric.Process].Microseconds())/float64(n[metric.Process]), "process-us")
		})
	}
}

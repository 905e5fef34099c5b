package clickhouse

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"tachograph/cmd/replay/internal/push"
	"tachograph/store/archive"
	"tachograph/store/query/querytest"
)

// BenchmarkEncode says how fast values become compressed rows, by processor time, which is
// the same figure on a machine that does other things as well:
//
//	GOMAXPROCS=1 go test -run - -bench Encode ./cmd/replay/internal/push/clickhouse
func BenchmarkEncode(b *testing.B) {
	f := simulated{step: 10 * time.Minute, processes: 40}
	parts, err := querytest.Parse(strings.NewReader(f.describe(12)))
	if err != nil {
		b.Fatal(err)
	}
	p := parts[0]
	info := &archive.Info{ID: "a", Host: p.Info.Host, BootID: "b"}
	s := New(Options{})
	s.wide = fields()
	values, bytes := 0, 0
	began := processorTime(b)
	for b.Loop() {
		batch := s.NewBatch(push.BatchID{Archive: info})
		for _, t := range p.Ticks {
			if err := batch.Add(&archive.Item{Archive: info, Tick: t}); err != nil {
				b.Fatal(err)
			}
		}
		n, size := batch.Size()
		values, bytes = values+n, bytes+size
	}
	b.ReportMetric(float64(values)/(processorTime(b)-began).Seconds(), "values/cpu-s")
	b.ReportMetric(float64(bytes)/float64(values), "B/value")
}

// processorTime is what this process used so far, collecting garbage as well.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(syscall.TimevalToNsec(u.Utime) + syscall.TimevalToNsec(u.Stime))
}

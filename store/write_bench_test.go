package store_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/recording"
	"tachograph/store/storetest"
	"tachograph/store/storetest/proof"
)

// BenchmarkWrite records the dataset at the default intervals (system every
// second, processes every five) and states what the disk was asked to do:
// bytes handed to write(2) for each byte that the archive grew, and syncs.
func BenchmarkWrite(b *testing.B) {
	path, err := storetest.Find()
	if errors.Is(err, storetest.ErrNone) {
		b.Skip(err)
	}
	for _, seal := range []time.Duration{1, 5, 10} {
		for _, every := range []int{1, 5} {
			b.Run(fmt.Sprintf("process%ds/seal%dm", every, seal), func(b *testing.B) {
				for b.Loop() {
					writeDataset(b, path, every, seal*time.Minute)
				}
			})
		}
	}
}

func writeDataset(b *testing.B, path string, every int, seal time.Duration) {
	d, err := storetest.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	clock := proof.NewClock(metric.Stamp{})
	w, err := recording.Create(recording.Options{
		Dir: b.TempDir(), Host: metric.Host{ID: "h", Name: "host"}, BootID: "b", Sync: time.Second, Seal: seal,
		Now: clock.Now,
	})
	if err != nil {
		b.Fatal(err)
	}
	var spent, stall time.Duration
	var first metric.Stamp
	for i := 0; ; i++ {
		sys, proc, err := d.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			b.Fatal(err)
		}
		if clock.Set(sys.At); i == 0 {
			first = sys.At
		}
		ticks := []*metric.Tick{sys}
		if i%every == 0 {
			ticks = append(ticks, proc)
		}
		for _, t := range ticks {
			began := time.Now()
			if err := w.Append(t); err != nil {
				b.Fatal(err)
			}
			took := time.Since(began)
			spent += took
			stall = max(stall, took)
		}
		if w.Status().Ticks%16 == 0 {
			// The dataset runs a thousand times faster than it was recorded;
			// the committer must not be outrun as it never is in life.
			proof.WaitFor(b, func() bool { return w.Status().Queued == 0 })
		}
	}
	hours := float64(clock.Now().Cont-first.Cont) / 3.6e12
	live := w.Status()
	file, err := w.Rotate("end")
	if err != nil {
		b.Fatal(err)
	}
	s := w.Status()
	size := fileSize(b, file)
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	values := float64(s.Values)
	b.ReportMetric(float64(spent.Nanoseconds())/values, "ns/value")
	b.ReportMetric(float64(stall.Microseconds()), "µs-longest")
	b.ReportMetric(float64(size)/values, "B/value")
	b.ReportMetric(float64(s.JournalWritten)/values, "journal-B/value")
	b.ReportMetric(float64(s.CommitWritten)/float64(size), "seal/size")
	b.ReportMetric(float64(s.JournalWritten)/float64(size), "journal/size")
	b.ReportMetric(float64(s.JournalWritten+s.CommitWritten+s.FinishWritten)/float64(size), "written/size")
	b.ReportMetric(float64(live.Bytes)/float64(size), "live/size")
	b.ReportMetric(float64(s.Commits)/hours, "commits/h")
}

func fileSize(t testing.TB, path string) int64 {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st.Size()
}

package store_test

import (
	"errors"
	"io"
	"runtime"
	"sort"
	"sync"
	"syscall"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/recording"
	"tachograph/store/storetest"
)

// BenchmarkStall records the dataset at its default intervals, sped up so that
// it passes several seals, commits and journal generations, while a reader of
// the same directory keeps refreshing and reading, and states how long Append
// took at most and in all but a thousandth of the cases: by the clock, which
// other work on the machine lengthens, and in processor time.
func BenchmarkStall(b *testing.B) {
	path, err := storetest.Find()
	if errors.Is(err, storetest.ErrNone) {
		b.Skip(err)
	}
	for b.Loop() {
		dir := b.TempDir()
		w, err := recording.Create(recording.Options{Dir: dir, BootID: "b", Sync: 50 * time.Millisecond, Seal: 30 * time.Second})
		if err != nil {
			b.Fatal(err)
		}
		stop := make(chan struct{})
		var group sync.WaitGroup
		reads := 0
		group.Go(func() { reads = readUntil(b, dir, stop) })
		walls, cpus := appendDataset(b, w, path)
		close(stop)
		group.Wait()
		s := w.Status()
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(percentile(walls, 1), "µs-longest")
		b.ReportMetric(percentile(walls, 0.999), "µs-99.9%")
		b.ReportMetric(percentile(cpus, 1), "µs-cpu-longest")
		b.ReportMetric(percentile(cpus, 0.999), "µs-cpu-99.9%")
		b.ReportMetric(float64(s.Commits), "commits")
		b.ReportMetric(float64(reads), "reads")
	}
}

func percentile(d []time.Duration, p float64) float64 {
	sort.Slice(d, func(i, j int) bool { return d[i] < d[j] })
	return float64(d[int(p*float64(len(d)-1))].Nanoseconds()) / 1e3
}

// appendDataset appends twenty minutes of the dataset, 200 instants a second.
func appendDataset(b *testing.B, w *recording.Writer, path string) (walls, cpus []time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	d, err := storetest.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	pace := time.NewTicker(5 * time.Millisecond)
	defer pace.Stop()
	for i := range 1200 {
		sys, proc, err := d.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			b.Fatal(err)
		}
		for _, t := range []*metric.Tick{sys, proc} {
			if t == proc && i%5 != 0 {
				continue
			}
			wall, cpu := time.Now(), threadTime()
			if err := w.Append(t); err != nil {
				b.Fatal(err)
			}
			walls, cpus = append(walls, time.Since(wall)), append(cpus, threadTime()-cpu)
		}
		<-pace.C
	}
	return walls, cpus
}

// threadTime is the processor time of this thread.
func threadTime() time.Duration {
	var u syscall.Rusage
	const thread = 1 // RUSAGE_THREAD
	if err := syscall.Getrusage(thread, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// readUntil keeps one reader open, refreshes it and reads a series to its end.
func readUntil(b *testing.B, dir string, stop chan struct{}) (reads int) {
	r, err := store.Open(dir)
	if err != nil {
		b.Error(err)
		return 0
	}
	defer r.Close()
	for {
		select {
		case <-stop:
			return reads
		case <-time.After(50 * time.Millisecond):
		}
		if err := r.Refresh(); err != nil {
			b.Error(err)
			return reads
		}
		for range r.Select(store.Selection{Metrics: []string{"stat.ctxt"}}) {
		}
		for _, a := range r.Archives() {
			for _, d := range a.Damage {
				b.Errorf("%s: %s", a.Path, d)
				return reads
			}
		}
		reads++
	}
}

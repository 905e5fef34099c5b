package store_test

import (
	"errors"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/recording"
	"tachograph/store/storetest"
)

// BenchmarkSize writes a dataset into an archive in the intervals it was
// recorded at, finishes it, compares every value, and reports the size of the
// file. TACHO_DATASET names the dataset.
func BenchmarkSize(b *testing.B) {
	b.Run("1s", func(b *testing.B) { benchmarkSize(b, 1) })
	b.Run("process10s", func(b *testing.B) { benchmarkSize(b, 10) })
}

// everySeries is what was written, series by series.
type everySeries struct {
	index  map[string]int
	series []*plainSeries
	names  map[string]string
	values int64
}

type plainSeries struct {
	wall []int64
	bits []uint64
}

func (e *everySeries) at(d *metric.Desc, in *metric.Instance) *plainSeries {
	name := seriesName(d, in)
	i, ok := e.index[name]
	if !ok {
		i = len(e.series)
		e.index[name] = i
		e.series = append(e.series, &plainSeries{})
	}
	return e.series[i]
}

func (e *everySeries) add(t *metric.Tick) {
	for _, blk := range t.Blocks {
		for c, d := range blk.Group.Metrics {
			for i, in := range blk.Rows {
				s := e.at(d, in)
				s.wall = append(s.wall, blk.At.Wall)
				s.bits = append(s.bits, blk.Cols[c].Bits[i])
				e.values++
			}
		}
		for _, in := range blk.Rows {
			if in != nil {
				e.names[blk.Group.Indom+"/"+in.Key] = in.Name
			}
		}
	}
}

// eachTick calls fn with the ticks of a dataset, of the process group with
// every so manieth.
func eachTick(b testing.TB, path string, every int, fn func(*metric.Tick)) {
	d, err := storetest.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	for n := 0; ; n++ {
		system, proc, err := d.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			b.Fatal(err)
		}
		fn(system)
		if n%every == 0 && len(proc.Blocks) > 0 {
			fn(proc)
		}
	}
}

func benchmarkSize(b *testing.B, every int) {
	path, err := storetest.Find()
	if err != nil {
		b.Skip(err)
	}
	for b.Loop() {
		interval := metric.Intervals{metric.Fast: time.Second, metric.Process: time.Duration(every) * time.Second}
		w, err := recording.Create(recording.Options{Dir: b.TempDir(), Host: metric.Host{ID: "h", Name: "workstation", OS: "Linux"}, BootID: "boot",
			TimeZone: "Europe/Berlin", Recorder: "benchmark", Intervals: interval})
		if err != nil {
			b.Fatal(err)
		}
		want := &everySeries{index: make(map[string]int), names: make(map[string]string)}
		eachTick(b, path, every, func(t *metric.Tick) {
			if err := w.Append(t); err != nil {
				b.Fatal(err)
			}
			want.add(t)
		})
		file, err := w.Rotate("the dataset ends")
		if err != nil {
			b.Fatal(err)
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		st, err := os.Stat(file)
		if err != nil {
			b.Fatal(err)
		}
		compareAll(b, file, want)
		logBytes(b, file)
		b.ReportMetric(float64(st.Size())/float64(want.values), "B/value")
		b.ReportMetric(float64(want.values), "values")
		b.ReportMetric(float64(st.Size()), "file-B")
	}
}

// compareAll reads every value of the archive and compares.
func compareAll(b *testing.B, path string, want *everySeries) {
	r, err := store.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	done := make([]int, len(want.series))
	seen := int64(0)
	for run := range r.Select(store.Selection{}) {
		i, ok := want.index[seriesName(run.Metric, run.Instance)]
		if !ok {
			b.Fatalf("%s was never written", seriesName(run.Metric, run.Instance))
		}
		s, n := want.series[i], len(run.Wall)
		if done[i]+n > len(s.wall) || !slices.Equal(run.Wall, s.wall[done[i]:done[i]+n]) || !slices.Equal(run.Bits, s.bits[done[i]:done[i]+n]) || run.Miss != nil {
			b.Fatalf("%s differs", seriesName(run.Metric, run.Instance))
		}
		done[i] += n
		seen += int64(n)
	}
	if seen != want.values {
		b.Fatalf("%d values, wrote %d", seen, want.values)
	}
	indoms := make(map[string]bool)
	for _, d := range r.Metrics() {
		indoms[d.Indom] = true
	}
	names := 0
	for indom := range indoms {
		for l := range r.Lives(indom, 0, 0) {
			if l.Instance.Name != want.names[indom+"/"+l.Instance.Key] {
				b.Fatalf("instance %s is called %q", l.Instance.Key, l.Instance.Name)
			}
			names++
		}
	}
	if names != len(want.names) {
		b.Fatalf("%d instances, wrote %d", names, len(want.names))
	}
}

package follow_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/disk"
	"tachograph/store/follow"
	"tachograph/store/journal"
	"tachograph/store/recording"
	"tachograph/store/storetest"
	"tachograph/store/storetest/proof"
)

// A source gives the ticks of the next second. They are valid until the call after.
type source func() []*metric.Tick

// machine is the recorded workstation where there is one (TACHO_DATASET), else 400
// processes that are made up; processes are read each so many seconds.
func machine(b testing.TB, every int) (next source, catalog []*metric.Desc) {
	b.Helper()
	path, err := storetest.Find()
	if errors.Is(err, storetest.ErrNone) {
		l := storetest.NewLoad(400, 40, every, 2000)
		return func() []*metric.Tick { _, ticks := l.Next(); return ticks }, l.Catalog()
	}
	if err != nil {
		b.Fatal(err)
	}
	d, err := storetest.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(d.Close)
	second := 0
	return func() []*metric.Tick {
		system, processes, err := d.Next()
		if err != nil {
			b.Fatal(err)
		}
		if second++; second%every != 0 {
			return []*metric.Tick{system}
		}
		return []*metric.Tick{system, processes}
	}, nil
}

// load records some minutes of a machine, and leaves the writer as it stands then.
func load(b testing.TB, dir string, minutes, every int) *recording.Writer {
	b.Helper()
	next, catalog := machine(b, every)
	clock := proof.NewClock(storetest.MachineStart)
	var w *recording.Writer
	generations := 0
	for range minutes * 60 {
		ticks := next()
		clock.Set(ticks[0].At)
		if w == nil {
			var err error
			w, err = recording.Create(recording.Options{
				Dir: dir, BootID: "b", Host: metric.Host{ID: "h", Name: "host"}, Catalog: catalog, Now: clock.Now,
				Seal: recording.DefaultSeal, Sync: time.Hour,
			})
			if err != nil {
				b.Fatal(err)
			}
		}
		for _, t := range ticks {
			if err := w.Append(t); err != nil {
				b.Fatal(err)
			}
		}
		if n := len(journals(b, dir)); n != generations {
			generations = n
			proof.WaitFor(b, func() bool { return w.Status().Queued == 0 && copied(b, dir) })
		}
	}
	return w
}

func journals(b testing.TB, dir string) []string {
	b.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.live.j??????"))
	if err != nil {
		b.Fatal(err)
	}
	return names
}

// copied reports whether each generation but the last stands as a copy in a later one,
// as it does a moment after the next was begun when as much time passes as is recorded.
func copied(b testing.TB, dir string) bool {
	b.Helper()
	var all []*journal.Generation
	for _, name := range journals(b, dir) {
		f, err := disk.OS.OpenFile(name, os.O_RDONLY, 0)
		if err != nil {
			return false
		}
		defer f.Close()
		all = append(all, &journal.Generation{File: f})
	}
	copies := new(journal.Follower).Copies(all)
	for i := range len(all) - 1 {
		if copies[i] == nil {
			return false
		}
	}
	return true
}

// BenchmarkOpen opens a live archive at its present end, with up to 39 minutes of
// journal. Beside others the processor time tells, and the least of several runs.
func BenchmarkOpen(b *testing.B) {
	for _, every := range []int{1, 5} {
		for _, minutes := range []int{5, 20, 39} {
			dir := b.TempDir()
			w := load(b, dir, minutes, every)
			b.Logf("%d generations of the journal", len(journals(b, dir)))
			for _, standing := range []bool{false, true} {
				b.Run(fmt.Sprintf("processes=%ds/%dmin/standing=%v", every, minutes, standing), func(b *testing.B) {
					before, _, _ := spent()
					for b.Loop() {
						f, err := follow.Open(follow.Options{Standing: standing}, dir)
						if err != nil {
							b.Fatal(err)
						}
						f.Close()
					}
					after, _, _ := spent()
					b.ReportMetric(float64(after-before)/1e6/float64(b.N), "cpu-ms/op")
				})
			}
			w.Close()
		}
	}
}

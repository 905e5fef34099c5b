package pmda

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tachograph/sample/metric"
)

// handles is how many files this process has open, -1 where the system does not tell.
func handles() int {
	list, err := filepath.Glob("/dev/fd/*")
	if err != nil || len(list) == 0 {
		return -1
	}
	return len(list)
}

func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// standing is what this process has.
type standing struct {
	goroutines, files int
	heap              int64
}

func (s standing) more(than standing) standing {
	return standing{s.goroutines - than.goroutines, s.files - than.files, s.heap - than.heap}
}

// Thousands of fetches, of ever other metrics, leave nothing behind: no goroutine, no
// open file, no memory. Each reads what it wants: nothing is young enough. What the
// machine has more meanwhile it has once; what fetches leave is more after each of some
// rounds.
func TestThousandsOfFetches(t *testing.T) {
	if testing.Short() {
		t.Skip("they take seconds")
	}
	const rounds = 4
	each := 500
	if os.Getenv("TACHO_LONG") != "" {
		each = 10_000
	}
	m := thisMachine(t)
	all := chosen(m, 1<<16, func(d *metric.Desc) bool { return ofTheSystem(d) && d.Class != metric.Process })
	// (The source of processes keeps files of theirs open, and they come and go.)
	ctx := context.Background()
	next := 0
	fetch := func() {
		want := make([]*metric.Desc, 0, 8)
		for k := range 8 {
			want = append(want, all[(next*13+k*k*31)%len(all)])
		}
		next++
		want = unique(want)
		for _, d := range want {
			m.reader.Forget(d)
		}
		v, err := m.Fetch(ctx, want)
		if err != nil || len(v.Blocks)+len(v.Missing) == 0 {
			t.Fatalf("%v, %v", v, err)
		}
	}
	has := func() standing {
		for range each {
			fetch()
		}
		return standing{runtime.NumGoroutine(), handles(), int64(inUse())}
	}
	before := has()
	least := standing{goroutines: 1 << 20, files: 1 << 20, heap: 1 << 40}
	for range rounds {
		now := has()
		more := now.more(before)
		t.Logf("after %d fetches %+v", next, now)
		least = standing{min(least.goroutines, more.goroutines), min(least.files, more.files), min(least.heap, more.heap)}
		before = now
	}
	if least.goroutines > 0 || least.files > 0 {
		t.Errorf("each %d fetches leave %d goroutines and %d open files", each, least.goroutines, least.files)
	}
	if of := least.heap / int64(each); of > 100 {
		t.Errorf("each fetch leaves %d bytes in use", of)
	}
}

func unique(list []*metric.Desc) (once []*metric.Desc) {
	seen := make(map[*metric.Desc]bool)
	for _, d := range list {
		if !seen[d] {
			seen[d] = true
			once = append(once, d)
		}
	}
	return once
}

// The agent says of itself what it does, by the names that a recorder has for it.
func TestAboutItself(t *testing.T) {
	m := thisMachine(t)
	ctx := context.Background()
	loads := chosen(m, 1, func(d *metric.Desc) bool { return d.Name == "kernel.all.load" })
	if _, err := m.Fetch(ctx, loads); err != nil {
		t.Fatal(err)
	}
	want := make([]*metric.Desc, 0, 32)
	for _, d := range m.Catalog().Descs {
		if strings.HasPrefix(d.Name, "recorder.") {
			want = append(want, d)
		}
	}
	v, err := m.Fetch(ctx, want)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]float64)
	for _, b := range v.Blocks {
		for col, d := range b.Group.Metrics {
			for row, in := range b.Rows {
				name := d.Name
				if in != nil {
					name += " " + in.Name
				}
				got[name] = b.Cols[col].At(d.Type, row).Number()
			}
		}
	}
	read := 0.0
	for name, n := range got {
		if strings.HasPrefix(name, "recorder.source.reads ") {
			read += n
		}
	}
	if read != 1 || got["recorder.memory.resident"] < 1000 || got["recorder.goroutines"] < 2 {
		t.Errorf("%v readings: %v", read, got)
	}
	for _, d := range want {
		if strings.HasPrefix(d.Name, "recorder.class.") && v.Missing[d] != metric.Unsupported {
			t.Errorf("%s: %v", d.Name, v.Missing[d])
		}
	}
}

package pmda

import (
	"context"
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

// Ten thousand fetches, of ever other metrics, leave nothing behind: no goroutine, no
// open file, no memory. Each reads what it wants: nothing is young enough.
func TestTenThousandFetches(t *testing.T) {
	if testing.Short() {
		t.Skip("they take seconds")
	}
	m := thisMachine(t)
	all := chosen(m, 1<<16, func(d *metric.Desc) bool { return ofTheSystem(d) && d.Class != metric.Process })
	// (The source of processes keeps files of theirs open, and they come and go.)
	ctx := context.Background()
	fetch := func(i int) {
		want := make([]*metric.Desc, 0, 8)
		for k := range 8 {
			want = append(want, all[(i*13+k*k*31)%len(all)])
		}
		want = unique(want)
		for _, d := range want {
			m.reader.Forget(d)
		}
		v, err := m.Fetch(ctx, want)
		if err != nil || len(v.Blocks)+len(v.Missing) == 0 {
			t.Fatalf("%v, %v", v, err)
		}
	}
	for i := range 1000 {
		fetch(i)
	}
	goroutines, files, heap := runtime.NumGoroutine(), handles(), inUse()
	for i := range 10_000 {
		fetch(i)
	}
	if n := runtime.NumGoroutine(); n > goroutines+2 {
		t.Errorf("%d goroutines, at first %d", n, goroutines)
	}
	if n := handles(); n > files+2 {
		t.Errorf("%d open files, at first %d", n, files)
	}
	if now := inUse(); now > heap+1<<20 {
		t.Errorf("%d KB of memory in use, at first %d", now>>10, heap>>10)
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

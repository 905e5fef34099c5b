package recording

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/disk/disktest"
	"tachograph/store/layout"
	"tachograph/store/storetest/proof"
)

func archives(t testing.TB, dir string) []string {
	return slices.DeleteFunc(names(t, dir), func(name string) bool {
		return !layout.IsLiveName(name) && !strings.HasSuffix(name, layout.FinishedSuffix)
	})
}

// scenario records ticks through seals, commits, a rotation and a restart. It keeps the
// number of accepted ticks in acked.
func scenario(t testing.TB, fs *disktest.FS, dir string, acked *atomic.Int64) {
	opt := testOptions(dir)
	opt.FS, opt.Seal, opt.Sync = fs, 5*time.Second, 3*time.Second
	n := 0
	more := func(w *Writer, ticks int) {
		for range ticks {
			if err := w.Append(testTick(step(time.Second), n)); err != nil {
				t.Fatal(err)
			}
			n++
			acked.Store(int64(n))
		}
		synctest.Wait()
	}
	w := create(t, opt)
	for range 6 {
		more(w, 16)
	}
	if _, err := w.Rotate("test"); err != nil {
		t.Fatal(err)
	}
	more(w, 40)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w = create(t, opt)
	more(w, 20)
	opt.BootID = "boot-2"
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w = create(t, opt)
	more(w, 35)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// After a kill, all completed operations are on disk and nothing else. The test copies the
// files at each operation, reads the copy as it is, and lets a new writer continue it. Every
// accepted tick must be in it exactly once.
func TestKilledAtEveryOperation(t *testing.T) {
	proof.Unraced(t)
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		fs := disktest.New(dir)
		var acked atomic.Int64
		type copied struct {
			dir         string
			op          string
			least, most int64
		}
		var mu sync.Mutex
		var all []copied
		every, seen := 40, 0
		if proof.Long() {
			every = 1
		}
		fs.Fail(func(op disktest.Op) error {
			mu.Lock()
			defer mu.Unlock()
			if seen++; seen%every == 0 || proof.Long() || op.Kind != disktest.Write && seen%3 == 0 {
				before := acked.Load()
				all = append(all, copied{proof.Killed(t, dir), fmt.Sprint(op.Kind), before, acked.Load() + 1})
			}
			return nil
		})
		scenario(t, fs, dir, &acked)
		fs.Fail(nil)
		for i, k := range all {
			for _, boot := range []string{"", "boot-1", "boot-3"} {
				if boot != "" {
					opt := testOptions(k.dir)
					opt.BootID = boot
					w, err := Create(opt)
					if err != nil {
						t.Fatalf("copy %d, at %s: %v", i, k.op, err)
					}
					if err := w.Close(); err != nil {
						t.Fatal(err)
					}
				}
				if k.least == 0 && boot == "" && len(archives(t, k.dir)) == 0 {
					continue
				}
				got := numbers(t, k.dir)
				if !slices.Equal(got, upTo(len(got))) || int64(len(got)) < k.least || int64(len(got)) > k.most {
					t.Fatalf("copy %d, at %s, boot %q: %d ticks, want %d to %d; files %v", i, k.op, boot, len(got), k.least, k.most, names(t, k.dir))
				}
			}
		}
		t.Logf("%d kills", len(all))
	})
}

// After a crash of the kernel or a power cut, operations that no sync covered may be lost,
// but only the last ones, and nothing that was safe.
func TestCrashedAtEveryOperation(t *testing.T) {
	proof.Unraced(t)
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		fs := disktest.New(dir)
		var acked atomic.Int64
		var ticks []int64 // accepted when each sync of a journal began
		fs.Fail(func(op disktest.Op) error {
			if journalSync(op) {
				ticks = append(ticks, acked.Load())
			}
			return nil
		})
		scenario(t, fs, dir, &acked)
		safe := map[disktest.Mode][]mark{}
		for at, op := range fs.Ops() {
			if !journalSync(op) {
				continue
			}
			m := mark{at, ticks[0]}
			ticks = ticks[1:]
			safe[disktest.Panic] = append(safe[disktest.Panic], m)
			if op.Kind == disktest.Sync {
				safe[disktest.PowerCut] = append(safe[disktest.PowerCut], m)
			}
		}
		step := 11
		if proof.Long() {
			step = 1
		}
		for _, mode := range []disktest.Mode{disktest.Panic, disktest.PowerCut} {
			for at := 0; at <= fs.Len(); at += step {
				crashed(t, fs, mode, at, before(safe[mode], at))
			}
		}
	})
}

func journalSync(op disktest.Op) bool {
	_, _, ok := layout.ParseJournalName(filepath.Base(op.Name))
	return ok && (op.Kind == disktest.Barrier || op.Kind == disktest.Sync)
}

// mark is how many ticks had been accepted when an operation began.
type mark struct {
	op    int
	ticks int64
}

// before returns the ticks that were safe at operation at: those of the last but one of the
// syncs that had ended. The last sync may still wait for its directory.
func before(marks []mark, at int) int64 {
	n := 0
	for n < len(marks) && marks[n].op < at-1 {
		n++
	}
	if n < 2 {
		return 0
	}
	return marks[n-2].ticks
}

func crashed(t *testing.T, fs *disktest.FS, mode disktest.Mode, at int, least int64) {
	to := filepath.Join(t.TempDir(), "a")
	if err := os.Mkdir(to, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := fs.Crash(to, at, mode, rand.New(rand.NewSource(int64(at)))); err != nil {
		t.Fatal(err)
	}
	step(time.Hour)
	opt := testOptions(to)
	opt.BootID = "boot-after"
	w, err := Create(opt)
	if err != nil {
		t.Fatalf("%s at %d: %v", mode, at, err)
	}
	recordTicks(t, w, 1000, 1003)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got := numbers(t, to)
	n := len(got) - 3
	// There may be a hole between two journal files, which an event must report.
	sound := 0
	for sound < n && got[sound] == sound {
		sound++
	}
	if sound < n && gaps(t, to) == 0 {
		t.Fatalf("%s at %d: a hole without an event: %v", mode, at, got)
	}
	if sound < int(least) || !slices.IsSorted(got) || !slices.Equal(got[n:], []int{1000, 1001, 1002}) {
		t.Fatalf("%s at %d: %d ticks, want at least %d: %v", mode, at, n, least, got)
	}
	for _, name := range names(t, to) {
		if strings.Contains(name, layout.DamagedSuffix) {
			t.Fatalf("%s at %d: %s", mode, at, name)
		}
	}
}

// gaps counts the gap events of archives.
func gaps(t testing.TB, path string) (n int) {
	t.Helper()
	r, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for range r.Events(0, 0, metric.EventGap) {
		n++
	}
	return n
}

package recording

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/archive"
	"tachograph/store/disk"
	"tachograph/store/disk/disktest"
	"tachograph/store/layout"
	"tachograph/store/storetest/proof"
)

// damage overwrites a part of a file that is being written.
func damage(t *testing.T, path string, off, n int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(strings.Repeat("damage! ", int(n+7)/8)[:n]), off); err != nil {
		t.Fatal(err)
	}
}

// An archive is damaged while it is being written, so that bbolt panics and leaves some of
// its locks held. The recorder must set the archive aside and report that. It must go on in
// a new archive, with everything that the damaged one did not hold.
func TestDamagedWhileRecording(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, path string)
	}{
		{"beginning", func(t *testing.T, path string) { damage(t, path, 0, 2*disk.PageSize) }},
		{"all", func(t *testing.T, path string) { damage(t, path, 0, 16*disk.PageSize) }},
		{"behind the beginning", func(t *testing.T, path string) { damage(t, path, 2*disk.PageSize, 14*disk.PageSize) }},
		{"cut off", func(t *testing.T, path string) {
			if err := os.Truncate(path, disk.PageSize); err != nil {
				t.Fatal(err)
			}
		}},
		{"emptied", func(t *testing.T, path string) {
			if err := os.Truncate(path, 0); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				opt := testOptions(dir)
				opt.Seal, opt.Sync = time.Second, time.Millisecond
				var log proof.Log
				opt.Log = slog.New(&log)
				w := create(t, opt)
				recordTicks(t, w, 0, 30) // two commits
				synctest.Wait()
				recordTicks(t, w, 30, 33)
				old := w.Status().Path
				committed, err := archive.Open(old)
				if err != nil {
					t.Fatal(err)
				}
				first := 0
				for _, ref := range committed.Chunks {
					first += int(ref.Info.Ticks)
				}
				committed.Close()
				c.spoil(t, old)
				before, err := os.ReadFile(old)
				if err != nil {
					t.Fatal(err)
				}
				recordTicks(t, w, 33, 60)
				synctest.Wait()
				if w.Status().Path == old {
					t.Fatal("it was not given up")
				}
				recordTicks(t, w, 60, 70)
				if d := w.Status().Degraded; d != "" {
					t.Errorf("it is still degraded: %s", d)
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				after, err := os.ReadFile(old + layout.DamagedSuffix)
				if err != nil || string(after) != string(before) {
					t.Errorf("what was given up was touched (%d bytes, now %d), or is not there: %v", len(before), len(after), err)
				}
				if got := numbers(t, dir); !slices.Equal(got, upTo(70)[first:]) {
					t.Errorf("recorded from %d on: %v", first, got)
				}
				for _, name := range names(t, dir) {
					if layout.IsJournalName(strings.TrimSuffix(name, layout.DamagedSuffix)) {
						t.Errorf("%s is left", name)
					}
				}
				r, err := store.Open(dir)
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				told := 0
				for e := range r.Events(0, 0, metric.EventGap) {
					if strings.Contains(e.Text, filepath.Base(old)+layout.DamagedSuffix) {
						told++
					}
				}
				if told != 1 {
					t.Errorf("%d events tell of it", told)
				}
				if all := strings.Join(log.All(), "\n"); !strings.Contains(all, "damaged while it was being written") {
					t.Errorf("the log does not tell of it:\n%s", all)
				}
			})
		})
	}
}

// The same for an archive that was rotated out and waits to be finished.
func TestDamagedBeforeItIsFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := create(t, testOptions(dir))
		recordTicks(t, w, 0, 20)
		old := w.Status().Path
		r, err := w.BeginRotation("test")
		if err != nil {
			t.Fatal(err)
		}
		recordTicks(t, w, 20, 30)
		damage(t, old, 0, 2*disk.PageSize)
		if _, err := r.Finish(); err == nil {
			t.Fatal("a damaged archive was finished")
		}
		if n := w.Status().Unfinished; n != 0 {
			t.Errorf("%d archives are unfinished", n)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(old + layout.DamagedSuffix); err != nil {
			t.Error(err)
		}
		if got := numbers(t, dir); !slices.Equal(got, upTo(30)) {
			t.Errorf("recorded: %v", got)
		}
	})
}

// A disk that does not answer must not keep the recorder from stopping.
func TestCloseIsBounded(t *testing.T) {
	for _, c := range []struct {
		name  string
		hangs func(op disktest.Op) bool
	}{
		{"commits hang", func(op disktest.Op) bool { return op.Kind == disktest.BoltCommit }},
		{"syncs hang", func(op disktest.Op) bool { return op.Kind == disktest.Sync || op.Kind == disktest.Barrier }},
		{"everything hangs", func(op disktest.Op) bool { return true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				fs := disktest.New(dir)
				opt := testOptions(dir)
				opt.FS, opt.Sync, opt.CloseWithin = fs, time.Second, 20*time.Second
				w := create(t, opt)
				recordTicks(t, w, 0, 10)
				answer := make(chan struct{})
				fs.Fail(func(op disktest.Op) error {
					if c.hangs(op) {
						<-answer
					}
					return nil
				})
				began := time.Now()
				err := w.Close()
				if took := time.Since(began); err == nil || took != opt.CloseWithin {
					t.Errorf("closing took %v: %v", took, err)
				}
				// When the disk answers at last, nothing is lost.
				close(answer)
				synctest.Wait()
				if err := create(t, testOptions(dir)).Close(); err != nil {
					t.Fatal(err)
				}
				if got := numbers(t, dir); !slices.Equal(got, upTo(10)) {
					t.Errorf("recorded: %v", got)
				}
			})
		})
	}
}

// Close waits for a disk that is known to be slow.
func TestCloseWaitsForASlowDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		fs := disktest.New(dir)
		opt := testOptions(dir)
		opt.FS, opt.Sync, opt.CloseWithin = fs, time.Second, time.Second
		fs.Fail(func(op disktest.Op) error {
			if op.Kind == disktest.Barrier || op.Kind == disktest.BoltCommit {
				time.Sleep(5 * time.Second)
			}
			return nil
		})
		w := create(t, opt)
		for n := range 10 { // before the first barrier, which all later writes must wait for
			if err := w.Append(testTick(step(time.Millisecond), n)); err != nil {
				t.Fatal(err)
			}
		}
		step(10 * time.Second)
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if got := numbers(t, dir); !slices.Equal(got, upTo(10)) {
			t.Errorf("recorded: %v", got)
		}
	})
}

// After bbolt has panicked with its locks held, nothing waits for these locks. (A bubble
// would wait for a mutex for ever.)
func TestABrokenDatabaseIsLeftAlone(t *testing.T) {
	w := create(t, testOptions(t.TempDir()))
	l := w.cur
	damage(t, l.path, 0, 2*disk.PageSize)
	within := func(what string, fn func()) {
		t.Helper()
		done := make(chan struct{})
		waiting, cancel := proof.Waiting(t)
		defer cancel()
		go func() {
			defer close(done)
			fn()
		}()
		select {
		case <-done:
		case <-waiting.Done():
			t.Fatalf("%s never ends", what)
		}
	}
	for range 2 {
		within("a commit", func() {
			err := l.update(layout.Build(&l.tot, func(b *layout.Builder) { b.Progress(layout.Progress{Sealed: 1}) }))
			if !errors.Is(err, disk.ErrDamaged) {
				t.Errorf("a commit to a damaged file: %v", err)
			}
		})
	}
	within("a look", func() { l.pagesInUse() })
	within("closing", func() { l.closeFiles() })
}

package follow

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/store/disk"
	"tachograph/testdata/patience"
)

// asleep reports whether w waits for so long without anything being told.
func asleep(t *testing.T, w *waker, long time.Duration) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	return errors.Is(w.wait(ctx, time.Time{}), context.DeadlineExceeded)
}

// woken demands that w is told by the kernel, and reports whether of the directory.
func woken(t *testing.T, what string, w *waker) (dir bool) {
	t.Helper()
	if w.deaf || slices.ContainsFunc(w.dirs, func(d watchedDir) bool { return !d.told }) {
		t.Fatalf("%s would be found by looking", what)
	}
	select {
	case <-w.news:
		select {
		case w.news <- struct{}{}: // for wait to find
		default: // there is more
		}
	case <-time.After(patience.Stretch(time.Minute)):
		t.Fatalf("%s is not told", what)
	}
	if err := w.wait(t.Context(), time.Time{}); err != nil {
		t.Fatal(err)
	}
	return w.dirty()
}

// TestWaker wakes by what is written to the one file, and by files that come and go,
// and by nothing else.
func TestWaker(t *testing.T) {
	dir := t.TempDir()
	if !local(dir) {
		t.Skip("the temporary files are on a file system whose changes the kernel does not tell: set TMPDIR")
	}
	make := func(name string) disk.File {
		t.Helper()
		f, err := disk.OS.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	write := func(f disk.File) {
		t.Helper()
		if _, err := f.WriteAt([]byte("x"), 0); err != nil {
			t.Fatal(err)
		}
	}
	one, other := make("a.live.j000001"), make("a.live")
	w := newWaker()
	defer w.close()
	w.watchDirs([]string{dir})
	w.watchFile(one)
	woken(t, "a new file", w)
	w.dirty()
	if !asleep(t, w, pollEvery*3/2) {
		t.Fatal("it wakes although nothing was written")
	}
	write(one)
	if woken(t, "a write", w) {
		t.Error("a write is taken for a change of the directory")
	}
	write(other)
	if !asleep(t, w, 200*time.Millisecond) {
		t.Error("it wakes by what is written to other files")
	}
	two := make("a.live.j000002")
	if !woken(t, "a file that comes", w) {
		t.Error("a file that comes is no change of the directory")
	}
	w.watchFile(two)
	woken(t, "another file", w)
	write(one)
	if !asleep(t, w, 200*time.Millisecond) {
		t.Error("it wakes by the file before")
	}
	write(two)
	woken(t, "a write", w)
	aside := dir + " aside"
	if err := os.Rename(dir, aside); err != nil {
		t.Fatal(err)
	}
	if !woken(t, "a directory that goes", w) {
		t.Error("a directory that goes is no change")
	}
	w.watchDirs([]string{dir})
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for !w.dirty() {
		if err := w.wait(t.Context(), time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
}

// How long it takes until a change is found that nobody tells of.
func TestWakerLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		top := t.TempDir()
		find := func(what string, w *waker, within time.Duration) {
			t.Helper()
			began := time.Now()
			for !w.dirty() {
				if err := w.wait(t.Context(), time.Time{}); err != nil {
					t.Fatal(err)
				}
			}
			if took := time.Since(began); took != within {
				t.Errorf("%s was found after %v", what, took)
			}
		}
		dir := filepath.Join(top, "there")
		w := newWaker()
		w.none = true // no kernel: what it tells comes in time of its own
		defer w.close()
		w.watchDirs([]string{dir})
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		find("a directory that comes", w, pollEvery)
		w.watchDirs([]string{dir})
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		w.dirs[0].told = true // so the kernel said, which then says nothing
		find("a directory that goes and is not told of", w, netEvery)
	})
}

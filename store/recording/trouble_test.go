package recording

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/disk"
	"tachograph/store/disk/disktest"
	"tachograph/store/layout"
	"tachograph/store/storetest/proof"
)

// troubled makes a writer on a disk that can be made to fail.
func troubled(t *testing.T, change func(*Options)) (w *Writer, d *disktest.FS, log *proof.Log) {
	t.Helper()
	dir := t.TempDir()
	d, log = disktest.New(dir), &proof.Log{}
	opt := testOptions(filepath.Join(dir, "archive"))
	opt.FS, opt.Log, opt.Sync, opt.Seal = d, slog.New(log), 2*time.Millisecond, 5*time.Second
	if change != nil {
		change(&opt)
	}
	return create(t, opt), d, log
}

// refuse makes all operations fail that change the disk.
func refuse(d *disktest.FS, err error) {
	d.Fail(func(op disktest.Op) error {
		switch op.Kind {
		case disktest.Read, disktest.ReadDir:
			return nil
		case disktest.Write:
			return &disktest.Short{N: len(op.Data) / 2, Err: err}
		}
		return err
	})
}

// hold appends ticks while the disk fails.
func hold(t *testing.T, w *Writer, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		if err := w.Append(testTick(step(time.Second), n)); !errors.Is(err, ErrHeld) {
			t.Fatalf("tick %d: %v", n, err)
		}
	}
}

func events(t *testing.T, dir string, kinds ...metric.EventKind) (out []metric.Event) {
	t.Helper()
	r, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for e := range r.Events(0, 0, kinds...) {
		out = append(out, e.Event)
	}
	return out
}

func TestAFullDiskCostsNothingThatFitsIntoMemory(t *testing.T) {
	for _, trouble := range []error{syscall.ENOSPC, syscall.EROFS, syscall.EACCES, syscall.EIO} {
		t.Run(trouble.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, d, log := troubled(t, nil)
				dir := filepath.Dir(w.Status().Path)
				recordTicks(t, w, 0, 50)
				refuse(d, trouble)
				hold(t, w, 50, 150)
				if s := w.Status(); !strings.Contains(s.Degraded, trouble.Error()) || s.Held == 0 || s.Dropped != 0 {
					t.Fatalf("status %+v", s)
				}
				// Meanwhile, ticks accepted before can be read. After them comes the record
				// that was not written.
				r, err := store.Open(dir)
				if err != nil {
					t.Fatal(err)
				}
				if to := r.Archives()[0].To; to < 1_790_000_050e9 {
					t.Fatalf("read up to %d during the trouble", to)
				}
				r.Close()
				d.Fail(nil)
				recordTicks(t, w, 150, 160)
				settle()
				if s := w.Status(); s.Degraded != "" {
					t.Fatalf("status %+v", s)
				}
				if got := numbers(t, dir); !slices.Equal(got, upTo(160)) {
					t.Fatalf("%d ticks after the trouble", len(got))
				}
				if e := events(t, dir, metric.EventErrorEnd); len(e) != 1 || e[0].Label("seconds") == "" {
					t.Fatalf("events %+v", e)
				}
				if e := events(t, dir, metric.EventGap); len(e) != 0 {
					t.Fatalf("a gap where nothing is missing: %+v", e)
				}
				lines := log.All()
				if len(lines) != 2 || !strings.HasPrefix(lines[0], "ERROR the archive cannot be written") || !strings.HasPrefix(lines[1], "INFO the archive can be written again") {
					t.Fatalf("logged %q", lines)
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				if got := numbers(t, dir); !slices.Equal(got, upTo(160)) {
					t.Fatalf("%d ticks at last", len(got))
				}
			})
		})
	}
}

func TestBeyondTheMemoryBoundAGapIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d, log := troubled(t, func(o *Options) { o.MemoryBound = 64 << 10 })
		dir := filepath.Dir(w.Status().Path)
		recordTicks(t, w, 0, 20)
		refuse(d, syscall.ENOSPC)
		n, dropped := 20, 0
		var from metric.Stamp
		for ; dropped < 100; n++ {
			at := step(time.Second)
			err := w.Append(testTick(at, n))
			switch {
			case errors.Is(err, ErrDropped):
				if dropped == 0 {
					from = at
				}
				dropped++
			case !errors.Is(err, ErrHeld) || dropped > 0:
				t.Fatalf("tick %d: %v", n, err)
			case n > 1e6:
				t.Fatal("the bound does not bind")
			}
		}
		if s := w.Status(); s.Dropped != 100 || s.Held < 64<<10 || s.Held > 256<<10 {
			t.Fatalf("status %+v", s)
		}
		d.Fail(nil)
		// The journal works again, but ticks are kept only once the queue has been sealed.
		first := n
		for err := ErrDropped; err != nil; n++ {
			if err = w.Append(testTick(step(time.Second), n)); n > first+200 {
				t.Fatal("nothing is kept any more")
			}
		}
		if s := w.Status(); s.Degraded != "" {
			t.Fatalf("status %+v", s)
		}
		recordTicks(t, w, n, n+10)
		want := slices.Concat(upTo(first-100), upTo(n + 10)[n-1:])
		dropped += n - 1 - first
		if got := numbers(t, dir); !slices.Equal(got, want) {
			t.Fatalf("%d ticks, want %d", len(got), len(want))
		}
		e := events(t, dir, metric.EventGap)
		if len(e) != 1 || e[0].Label("from") != from.Time().UTC().Format(time.RFC3339Nano) || !strings.Contains(e[0].Text, strconv.Itoa(dropped)+" records") {
			t.Fatalf("events %+v", e)
		}
		if lines := log.All(); len(lines) != 2 {
			t.Fatalf("logged %q", lines)
		}
	})
}

func TestARemovedDirectoryComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, log := troubled(t, func(o *Options) { o.FS = nil })
		dir := filepath.Dir(w.Status().Path)
		first := w.Status().ID
		recordTicks(t, w, 0, 70) // a commit after a minute
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		n := 70
		for ; n < 100; n++ {
			if err := w.Append(testTick(step(time.Second), n)); err != nil && !errors.Is(err, ErrHeld) {
				t.Fatal(err)
			}
		}
		if s := w.Status(); s.ID == first || s.Degraded != "" {
			t.Fatalf("status %+v", s)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		got := numbers(t, dir)
		if len(got) == 0 || got[0] == 0 || got[0] > 70 || !slices.Equal(got, upTo(n)[got[0]:]) {
			t.Fatalf("ticks %v of %d", got, n)
		}
		create(t, testOptions(dir))
		if lines := log.All(); len(lines) != 2 {
			t.Fatalf("logged %q", lines)
		}
	})
}

func TestASecondWriterIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		create(t, testOptions(dir))
		_, err := Create(testOptions(dir))
		if !errors.Is(err, ErrLocked) {
			t.Fatalf("a second writer: %v", err)
		}
		if text := err.Error(); !strings.Contains(text, dir) || !strings.Contains(text, "process "+strconv.Itoa(os.Getpid())) || strings.Contains(text, "\n") {
			t.Fatalf("%q does not name the directory and the process in one sentence", text)
		}
	})
}

func TestDirectoriesThatAreNotFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := t.TempDir()
		link := filepath.Join(base, "link")
		if err := os.Symlink(t.TempDir(), link); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(base, "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		open := filepath.Join(base, "open")
		if err := os.Mkdir(open, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(open, 0o777); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{link, file, open} {
			if _, err := Create(testOptions(dir)); !errors.Is(err, ErrUnsafeDir) || !strings.Contains(err.Error(), dir) {
				t.Errorf("%s: %v", dir, err)
			}
		}
		if _, err := Create(testOptions(filepath.Join(file, "below"))); err == nil {
			t.Error("a directory below a file")
		}
		opt := testOptions(filepath.Join(base, "a"))
		opt.Group = "no such group"
		if _, err := Create(opt); err == nil || !strings.Contains(err.Error(), "no such group") {
			t.Errorf("an unknown group: %v", err)
		}
		// Parents are created, with the mode of directories of archives.
		deep := filepath.Join(base, "x", "y", "z")
		create(t, testOptions(deep))
		st, err := os.Stat(deep)
		if err != nil || st.Mode().Perm() != dirMode {
			t.Errorf("%v, %v", st.Mode(), err)
		}
	})
}

func TestForeignAndDamagedFilesDoNotStopTheRecorder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := create(t, testOptions(dir))
		recordTicks(t, w, 0, 10)
		path := w.Status().Path
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(bytes.Repeat([]byte{0xa5}, 3*disk.PageSize), data[3*disk.PageSize:]...), 0o640); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "zz.live"), []byte("hello"), 0o640); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "empty.live"), nil, 0o640); err != nil {
			t.Fatal(err)
		}
		elsewhere := filepath.Join(t.TempDir(), "precious")
		if err := os.WriteFile(elsewhere, []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(elsewhere, filepath.Join(dir, "yy.live")); err != nil {
			t.Fatal(err)
		}
		w = create(t, testOptions(dir))
		recordTicks(t, w, 10, 20)
		if got := numbers(t, w.Status().Path); !slices.Equal(got, upTo(20)[10:]) {
			t.Fatalf("%v", got)
		}
		if b, err := os.ReadFile(elsewhere); err != nil || string(b) != "precious" {
			t.Fatalf("what a link pointed to: %q, %v", b, err)
		}
		if _, err := os.Stat(path + layout.DamagedSuffix); err != nil {
			t.Fatal(err)
		}
	})
}

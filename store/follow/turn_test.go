package follow

import (
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"tachograph/store/archive"
	"tachograph/store/disk"
	"tachograph/store/layout"
	"tachograph/store/recording"
	"tachograph/store/storetest/proof"
	"tachograph/store/storetest/recorded"
)

// hooked is a disk that says what a writer does in its directory. The writer's own
// goroutines ask for what the test's goroutine sets.
type hooked struct {
	disk.FS
	mu            sync.Mutex
	before, after hook
}

type hook func(op, name string)

// hook has before and after called around what the writer does from now on. Either may
// be nil.
func (h *hooked) hook(before, after hook) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.before, h.after = before, after
}

// around tells the hooks of what do does.
func (h *hooked) around(op, name string, do func() error) error {
	h.mu.Lock()
	before, after := h.before, h.after
	h.mu.Unlock()
	if before != nil {
		before(op, name)
	}
	if after != nil {
		defer after(op, name)
	}
	return do()
}

func (h *hooked) Rename(old, new string) error {
	return h.around("rename", new, func() error { return h.FS.Rename(old, new) })
}

func (h *hooked) Remove(name string) error {
	return h.around("remove", name, func() error { return h.FS.Remove(name) })
}

// A hookedWriter records the items of a machine.
type hookedWriter struct {
	*recording.Writer
	t     *testing.T
	opt   recording.Options
	clock *proof.Clock
	list  []proof.Item
}

func newHookedWriter(t *testing.T, h *hooked, items int) *hookedWriter {
	const seed = 5
	list := proof.Items(seed, items)
	clock := proof.NewClock(list[0].At())
	w := &hookedWriter{t: t, opt: recorded.ProofOptions(t.TempDir(), seed, clock.Now), clock: clock, list: list}
	h.FS = disk.OS
	w.opt.FS = h
	w.create()
	return w
}

func (w *hookedWriter) create() {
	w.t.Helper()
	var err error
	if w.Writer, err = recording.Create(w.opt); err != nil {
		w.t.Fatal(err)
	}
}

func (w *hookedWriter) record(n int) {
	w.t.Helper()
	for _, it := range w.list[:n] {
		w.clock.Set(it.At())
		if err := it.Append(w); err != nil {
			w.t.Fatal(err)
		}
	}
	w.list = w.list[n:]
}

// told follows what the writer records, and learns of changes from the test alone.
func (w *hookedWriter) told() *Follower {
	w.t.Helper()
	f, err := Open(Options{}, w.opt.Dir)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = f.Close() })
	f.wake.src.close()
	f.wake.src, f.wake.none = nil, true
	f.wake.moved.Store(true)
	return f
}

// all delivers what there is by now, and counts it.
func all(t *testing.T, f *Follower) (n int) {
	t.Helper()
	for {
		it, ok, err := f.now(t.Context())
		switch {
		case err != nil:
			t.Fatal(err)
		case it.Lost != nil:
			t.Fatal("lost:", it.Lost)
		case !ok:
			return n
		case !it.Present:
			n++
		}
	}
}

// TestJournalThatEnds follows a recorder that is started again, from when the archive
// holds all of a journal that has its name still. What is begun behind it is there
// before the archive says so.
func TestJournalThatEnds(t *testing.T) {
	h := &hooked{}
	w := newHookedWriter(t, h, 120)
	w.record(60)
	var f *Follower
	h.hook(func(op, name string) {
		if op == "remove" && layout.IsJournalName(filepath.Base(name)) {
			f = w.told() // in the end, when the newest is removed
			all(t, f)
		}
	}, nil)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if f == nil || len(f.vol.gens) == 0 || !f.vol.file.Progress.Closed {
		t.Fatal("no journal was there any more when the archive held all of it")
	}
	h.hook(nil, nil)
	f.wake.moved.Store(true)
	all(t, f)
	begun := false
	h.hook(nil, func(op, name string) {
		if op == "rename" && !begun {
			begun = true
			f.wake.moved.Store(true)
			all(t, f)
		}
	})
	w.create()
	defer w.Close()
	if !begun {
		t.Fatal("no journal was begun")
	}
	f.wake.written.Store(true) // the archive's own file, which says so
	all(t, f)
	const few = 3 // in one journal
	w.record(few)
	if n := all(t, f); n != few {
		t.Errorf("%d of 3 were delivered of what was recorded after the restart", n)
	}
}

// TestRenamedWhenEntered comes to an archive that got the name of a finished one since
// the directory was looked at, when another one stands behind it already.
func TestRenamedWhenEntered(t *testing.T) {
	h := &hooked{}
	w := newHookedWriter(t, h, 150)
	defer func() { _ = w.Close() }()
	w.record(30)
	f := w.told()
	all(t, f)
	first := f.pos.Archive
	rotate := func() {
		t.Helper()
		done := make(chan struct{})
		h.hook(func(op, name string) {
			if op == "rename" && layout.IsArchiveName(name) && !layout.IsLiveName(name) && f.pos.Archive == first {
				_ = f.shelf.scan()
			}
		}, func(op, name string) {
			if op == "remove" && layout.IsLiveName(name) {
				close(done)
			}
		})
		if _, err := w.Rotate("test"); err != nil {
			t.Fatal(err)
		}
		<-done
	}
	rotate()
	w.record(60)
	rotate()
	w.record(60)
	next := slices.IndexFunc(f.shelf.order, func(b *book) bool { return layout.IsLiveName(b.path) })
	if next < 0 || next+1 == len(f.shelf.order) {
		t.Fatal("the archive that was finished is not in the middle")
	}
	if !f.enter(f.shelf.order[next]) {
		t.Error("it gives up on an archive that stands under another name")
	}
	f.wake.moved.Store(true)
	if n := all(t, f); n < 120 {
		t.Errorf("%d of 120 were delivered", n)
	}
}

// TestJournalBegunWhileOpening opens an archive whose first journal gets its name after
// the directory was looked at and before the archive says which one it needs.
func TestJournalBegunWhileOpening(t *testing.T) {
	h := &hooked{}
	w := newHookedWriter(t, h, 60)
	w.record(30)
	f := w.told()
	all(t, f)
	var v *volume
	h.hook(func(op, name string) {
		live, _, ok := layout.ParseJournalName(filepath.Base(name))
		if op != "rename" || !ok || v != nil {
			return
		}
		path := filepath.Join(filepath.Dir(name), live)
		head, err := layout.ReadHeader(path)
		if err != nil {
			t.Error(err)
			return
		}
		v = &volume{f: f, path: path, head: *head, told: make(map[string]bool)}
		if v.file, err = archive.OpenUnread(path); err != nil {
			t.Error(err)
		}
		if err := v.openJournal(); err != nil || len(v.gens) > 0 {
			t.Errorf("%d generations before the first one is there, %v", len(v.gens), err)
		}
	}, nil)
	if _, err := w.Rotate("test"); err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if v == nil {
		t.Fatal("no journal was begun")
	}
	defer v.close()
	if err := v.file.Load(); err != nil {
		t.Fatal(err)
	}
	v.joinJournal()
	if len(f.queue) > 0 {
		t.Error("lost:", f.queue[0].Lost)
	}
	if len(v.gens) != 1 {
		t.Errorf("it reads %d generations", len(v.gens))
	}
}

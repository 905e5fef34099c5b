package source

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/disk"
	"tachograph/store/fault"
	"tachograph/store/gather"
	"tachograph/store/journal"
	"tachograph/store/layout"
)

// A tail is what the journal of a live archive holds beyond what has been sealed, as seen by a
// reader beside the writer.
//
// The journal files are opened before the archive's newest transaction is looked at. The writer
// removes a journal file only after the transaction that holds all of it, so whatever is
// missing from the files is found there. Sequence numbers identify what is in both.
type tail struct {
	path  string
	files []*tailFile
}

// tailFile is one generation of the journal. Generations do not depend on each other, so they
// are decoded in parallel, and become chunks of their own.
type tailFile struct {
	journal.Generation
	file   disk.File
	taken  *gather.Intake // nil before the file is read, and if it need not be read
	fresh  bool           // records have been taken in since chunks were made
	told   bool           // its damage has been reported
	later  later          // the ticks whose rows are decoded only if a question needs them
	copied bool           // chunks come from the copy that a later generation holds
	chunks []*archive.Beside
	events []metric.Event // from the copy
}

// openTail opens the journal files of a live archive; it returns nil for a finished one.
func openTail(a *archive.File) *tail {
	if !strings.HasSuffix(a.Info.Path, layout.LiveSuffix) {
		return nil
	}
	t := &tail{path: a.Info.Path}
	if err := t.open(); err != nil {
		a.Hurt(err)
	}
	return t
}

// open opens the generations that are new since the last time.
func (t *tail) open() error {
	entries, err := os.ReadDir(filepath.Dir(t.path))
	if err != nil {
		return fmt.Errorf("the journal of %s cannot be looked for: %w", t.path, err)
	}
	var errs []error
	for _, e := range entries {
		live, generation, ok := layout.ParseJournalName(e.Name())
		if !ok || live != filepath.Base(t.path) || t.has(generation) {
			continue
		}
		f, err := disk.OS.OpenFile(layout.JournalName(t.path, generation), os.O_RDONLY, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue // sealed and removed meanwhile
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("journal: %w", err))
			continue
		}
		t.files = append(t.files, &tailFile{Generation: journal.Generation{File: f, Number: generation}, file: f})
	}
	slices.SortFunc(t.files, func(a, b *tailFile) int { return cmp.Compare(a.Number, b.Number) })
	return errors.Join(errs...)
}

func (t *tail) has(generation uint64) bool {
	return slices.ContainsFunc(t.files, func(f *tailFile) bool { return f.Number == generation })
}

func (t *tail) close() {
	if t == nil {
		return
	}
	for _, f := range t.files {
		_ = f.file.Close()
	}
}

// read reads what the journal of a holds by now.
func (t *tail) read(a *archive.File) error {
	if t == nil || !a.Info.Live {
		return nil
	}
	p := a.Progress
	if p == nil && len(t.files) == 0 {
		return nil // it never had a journal
	}
	if p == nil {
		return fmt.Errorf("%s does not say how much of its journal it holds; the journal is left out", t.path)
	}
	// Generations may have been begun since the directory was listed.
	if err := t.open(); err != nil {
		a.Hurt(err)
	}
	if p.Generation > 0 && !t.has(p.Generation) {
		a.Hurt(p.Missing(t.path, a.Last(), len(t.files) > 0))
	}
	follow := &journal.Follower{Archive: a.Info.ID, Counted: true, Seq: p.Sealed, Last: a.Last(), First: p.Generation, Live: true}
	for i, f := range t.files {
		f.Old = i+1 < len(t.files)
		f.Later, f.Intern = true, f.intern
	}
	t.takeCopies(follow)
	for _, f := range t.files {
		if f.taken == nil && !f.copied {
			f.taken, f.fresh = gather.NewIntake(a.Descs), true
		}
	}
	for _, err := range sideBySide(t.files, func(f *tailFile) error { return f.read(follow) }) {
		a.Hurt(err)
	}
	fresh := false
	for _, f := range t.files {
		if hole := follow.Missing(&f.Generation); hole != nil {
			a.Hurt(f.wrong(hole))
		}
		fresh = fresh || f.fresh
	}
	if !fresh {
		return nil
	}
	return t.show(a)
}

// sideBySide calls fn for every file, for as many at a time as there are processors, and returns
// the errors.
func sideBySide(files []*tailFile, fn func(*tailFile) error) []error {
	errs := make([]error, len(files))
	var group sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, f := range files {
		slots <- struct{}{}
		group.Go(func() {
			errs[i] = fault.Contain(func() error { return fn(f) })
			<-slots
		})
	}
	group.Wait()
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// show adds what the files hold to a.
func (t *tail) show(a *archive.File) error {
	cat := layout.NewCatalog(a.Descs)
	var mu sync.Mutex
	number := func(d *metric.Desc) uint32 {
		mu.Lock()
		defer mu.Unlock()
		return cat.Number(d)
	}
	if errs := sideBySide(t.files, func(f *tailFile) error { return f.present(number) }); len(errs) > 0 {
		return errors.Join(errs...)
	}
	var chunks []*archive.Beside
	var events []metric.Event
	for _, f := range t.files {
		chunks = append(chunks, f.chunks...)
		events = append(events, f.events...)
		if f.taken == nil {
			continue
		}
		events = slices.AppendSeq(events, f.taken.Events.All())
		if conf := f.taken.Conf; conf != nil {
			a.Info.Config = conf.Text
			a.Info.Intervals = conf.Intervals
		}
	}
	a.SetTail(cat, chunks, events)
	return nil
}

// present makes chunks of what f holds.
func (f *tailFile) present(number func(*metric.Desc) uint32) error {
	if !f.fresh {
		return nil
	}
	if f.fresh = false; f.copied {
		return nil
	}
	f.chunks = f.chunks[:0:0] // readers may still look at the old ones
	if f.later.any && !f.later.late {
		f.presentLater(number)
		return nil
	}
	for half := range journal.Halves {
		if err := f.decode(half); err != nil {
			return f.wrong(err)
		}
	}
	if err := f.taken.Settle(); err != nil {
		return f.wrong(err)
	}
	for _, b := range f.taken.Builders {
		if b == nil {
			continue
		}
		c, info, err := b.Present(number)
		if err != nil {
			return f.wrong(err)
		}
		f.chunks = append(f.chunks, &archive.Beside{Info: info, Present: c})
	}
	return nil
}

// takeCopies takes the copies that later generations hold of earlier ones.
func (t *tail) takeCopies(follow *journal.Follower) {
	all := make([]*journal.Generation, len(t.files))
	for i, f := range t.files {
		all[i] = &f.Generation
	}
	for i, c := range follow.Copies(all) {
		if c == nil {
			continue
		}
		f := t.files[i]
		chunks, events, err := gather.ParseCopy(c.Data)
		if err != nil {
			continue // reading the generation itself gives the error
		}
		last := int64(0)
		f.chunks = f.chunks[:0:0]
		for _, s := range chunks {
			last = max(last, s.Info.Last.Wall)
			f.chunks = append(f.chunks, &archive.Beside{Info: s.Info, Data: s.Data})
		}
		f.events, f.copied, f.fresh = events, true, true
		f.Skip(c, last)
	}
}

// intern returns the instances of f's records.
func (f *tailFile) intern(indom, key string) *metric.Instance { return f.taken.Intern(indom, key) }

// read takes in the records of f that are new and not in the archive.
func (f *tailFile) read(follow *journal.Follower) error {
	var errs []error
	end := follow.Read(&f.Generation, func(rec *journal.Record) {
		f.fresh = true
		if f.later.take(rec) {
			f.taken.Complete(rec.Tick)
			return
		}
		if err := f.taken.Take(rec); err != nil {
			errs = append(errs, f.wrong(err))
		}
	})
	if end.Err != nil && !f.told {
		f.told = true
		errs = append(errs, f.wrong(end.Err))
	}
	return errors.Join(errs...)
}

func (f *tailFile) wrong(err error) error {
	return fmt.Errorf("journal %s: %w", f.file.Name(), err)
}

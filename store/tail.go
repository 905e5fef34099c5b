package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
	"tachograph/store/disk"
	"tachograph/store/fault"
	"tachograph/store/journal"
	"tachograph/store/layout"
)

// A tail is what the journal of a live archive holds beyond what has been
// sealed, as a reader beside the writer sees it.
//
// The journal files are opened before the archive's newest transaction is
// looked at. The writer removes a journal file only after the transaction that
// holds all of it, so whatever is not found in the files is found there; and
// what is in both is told apart by the sequence numbers.
type tail struct {
	path  string
	files []*tailFile
	known map[string]*metric.Desc
}

// tailFile is one generation of the journal. Generations stand alone, so they
// are decoded side by side, and become chunks of their own.
type tailFile struct {
	generation uint64
	file       *os.File
	reader     *journal.Reader // nil while the file has no header
	foreign    bool
	told       bool // that its end is missing

	seq      uint64 // the last record taken in
	last     int64  // wall clock of the last tick
	fresh    bool   // records have been taken in since chunks were made
	builders [metric.NumClasses]*chunk.Builder
	chunks   []*chunk.Sealed
	events   []metric.Event
	conf     *journal.Config
	insts    map[string]*metric.Instance
	complete journal.Completer
}

// openTail opens the journal files of a live archive.
func (a *source) openTail() {
	if !strings.HasSuffix(a.Info.Path, layout.LiveSuffix) {
		return
	}
	a.closeTail()
	a.tail = &tail{path: a.Info.Path}
	if err := a.tail.open(); err != nil {
		a.Hurt(err)
	}
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
		f, err := disk.OpenNoFollow(layout.JournalName(t.path, generation), os.O_RDONLY, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue // sealed and removed meanwhile
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("journal: %w", err))
			continue
		}
		t.files = append(t.files, &tailFile{generation: generation, file: f, insts: make(map[string]*metric.Instance)})
	}
	slices.SortFunc(t.files, func(a, b *tailFile) int { return int(a.generation) - int(b.generation) })
	return errors.Join(errs...)
}

func (t *tail) has(generation uint64) bool {
	return slices.ContainsFunc(t.files, func(f *tailFile) bool { return f.generation == generation })
}

func (a *source) closeTail() {
	if a.tail == nil {
		return
	}
	for _, f := range a.tail.files {
		_ = f.file.Close()
	}
	a.tail = nil
}

// readTail takes in what the journal holds by now.
func (a *source) readTail() error {
	t := a.tail
	if t == nil || !a.Info.Live {
		return nil
	}
	b, err := a.Record(layout.BucketMeta, []byte(layout.MetaJournal))
	if err != nil {
		return err
	}
	var p layout.Progress
	if b == nil && len(t.files) == 0 {
		return nil // it never had a journal
	}
	if b != nil && json.Unmarshal(b, &p) == nil && !t.has(p.Generation) && p.Generation > 0 {
		// It may have been begun since the directory was looked at.
		if err := t.open(); err != nil {
			a.Hurt(err)
		}
		if !t.has(p.Generation) {
			a.Hurt(p.Missing(t.path, a.Last()))
		}
	}
	if b == nil {
		return fmt.Errorf("%s does not say how much of its journal it holds; the journal is left out", t.path)
	}
	if err := json.Unmarshal(b, &p); err != nil {
		return fmt.Errorf("%s does not say how much of its journal it holds: %w", t.path, err)
	}
	first := t.known == nil
	if first {
		t.known = make(map[string]*metric.Desc)
		for _, d := range a.Descs {
			if d != nil {
				t.known[d.Name] = d
			}
		}
	} else if err := t.open(); err != nil {
		a.Hurt(err)
	}
	for _, err := range sideBySide(t.files, func(f *tailFile) error { return f.read(a.Info.ID, p.Sealed, t.known) }) {
		a.Hurt(err)
	}
	fresh := first
	seq, last := p.Sealed, a.Last()
	for i, f := range t.files {
		read := func() error { return f.read(a.Info.ID, p.Sealed, t.known) }
		if err := f.end(i+1 < len(t.files), read); err != nil {
			a.Hurt(err)
		}
		if f.reader != nil {
			if head := f.reader.Header(); head.Base > seq {
				a.Hurt(fmt.Errorf("journal %s: %w", f.file.Name(), journal.Hole(head.Base-seq, last, head.At.Wall)))
			}
			seq, last = max(seq, f.seq), max(last, f.last)
		} else if i+1 == len(t.files) && p.Generation > 0 && f.generation >= p.Generation && !f.foreign && !f.told {
			if st, err := f.file.Stat(); err == nil && st.Size() == 0 {
				f.told = true
				a.Hurt(fmt.Errorf("journal %s: %w", f.file.Name(), journal.ErrEmptied))
			}
		}
		fresh = fresh || f.fresh
	}
	if !fresh {
		return nil
	}
	return t.show(a)
}

// sideBySide calls fn for every file, as many at a time as there are
// processors, and returns the errors.
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

// show makes what the files hold part of a.
func (t *tail) show(a *source) error {
	cat := layout.NewCatalog(a.Descs)
	var mu sync.Mutex
	number := func(d *metric.Desc) uint32 {
		mu.Lock()
		defer mu.Unlock()
		return cat.Number(d)
	}
	if errs := sideBySide(t.files, func(f *tailFile) error { return f.seal(number) }); len(errs) > 0 {
		return errors.Join(errs...)
	}
	var chunks []*chunk.Sealed
	var events []metric.Event
	for _, f := range t.files {
		chunks = append(chunks, f.chunks...)
		events = append(events, f.events...)
		if f.conf != nil {
			a.Info.Config = f.conf.Text
			a.Info.Intervals = layout.Nanoseconds(f.conf.Intervals)
		}
	}
	a.SetTail(cat, chunks, events)
	return nil
}

// seal makes chunks of what f holds.
func (f *tailFile) seal(number func(*metric.Desc) uint32) error {
	if !f.fresh {
		return nil
	}
	f.chunks = f.chunks[:0:0] // readers may still look at the old ones
	for _, b := range f.builders {
		if b == nil {
			continue
		}
		s, err := b.Seal(number)
		if err != nil {
			return fmt.Errorf("journal %s: %w", f.file.Name(), err)
		}
		f.chunks = append(f.chunks, s)
	}
	f.fresh = false
	return nil
}

// open opens the journal in f once it has a beginning.
func (f *tailFile) open(id string, known map[string]*metric.Desc) error {
	r, err := journal.NewReader(f.file, f.intern)
	if errors.Is(err, io.EOF) {
		return nil // no record of it is there yet
	}
	if err == nil && r.Header().Archive != id {
		err = errors.New("it belongs to another archive")
	}
	if err != nil {
		f.foreign = true
		return fmt.Errorf("journal %s: %w", f.file.Name(), err)
	}
	f.reader = r
	f.complete.Known = maps.Clone(known)
	return nil
}

// read takes in the records of f that are new, and not in the archive.
func (f *tailFile) read(id string, sealed uint64, known map[string]*metric.Desc) error {
	if f.foreign {
		return nil
	}
	if f.reader == nil {
		if err := f.open(id, known); err != nil || f.reader == nil {
			return err
		}
	}
	for {
		rec, err := f.reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			f.foreign = true
			return fmt.Errorf("journal %s: %w", f.file.Name(), err)
		}
		f.seq = rec.Seq
		if rec.Seq <= sealed {
			continue
		}
		f.fresh = true
		if err := f.take(rec); err != nil {
			return fmt.Errorf("journal %s: record %d: %w", f.file.Name(), rec.Seq, err)
		}
	}
}

func (f *tailFile) take(rec *journal.Record) error {
	switch rec.Kind {
	case journal.KindTick:
		f.last = rec.Tick.At.Wall
		f.complete.Tick(rec.Tick)
		b := f.builders[rec.Tick.Class]
		if b == nil {
			b = chunk.NewBuilder(rec.Tick.Class)
			f.builders[rec.Tick.Class] = b
		}
		return b.Append(rec.Tick)
	case journal.KindEvent:
		f.events = append(f.events, *rec.Event)
	case journal.KindDescribe:
		f.complete.Learn(rec.Descs)
	case journal.KindConfig:
		f.conf = rec.Conf
	}
	return nil
}

// offset is up to where f has been read.
func (f *tailFile) offset() int64 {
	if f.reader == nil {
		return 0
	}
	return f.reader.Offset()
}

// end tells what lies behind the last sound record of f. Of the present
// generation that may be a record that is just being written, which read would
// take in when it is whole.
func (f *tailFile) end(old bool, read func() error) error {
	var rest, size int64
	for still := 0; still < 3; {
		if f.foreign || f.told {
			return nil
		}
		st, err := f.file.Stat()
		if err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		size = st.Size()
		at := f.offset()
		if rest = size - at; rest <= 0 {
			return nil
		}
		time.Sleep(time.Millisecond)
		if err := read(); err != nil {
			return err
		}
		if still++; f.offset() != at {
			still = 0
		}
	}
	f.told = true
	if f.reader == nil {
		return fmt.Errorf("journal %s: its beginning is damaged or was never written whole", f.file.Name())
	}
	if !old && f.reader.CutShort(size) {
		return fmt.Errorf("journal %s: its last record is cut short, as by a crash", f.file.Name())
	}
	return fmt.Errorf("journal %s: %d bytes from byte %d on are damaged", f.file.Name(), rest, f.reader.Offset())
}

func (f *tailFile) intern(indom, key string) *metric.Instance {
	return journal.InternIn(f.insts, indom, key)
}

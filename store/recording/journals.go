package recording

import (
	"path/filepath"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/disk"
	"tachograph/store/journal"
	"tachograph/store/layout"
)

// journals are the journal files of an archive. The Writer's mutex guards them; Writer.syncing
// is held as well to close one.
type journals struct {
	file       disk.File // the present generation
	jw         *journal.Writer
	generation uint64
	base       uint64       // the last record before the generation
	turned     int64        // on the continuous clock: when the generation was begun
	copied     int64        // bytes of the generation that are copies of earlier ones
	room       int64        // length of the file, which is longer than what is written
	old        []generation // generations before the present one, not removed yet
	spares     []string     // files of still earlier generations, to be written over
	needs      uint64       // the first generation that is needed, if the archive was opened again

	// The last records that the bbolt file holds, that would survive a crash of the kernel, and
	// that would survive a power cut. Committed records are also kept and safe.
	committed, kept, safe uint64
	dirty                 bool // the journal was written to since the last barrier
	unnamed               bool // the directory was changed since it was synced
}

// generation is a journal file to which no more records are added.
type generation struct {
	path string
	file disk.File // nil if it was left by an earlier run
	// base is the last record before the generation, 0 if that is not known; seq is its own last
	// record.
	base, seq uint64
	// dirty means that no barrier followed the last write, safe that a full sync did.
	dirty, safe bool
}

// turn begins the next generation of l's journal. The file gets its name only after its
// beginning is written, so a named file without a beginning has lost it. The caller holds the
// Writer's mutex, or no other goroutine uses l yet.
func (w *Writer) turn(l *live, base uint64) error {
	path := layout.JournalName(l.path, l.generation+1)
	tmp := path + layout.TmpSuffix
	f, room, err := w.emptyJournal(l, tmp)
	if err != nil {
		return err
	}
	head := journal.Header{Archive: l.head.ID, Generation: l.generation + 1, Base: base, At: w.opt.Now()}
	err = journal.NewWriter(f, head, nil).Flush()
	if err == nil {
		err = w.dir.fs.Rename(tmp, path)
	}
	if err != nil {
		f.Close()
		_ = w.dir.fs.Remove(tmp)
		return err
	}
	var enc *journal.Encoder
	if l.jw != nil {
		enc = l.jw.Encoder()
		l.old = append(l.old, generation{path: layout.JournalName(l.path, l.generation), file: l.file, base: l.base, seq: l.jw.Seq(), dirty: l.dirty})
		w.total.journal += l.jw.Written()
	}
	l.generation++
	l.file, l.base, l.room, l.turned, l.copied = f, base, room, head.At.Cont, 0
	l.jw = journal.NewWriter(f, head, enc)
	_ = l.jw.Flush() // the same bytes once more
	l.dirty, l.unnamed = true, true
	return nil
}

// flush writes the records that wait in memory for the disk.
func (j *journals) flush() error {
	_, held := j.jw.Held()
	err := j.jw.Flush()
	j.dirty = j.dirty || held > 0 && err == nil
	return err
}

// perhapsTurn turns if that can be done now; if not, the present generation goes on.
func (w *Writer) perhapsTurn(l *live) {
	if _, held := l.jw.Held(); held > 0 {
		return // the old file must first get its records
	}
	if err := w.turn(l, l.jw.Seq()); err != nil {
		w.log.Debug("no new journal generation", "error", err)
		return
	}
	// Each generation can be read alone: the descriptions of its metrics must be in it or in the
	// archive.
	var descs []*metric.Desc
	for _, b := range append(l.queue[:len(l.queue):len(l.queue)], l.parts...) {
		descs = append(descs, b.Descs...)
	}
	if descs = append(descs, l.rest.Descs...); len(descs) > 0 {
		_ = w.wrote(l, l.jw.Describe(descs))
	}
}

// beginJournal notes in the archive that its journal goes on from record seq, in the present
// generation. From then on a copy of the archive without its journal shows that something is
// missing, so the journal must have its name first.
func (w *Writer) beginJournal(l *live, seq uint64) error {
	if err := w.dir.sync(); err != nil {
		return err
	}
	l.unnamed = false
	return l.update(layout.Build(&l.tot, func(b *layout.Builder) {
		b.Progress(layout.Progress{Sealed: seq, Generation: l.generation})
	}))
}

// needed returns the first generation of the journal that holds more than the first seq records.
// The caller holds the Writer's mutex.
func (j *journals) needed(seq uint64) uint64 {
	for _, g := range j.old {
		if _, n, ok := layout.ParseJournalName(filepath.Base(g.path)); ok && g.seq > seq {
			return n
		}
	}
	return j.generation
}

// dropGenerations removes the journal files whose records are all in the archive.
func (w *Writer) dropGenerations(l *live) {
	w.mu.Lock()
	var done []generation
	l.old = slices.DeleteFunc(l.old, func(g generation) bool {
		if g.seq <= l.committed {
			done = append(done, g)
		}
		return g.seq <= l.committed
	})
	l.unnamed = l.unnamed || len(done) > 0
	w.mu.Unlock()
	for _, g := range done {
		if g.file != nil {
			w.syncing.Lock() // it may be in a sync just now
			_ = g.file.Close()
			w.syncing.Unlock()
		}
		if w.keepSpare(l, g) {
			continue
		}
		if err := w.dir.fs.Remove(g.path); err != nil {
			// The file itself shows that all its records are committed; the next start removes
			// it.
			w.log.Debug("a sealed journal cannot be removed", "path", g.path, "error", err)
		}
	}
}

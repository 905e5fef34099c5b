package recording

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"go.etcd.io/bbolt"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
	"tachograph/store/disk"
	"tachograph/store/gather"
	"tachograph/store/journal"
	"tachograph/store/layout"
)

// live is an archive being written. Its upper fields belong to whoever holds
// the Writer's mutex, the lower ones to whoever holds commit.
type live struct {
	path string
	head layout.Header

	file       disk.File // the journal's present generation
	jw         *journal.Writer
	generation uint64
	base       uint64       // the last record before the generation
	age        int          // seals since the generation began
	old        []generation // before the present one, not removed yet
	rest       gather.Batch // collected since the last batch
	queue      []*batch
	begun      int64 // continuous clock at which the builders were begun
	synced     int64 // and at which the last seal was
	sealed     uint64
	needs      uint64 // the first generation it needed when it was opened again
	kept       uint64 // the last record that would survive a crash of the kernel
	safe       uint64 // and a power cut
	first      int64  // wall clocks of the first and last tick
	last       int64
	made       int64 // bytes written to make the bbolt file
	dirty      bool  // the journal was written to since the last barrier
	unnamed    bool  // the directory was changed since it was synced

	commit  sync.Mutex
	db      *bbolt.DB // nil when it is closed, or broken
	broken  error     // why the file cannot be written any more
	cat     *layout.Catalog
	tot     layout.Totals
	commits int64 // since db was opened
	ended   bool  // the archive says that its journal holds no more

	boltSize int64 // of the pages in use; belongs to the Writer's mutex
}

// generation is a journal file that no record is added to any more.
type generation struct {
	path string
	file disk.File // nil if it was left by an earlier run
	// base is the last record before it, 0 where that is not known; seq its own
	// last one.
	base, seq uint64
	// dirty says that no barrier followed the last write, safe that a full sync
	// did.
	dirty, safe bool
}

// batch is what one seal takes over from the journal.
type batch struct {
	gather.Batch
	seq    uint64
	sealed []*chunk.Sealed // of builders; nil before they are encoded
}

const (
	// commitSeals is how many seals one commit of the bbolt file covers; at the
	// others the journal is fully synced, which is as safe. Larger chunks are
	// smaller per value, and each commit costs some pages besides.
	CommitSeals = 12
	// generationSeals is how many seals a generation of the journal covers. A
	// longer one is smaller per value; but whoever reads the live archive
	// decodes each from its beginning, all of them at a time.
	generationSeals = 3
	// generationSize is at what size of the journal a commit is due earlier.
	generationSize = 4 << 20
)

// boltOptions are how archives are opened for writing. Without a stored
// freelist a commit is two pages smaller; bbolt finds free pages by a walk when
// it opens the file. The file grows by little steps, since an archive does.
func boltOptions() bbolt.Options {
	return bbolt.Options{NoFreelistSync: true, FreelistType: bbolt.FreelistMapType}
}

const boltGrowth = 1 << 20

// basis is what a new archive begins with.
type basis struct {
	seq     uint64 // its journal begins after this record
	Catalog []*metric.Desc
	conf    journal.Config
}

// basis is that of an archive begun now. The caller holds the mutex.
func (w *Writer) basis(seq uint64) basis {
	return basis{seq: seq, Catalog: w.opt.Catalogue, conf: w.conf}
}

// newLive makes a new archive.
func (w *Writer) newLive(on basis) (*live, error) {
	now := w.opt.Now()
	id := make([]byte, 8)
	_, _ = rand.Read(id) // never fails
	l := &live{
		head: layout.Header{
			Format: layout.FormatVersion, ID: hex.EncodeToString(id), Host: w.opt.Host, BootID: w.opt.BootID,
			TimeZone: w.opt.TimeZone, Recorder: w.opt.Recorder, Created: now.Wall, Serial: w.serial.Add(1),
		},
		sealed: on.seq, kept: on.seq, safe: on.seq, begun: now.Cont, synced: now.Cont, cat: layout.NewCatalog(nil),
	}
	for n := 0; ; n++ {
		l.path = w.dir.file(layout.LiveName(w.opt.Host.Name, now.Wall, n))
		if _, err := w.dir.fs.Lstat(l.path); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("new archive: %w", err)
		}
	}
	if err := w.createBolt(l, on); err != nil {
		return nil, fmt.Errorf("new archive: %w", err)
	}
	if err := w.newGeneration(l, on.seq); err != nil {
		l.closeFiles()
		_ = w.dir.fs.Remove(l.path)
		return nil, fmt.Errorf("new archive: %w", err)
	}
	if err := w.beginJournal(l, on.seq); err != nil {
		l.closeFiles()
		w.removeLive(l)
		return nil, fmt.Errorf("new archive: %w", err)
	}
	return l, nil
}

// beginJournal notes in the archive that its journal goes on from record seq,
// in the present generation. From then on a copy of the archive without its
// journal says that something is missing, so the journal must have its name.
func (w *Writer) beginJournal(l *live, seq uint64) error {
	if err := w.dir.fs.SyncDir(w.dir.path); err != nil {
		return err
	}
	l.unnamed = false
	return l.update(layout.Build(&l.tot, func(b *layout.Builder) {
		b.Progress(layout.Progress{Sealed: seq, Generation: l.generation})
	}))
}

// needed is the first generation of the journal that holds more than the first
// seq records. The caller holds the Writer's mutex.
func (l *live) needed(seq uint64) uint64 {
	for _, g := range l.old {
		if _, n, ok := layout.ParseJournalName(filepath.Base(g.path)); ok && g.seq > seq {
			return n
		}
	}
	return l.generation
}

// createBolt makes the bbolt file of l under another name and gives it its own
// when it holds a whole archive, if an empty one: neither a reader nor a crash
// meets it half made.
func (w *Writer) createBolt(l *live, on basis) error {
	tmp := l.path + layout.TmpSuffix
	if err := w.remove(tmp); err != nil {
		return err
	}
	if err := w.openBolt(l, tmp); err != nil {
		_ = w.dir.fs.Remove(tmp)
		return err
	}
	for _, d := range on.Catalog {
		l.cat.Number(d)
	}
	err := w.dir.own(tmp, fileMode)
	if err == nil {
		err = l.update(layout.Build(&l.tot, func(b *layout.Builder) {
			b.Create(&l.head)
			b.Settings(on.conf.Text, layout.Nanoseconds(on.conf.Intervals))
			b.Progress(layout.Progress{Sealed: l.sealed})
			b.Descs(l.cat.Pending())
			b.Count()
		}))
	}
	if err == nil {
		err = w.dir.fs.Rename(tmp, l.path)
	}
	if err != nil {
		l.closeFiles()
		_ = w.dir.fs.Remove(tmp)
		return err
	}
	l.cat.Commit(int(l.tot.Metrics))
	l.boltSize, l.made = l.pagesInUse(), l.bytesWritten()
	return nil
}

func (w *Writer) openBolt(l *live, path string) error {
	db, err := w.dir.fs.OpenBolt(path, fileMode, boltOptions())
	if err != nil {
		return err
	}
	db.AllocSize = boltGrowth
	l.db = db
	return nil
}

// newGeneration makes the next journal file of l and turns to it. The file gets
// its name when it has its beginning, so that one without has lost it. The
// caller holds the Writer's mutex, or is alone.
func (w *Writer) newGeneration(l *live, base uint64) error {
	path := layout.JournalName(l.path, l.generation+1)
	tmp := path + layout.TmpSuffix
	if err := w.remove(tmp); err != nil {
		return err
	}
	f, err := w.dir.fs.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	head := journal.Header{Archive: l.head.ID, Generation: l.generation + 1, Base: base, At: w.opt.Now()}
	err = w.dir.own(tmp, fileMode)
	if err == nil {
		err = journal.NewWriter(f, head, nil).Flush()
	}
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
	l.file, l.age, l.base = f, 0, base
	l.jw = journal.NewWriter(f, head, enc)
	_ = l.jw.Flush() // the same bytes once more
	l.dirty, l.unnamed = true, true
	return nil
}

// cut takes what has been collected since the last seal and queues it for the
// archive. The caller holds the Writer's mutex.
func (w *Writer) cut(l *live, now int64) {
	l.begun, l.synced = now, now
	b := &batch{Batch: l.rest, seq: l.jw.Seq()}
	l.rest = gather.Batch{}
	if b.Empty() {
		return
	}
	l.queue = append(l.queue, b)
	if !w.closed { // else nothing follows that would need another page
		w.turnPage(l)
	}
}

// turnPage begins a new generation of the journal, if that can be done now:
// the present one serves as well.
func (w *Writer) turnPage(l *live) {
	if _, held := l.jw.Held(); held > 0 {
		return // the old file must first get what belongs to it
	}
	if err := w.newGeneration(l, l.jw.Seq()); err != nil {
		w.log.Debug("no new journal generation", "error", err)
		return
	}
	// A generation stands alone: what describes its metrics must be in it or in
	// the archive.
	var descs []*metric.Desc
	for _, b := range l.queue {
		descs = append(descs, b.Descs...)
	}
	if descs = append(descs, l.rest.Descs...); len(descs) > 0 {
		_ = w.wrote(l, l.jw.Describe(descs))
	}
}

// liveBase is the name of an archive for messages.
func (l *live) String() string { return filepath.Base(l.path) }

package recording

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"tachograph/sample/metric"
	"tachograph/store/disk"
	"tachograph/store/journal"
	"tachograph/store/layout"
)

// live is an archive being written. Its parts are grouped by the lock that guards them; fields
// outside the parts do not change once there are other goroutines.
type live struct {
	path string
	head layout.Header
	made int64 // bytes written to make the bbolt file

	journals
	collection
	container
}

// String returns the archive's file name, for messages.
func (l *live) String() string { return filepath.Base(l.path) }

// basis is what a new archive begins with.
type basis struct {
	seq     uint64 // its journal begins after this record
	catalog []*metric.Desc
	conf    journal.Config
}

// basis returns the basis of an archive that is begun now. The caller holds the mutex.
func (w *Writer) basis(seq uint64) basis {
	return basis{seq: seq, catalog: w.opt.Catalog, conf: w.conf}
}

// newLive makes a new archive.
func (w *Writer) newLive(on basis) (*live, error) {
	now := w.opt.Now()
	host, zone := w.opt.Host, w.opt.TimeZone
	if w.opt.Look != nil {
		if h, z := w.opt.Look(); h.ID == host.ID {
			host, zone = h, z
		}
	}
	id := make([]byte, 8)
	_, _ = rand.Read(id) // never fails
	l := &live{
		head: layout.Header{
			Format: layout.FormatVersion, ID: hex.EncodeToString(id), Host: host, BootID: w.opt.BootID,
			TimeZone: zone, Recorder: w.opt.Recorder, Created: now.Wall, Serial: w.serial.Add(1),
		},
		journals:   journals{committed: on.seq, kept: on.seq, safe: on.seq},
		collection: collection{begun: now.Cont, synced: now.Cont, taken: on.seq},
		container:  container{cat: layout.NewCatalog(nil)},
	}
	l.rest.Since(now.Cont) // older ticks belong to the archive before
	for n := 0; ; n++ {
		l.path = w.dir.file(layout.LiveName(host.Name, now.Wall, n))
		if _, err := w.dir.fs.Lstat(l.path); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("new archive: %w", err)
		}
	}
	if err := w.createBolt(l, on); err != nil {
		return nil, fmt.Errorf("new archive: %w", err)
	}
	if err := w.turn(l, on.seq); err != nil {
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

// createBolt makes the bbolt file of l under a temporary name and renames it when it holds a
// whole, if empty, archive, so that neither a reader nor a crash meets it half made.
func (w *Writer) createBolt(l *live, on basis) error {
	tmp := l.path + layout.TmpSuffix
	if err := w.dir.remove(tmp); err != nil {
		return err
	}
	if err := w.openBolt(l, tmp); err != nil {
		_ = w.dir.fs.Remove(tmp)
		return err
	}
	for _, d := range on.catalog {
		l.cat.Number(d)
	}
	err := w.dir.own(tmp, fileMode)
	if err == nil {
		err = l.update(layout.Build(&l.tot, func(b *layout.Builder) {
			b.Create(&l.head)
			b.Settings(on.conf.Text, on.conf.Intervals)
			b.Progress(layout.Progress{Sealed: l.committed})
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

func (l *live) closeFiles() {
	for i := range l.old {
		closeFile(&l.old[i].file)
	}
	closeFile(&l.file)
	if l.db != nil {
		_ = l.db.Close()
		l.db = nil
	}
}

func closeFile(f *disk.File) {
	if *f != nil {
		_ = (*f).Close()
		*f = nil
	}
}

// closeFiles closes the files of l while no sync is running.
func (w *Writer) closeFiles(l *live) {
	w.syncing.Lock()
	defer w.syncing.Unlock()
	l.closeFiles()
}

// removeLive removes the files that a finished archive was made from: the bbolt file last,
// because its journal means nothing without it.
func (w *Writer) removeLive(l *live) {
	err := w.removeJournals(l)
	if err == nil {
		err = w.dir.remove(l.path)
	}
	if err == nil {
		err = w.dir.sync()
	}
	if err != nil {
		// The next start notices that the finished archive exists.
		w.log.Warn("what a finished archive came from cannot be removed", "archive", l.String(), "error", err)
	}
}

func (w *Writer) removeJournals(l *live) error {
	for _, g := range l.old {
		if err := w.dir.remove(g.path); err != nil {
			return err
		}
	}
	if l.generation == 0 {
		return nil
	}
	return w.dir.remove(layout.JournalName(l.path, l.generation))
}

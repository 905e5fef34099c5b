package recording

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"go.etcd.io/bbolt"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/boltread"
	"tachograph/store/chunk"
	"tachograph/store/disk"
	"tachograph/store/layout"
)

// A Cut is an archive that the Writer has turned away from and that waits to
// be finished.
type Cut struct {
	w *Writer
	l *live
}

// Cut begins a new archive. From its return on everything goes there, so
// metrics that are read once per archive can be read now; Finish, which may
// take some time, completes the old one.
func (w *Writer) Cut(why string) (*Cut, error) {
	w.cutting.Lock()
	defer w.cutting.Unlock()
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil, ErrClosed
	}
	on, changes := w.basis(w.cur.jw.Seq()), w.changes
	w.mu.Unlock()
	n, err := w.newLive(on)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		n.closeFiles()
		w.removeLive(n)
		return nil, ErrClosed
	}
	l := w.cur
	now := w.opt.Now()
	e := metric.Event{At: now, Kind: metric.EventRotate, Text: why}
	_ = w.event(&e) // the end of the old one
	w.cut(l, now.Cont)
	w.turned = append(w.turned, l)
	w.turnTo(n)
	if changes != w.changes {
		w.catchUp(n)
	}
	_ = w.event(&e) // and the beginning of the new one
	return &Cut{w: w, l: l}, nil
}

// catchUp tells a new archive what changed while it was being made.
func (w *Writer) catchUp(n *live) {
	conf := w.conf
	n.rest.Descs, n.rest.Conf = w.opt.Catalogue, &conf
	_ = w.wrote(n, n.jw.Describe(w.opt.Catalogue))
	_ = w.wrote(n, n.jw.Config(&conf))
}

// turnTo makes n the archive that is written.
func (w *Writer) turnTo(n *live) {
	if w.cur != nil {
		w.total.journal += w.cur.jw.Written()
	}
	w.total.bolt += n.made
	w.cur = n
}

// Finish completes the archive that was cut off and returns its path. If it
// fails, the archive stays readable as it is; the next Finish or Create tries
// again.
func (c *Cut) Finish() (string, error) {
	w := c.w
	w.mu.Lock()
	again := w.unfinished
	w.unfinished = nil
	w.mu.Unlock()
	path, err := w.finishTurned(c.l)
	for _, l := range again {
		_, _ = w.finishTurned(l)
	}
	return path, err
}

// finishTurned finishes an archive that was turned away from, or notes that it
// is to be tried again.
func (w *Writer) finishTurned(l *live) (string, error) {
	path, err := w.finish(l)
	if errors.Is(err, disk.ErrDamaged) && w.giveUp(l) {
		return path, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.unfinished = append(w.unfinished, l)
		return path, err
	}
	w.turned = slices.DeleteFunc(w.turned, func(o *live) bool { return o == l })
	return path, nil
}

// Rotate is Cut and Finish in one.
func (w *Writer) Rotate(why string) (finished string, err error) {
	c, err := w.Cut(why)
	if err != nil {
		return "", err
	}
	return c.Finish()
}

// finish seals what l still has queued and gives the archive its final name,
// compacted where that is worth the writing. The name appears when all of the
// file is safe; until then the archive can be read as it is.
func (w *Writer) finish(l *live) (string, error) {
	if err := w.seal(l); err != nil {
		return "", err
	}
	l.commit.Lock()
	defer l.commit.Unlock()
	if l.db == nil && l.broken == nil { // an earlier attempt got as far as closing it
		if err := w.openBolt(l, l.path); err != nil {
			return "", err
		}
	}
	worth, err := w.worthCompacting(l)
	if err == nil && worth && !l.tot.Finished {
		final, err := w.compactInto(l)
		if err == nil {
			return final, nil
		}
		// Damage, or a disk that is nearly full: then it stays as it is.
		w.log.Warn("an archive cannot be compacted", "archive", l.String(), "error", err)
	}
	final, err := w.finishInPlace(l)
	if err != nil {
		return "", fmt.Errorf("finishing %s: %w", l, err)
	}
	return final, nil
}

// What compacting must save to be worth writing the whole archive once more: a
// sixth of the file, some of which is the slack of pages that a compacted one
// has as well, or half of its chunks.
const (
	savedPart   = 6
	savedChunks = 2
)

// worthCompacting estimates what compacting l would save: pages that commits
// left behind, and what chunks repeat that are shorter than they need be.
func (w *Writer) worthCompacting(l *live) (bool, error) {
	if err := l.examine(); err != nil {
		return false, err
	}
	var useful, size, chunks int64
	var first, last, bytes [metric.NumClasses]int64
	var present [metric.NumClasses]bool
	v := layout.Visitor{
		Stored: func(n int) { useful += int64(n) },
		Index: func(_ uint32, in chunk.Info) {
			useful += in.Size
			chunks++
			c := in.Class
			bytes[c] += in.Size
			if !present[c] || in.First.Cont < first[c] {
				first[c] = in.First.Cont
			}
			last[c] = max(last[c], in.Last.Cont)
			present[c] = true
		},
	}
	err := layout.WithSnapshot(l.path, func(s *boltread.Snapshot) error {
		size = s.Meta().Bytes()
		return v.VisitAll(s, layout.BucketMeta, layout.BucketMetrics, layout.BucketEvents, layout.BucketIndex)
	})
	if err != nil {
		return false, err
	}
	var needed int64
	for c, p := range present {
		if p {
			needed += 1 + max((last[c]-first[c])/archive.MergeSpan, bytes[c]/archive.MergeSize)
		}
	}
	return size-useful > size/savedPart || chunks >= needed*savedChunks, nil
}

// finishInPlace makes the file of l itself the finished archive.
func (w *Writer) finishInPlace(l *live) (string, error) {
	if !l.tot.Finished {
		t := l.tot.Clone()
		before := l.bytesWritten()
		if err := l.update(layout.Build(&t, (*layout.Builder).Finish)); err != nil {
			return "", err
		}
		l.tot = t
		w.mu.Lock()
		w.total.bolt += l.bytesWritten() - before
		w.mu.Unlock()
	}
	size := l.pagesInUse()
	w.letGo(l)
	if err := w.settle(l.path, size); err != nil {
		return "", err
	}
	if err := w.removeJournals(l); err != nil {
		return "", err
	}
	return w.rename(l, l.path)
}

// letGo closes the files of l.
func (w *Writer) letGo(l *live) {
	w.syncing.Lock()
	defer w.syncing.Unlock()
	l.closeFiles()
}

// compactInto writes the finished archive and puts it in place.
func (w *Writer) compactInto(l *live) (string, error) {
	tmp := l.path + layout.TmpSuffix
	if err := w.dir.fs.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	size, err := w.compactTo(tmp, l)
	if err == nil {
		err = w.settle(tmp, size)
	}
	if err != nil {
		_ = w.dir.fs.Remove(tmp)
		return "", err
	}
	w.mu.Lock()
	w.total.finish += size
	w.mu.Unlock()
	final, err := w.rename(l, tmp)
	if err == nil {
		w.letGo(l)
		w.removeLive(l)
	}
	return final, err
}

// rename gives the finished file of l its final name.
func (w *Writer) rename(l *live, from string) (string, error) {
	first, last := l.first, l.last
	if first == 0 {
		first, last = l.head.Created, l.head.Created
	}
	for n := 0; ; n++ {
		final := w.dir.file(layout.FinishedName(l.head.Host.Name, first, last, n))
		if _, err := w.dir.fs.Lstat(final); err == nil {
			if id, err := archive.IDOf(final); err != nil || id != l.head.ID {
				continue // another archive has that name
			}
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if err := w.dir.fs.Rename(from, final); err != nil {
			return "", err
		}
		return final, w.dir.fs.SyncDir(w.dir.path)
	}
}

// compactTo writes the compacted archive without syncing it, and returns how
// long the file must be.
func (w *Writer) compactTo(tmp string, l *live) (size int64, err error) {
	opt := boltOptions()
	opt.NoSync, opt.NoGrowSync = true, true
	db, err := w.dir.fs.OpenBolt(tmp, fileMode, opt)
	if err != nil {
		return 0, err
	}
	db.AllocSize = boltGrowth
	defer func() {
		if errors.Is(err, disk.ErrDamaged) {
			return // it may hold its locks, see use
		}
		if e := db.Close(); err == nil {
			err = e
		}
	}()
	if err := w.dir.own(tmp, fileMode); err != nil {
		return 0, err
	}
	src, err := archive.Open(l.path)
	if err != nil {
		return 0, err
	}
	defer src.Close()
	if err := disk.Contain(func() error { return archive.Compact(db, src) }); err != nil {
		return 0, err
	}
	err = db.View(func(tx *bbolt.Tx) error {
		size = tx.Size()
		return nil
	})
	return size, err
}

// settle cuts off what bbolt allocated beyond the last page, and makes the
// file safe.
func (w *Writer) settle(path string, size int64) error {
	f, err := w.dir.fs.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		return err
	}
	return f.Sync()
}

// removeLive removes the files that a finished archive came from: the bbolt
// file last, because its journal means nothing without it.
func (w *Writer) removeLive(l *live) {
	err := w.removeJournals(l)
	if err == nil {
		err = w.remove(l.path)
	}
	if err == nil {
		err = w.dir.fs.SyncDir(w.dir.path)
	}
	if err != nil {
		// The next start sees that the archive exists in full.
		w.log.Warn("what a finished archive came from cannot be removed", "archive", l.String(), "error", err)
	}
}

func (w *Writer) removeJournals(l *live) error {
	for _, g := range l.old {
		if err := w.remove(g.path); err != nil {
			return err
		}
	}
	if l.generation == 0 {
		return nil
	}
	return w.remove(layout.JournalName(l.path, l.generation))
}

func (w *Writer) remove(path string) error {
	if err := w.dir.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

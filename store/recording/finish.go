package recording

import (
	"errors"
	"fmt"
	"io/fs"

	"go.etcd.io/bbolt"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/boltread"
	"tachograph/store/chunk"
	"tachograph/store/disk"
	"tachograph/store/layout"
)

// finish commits l's queue and gives the archive its final name, compacted if that is worth the
// writing. The name appears when the whole file is safe; until then the archive can be read as
// it is.
func (w *Writer) finish(l *live) (string, error) {
	if err := w.commit(l); err != nil {
		return "", err
	}
	l.committing.Lock()
	defer l.committing.Unlock()
	if l.db == nil && l.broken == nil { // an earlier attempt had closed it
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
		// After damage, or on a nearly full disk, the archive stays as it is.
		w.log.Warn("an archive cannot be compacted", "archive", l.String(), "error", err)
	}
	final, err := w.finishInPlace(l)
	if err != nil {
		return "", fmt.Errorf("finishing %s: %w", l, err)
	}
	return final, nil
}

// Compacting is worth writing the whole archive once more if it saves a sixth of the file (some
// of which is slack in pages that a compacted file has as well) or half of its chunks. A small
// archive is always compacted.
const (
	savedPart    = 6
	savedChunks  = 2
	smallArchive = 1 << 20
)

// worthCompacting estimates what compacting l would save: pages that commits left behind, and
// what is repeated in chunks that are shorter than they need be.
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
	return size <= smallArchive || size-useful > size/savedPart || chunks >= needed*savedChunks, nil
}

// finishInPlace makes the file of l itself the finished archive.
func (w *Writer) finishInPlace(l *live) (string, error) {
	if !l.tot.Finished {
		t := l.tot.Clone()
		before := l.bytesWritten()
		err := l.update(layout.Build(&t, func(b *layout.Builder) {
			b.Describe(l.cat.Desc)
			b.Finish()
		}))
		if err != nil {
			return "", err
		}
		l.tot = t
		w.mu.Lock()
		w.total.bolt += l.bytesWritten() - before
		w.mu.Unlock()
	}
	size := l.pagesInUse()
	w.closeFiles(l)
	if err := w.dir.settle(l.path, size); err != nil {
		return "", err
	}
	if err := w.removeJournals(l); err != nil {
		return "", err
	}
	return w.rename(l, l.path)
}

// compactInto writes the finished archive to a new file and puts that in place.
func (w *Writer) compactInto(l *live) (string, error) {
	tmp := l.path + layout.TmpSuffix
	if err := w.dir.remove(tmp); err != nil {
		return "", err
	}
	size, err := w.compactTo(tmp, l)
	if err == nil {
		err = w.dir.settle(tmp, size)
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
		w.closeFiles(l)
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
			if h, err := layout.ReadHeader(final); err != nil || h.ID != l.head.ID {
				continue // another archive has that name
			}
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if err := w.dir.fs.Rename(from, final); err != nil {
			return "", err
		}
		return final, w.dir.sync()
	}
}

// compactTo writes the compacted archive without syncing it, and returns how long the file must
// be.
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

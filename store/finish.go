package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"go.etcd.io/bbolt"

	"tachograph/sample/metric"
	"tachograph/store/disk"
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
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil, ErrClosed
	}
	base := w.cur.jw.Seq()
	w.mu.Unlock()
	n, err := w.newLive(base)
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
	w.cur = n
	_ = w.event(&e) // and the beginning of the new one
	return &Cut{w: w, l: l}, nil
}

// Finish completes the archive that was cut off and returns its path. If it
// fails, the archive stays readable as it is; the next Finish or Create tries
// again.
func (c *Cut) Finish() (string, error) {
	path, err := c.w.finish(c.l)
	c.w.mu.Lock()
	again := c.w.unfinished
	c.w.unfinished = nil
	if err != nil {
		c.w.unfinished = append(c.w.unfinished, c.l)
	}
	c.w.mu.Unlock()
	for _, l := range again {
		if _, e := c.w.finish(l); e != nil {
			c.w.mu.Lock()
			c.w.unfinished = append(c.w.unfinished, l)
			c.w.mu.Unlock()
		}
	}
	return path, err
}

// Rotate is Cut and Finish in one.
func (w *Writer) Rotate(why string) (finished string, err error) {
	c, err := w.Cut(why)
	if err != nil {
		return "", err
	}
	return c.Finish()
}

// finish seals what l still has queued, compacts it into a file of its own and
// gives that its final name. Until then the name does not exist, and until the
// new file is safe the old ones do.
func (w *Writer) finish(l *live) (string, error) {
	if err := w.seal(l); err != nil {
		return "", err
	}
	l.commit.Lock()
	defer l.commit.Unlock()
	final, err := w.compactInto(l)
	if err != nil {
		return "", fmt.Errorf("store: finishing %s: %w", l, err)
	}
	w.syncing.Lock()
	l.closeFiles()
	w.syncing.Unlock()
	l.db, l.file = nil, nil
	w.removeLive(l)
	return final, nil
}

// compactInto writes the finished archive and puts it in place.
func (w *Writer) compactInto(l *live) (string, error) {
	tmp := l.path + tmpSuffix
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
	first, last := l.first, l.last
	if first == 0 {
		first, last = l.head.Created, l.head.Created
	}
	for n := 0; ; n++ {
		final := w.dir.file(finishedName(l.head.Host.Name, first, last, n))
		if _, err := w.dir.fs.Lstat(final); err == nil {
			if id, err := archiveID(final); err != nil || id != l.head.ID {
				continue // another archive has that name
			}
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if err := w.dir.fs.Rename(tmp, final); err != nil {
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
		if e := db.Close(); err == nil {
			err = e
		}
	}()
	if err := w.dir.own(tmp, fileMode); err != nil {
		return 0, err
	}
	src, err := openArchive(l.path)
	if err != nil {
		return 0, err
	}
	defer src.close()
	if err := disk.Contain(func() error { return compact(db, src) }); err != nil {
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
	if err := f.Sync(); err != nil {
		return err
	}
	w.mu.Lock()
	w.total.finish += size
	w.mu.Unlock()
	return nil
}

// removeLive removes the files that a finished archive came from: the bbolt
// file last, because its journal means nothing without it.
func (w *Writer) removeLive(l *live) {
	names := make([]string, 0, len(l.old)+2)
	for _, g := range l.old {
		names = append(names, g.path)
	}
	if l.generation > 0 {
		names = append(names, journalName(l.path, l.generation))
	}
	names = append(names, l.path)
	for _, name := range names {
		if err := w.dir.fs.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			// The next start sees that the archive exists in full.
			w.log.Warn("what a finished archive came from cannot be removed", "path", name, "error", err)
			return
		}
	}
	if err := w.dir.fs.SyncDir(w.dir.path); err != nil {
		w.log.Warn("the directory cannot be synced", "error", err)
	}
}

package recording

import (
	"errors"
	"sync"

	"go.etcd.io/bbolt"
	bberrors "go.etcd.io/bbolt/errors"

	"tachograph/store/disk"
	"tachograph/store/layout"
)

// container is the bbolt file of an archive. Its mutex, committing, guards it.
type container struct {
	committing sync.Mutex
	db         *bbolt.DB // nil if it is closed or broken
	broken     error     // why the file cannot be written any more
	cat        *layout.Catalog
	tot        layout.Totals
	commits    int64 // since db was opened
	ended      bool  // the archive says that its journal holds no more
}

// boltOptions are the options with which archives are opened for writing. Without a stored
// freelist a commit is two pages smaller; bbolt finds the free pages by a walk when it opens the
// file. The file grows by small steps, as an archive does.
func boltOptions() bbolt.Options {
	return bbolt.Options{NoFreelistSync: true, FreelistType: bbolt.FreelistMapType}
}

const boltGrowth = 1 << 20

func (w *Writer) openBolt(l *live, path string) error {
	db, err := w.dir.fs.OpenBolt(path, fileMode, boltOptions())
	if err != nil {
		return err
	}
	db.AllocSize = boltGrowth
	l.db = db
	return nil
}

// use calls fn with the database. bbolt trusts its file: if that is damaged it panics, perhaps
// with its locks held. The database is then not used again, nor closed, because that would wait
// for those locks for ever.
func (c *container) use(fn func(db *bbolt.DB) error) error {
	if c.broken != nil {
		return c.broken
	}
	if c.db == nil {
		return bberrors.ErrDatabaseNotOpen
	}
	err := disk.Contain(func() error { return fn(c.db) })
	if errors.Is(err, disk.ErrDamaged) {
		c.broken, c.db = err, nil
	}
	return err
}

// update runs fn in a transaction.
//
// It is not bbolt's own Update: that rolls back after a panic, for which it walks all pages in a
// goroutine of its own, where the next panic would end the process.
func (c *container) update(fn func(tx *bbolt.Tx) error) error {
	c.commits++
	return c.use(func(db *bbolt.DB) error {
		tx, err := db.Begin(true)
		if err != nil {
			return err
		}
		if err := fn(tx); err != nil {
			_ = tx.Rollback()
			return err
		}
		return tx.Commit()
	})
}

// view runs fn in a read-only transaction.
func (c *container) view(fn func(tx *bbolt.Tx) error) error {
	return c.use(func(db *bbolt.DB) error { return db.View(fn) })
}

// examine checks that the file of l is still as it was written, before bbolt builds on it.
func (l *live) examine() error {
	if l.broken == nil {
		if err := disk.CheckBolt(l.path); errors.Is(err, disk.ErrDamaged) {
			l.broken, l.db = err, nil
		}
	}
	return l.broken
}

// bytesWritten returns how many bytes bbolt has handed to write(2) since the file was opened:
// the pages that its transactions took, and the meta page of each.
func (c *container) bytesWritten() int64 {
	if c.db == nil {
		return 0
	}
	s := c.db.Stats().TxStats
	return s.GetPageAlloc() + c.commits*disk.PageSize
}

// pagesInUse returns the size of the file up to its last page.
func (c *container) pagesInUse() (size int64) {
	_ = c.view(func(tx *bbolt.Tx) error {
		size = tx.Size()
		return nil
	})
	return size
}

package recording

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"go.etcd.io/bbolt"
	bberrors "go.etcd.io/bbolt/errors"

	"tachograph/sample/metric"
	"tachograph/store/disk"
	"tachograph/store/layout"
)

// use lets fn work with the database of l. bbolt trusts its file: where that
// was damaged it panics, perhaps with its locks held. The database is then not
// touched again, nor closed, which would wait for those locks for ever.
func (l *live) use(fn func(db *bbolt.DB) error) error {
	if l.broken != nil {
		return l.broken
	}
	if l.db == nil {
		return bberrors.ErrDatabaseNotOpen
	}
	err := disk.Contain(func() error { return fn(l.db) })
	if errors.Is(err, disk.ErrDamaged) {
		l.broken, l.db = err, nil
	}
	return err
}

// update runs fn in a transaction.
//
// It is not bbolt's own Update: that rolls back after a panic, for which it
// walks all pages in a goroutine of its own, where the next panic would end the
// process.
func (l *live) update(fn func(tx *bbolt.Tx) error) error {
	l.commits++
	return l.use(func(db *bbolt.DB) error {
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

// view runs fn in a transaction that only reads.
func (l *live) view(fn func(tx *bbolt.Tx) error) error {
	return l.use(func(db *bbolt.DB) error { return db.View(fn) })
}

// examine looks whether the file of l is still what was written, before bbolt
// builds on it.
func (l *live) examine() error {
	if l.broken == nil {
		if err := disk.CheckBolt(l.path); errors.Is(err, disk.ErrDamaged) {
			l.broken, l.db = err, nil
		}
	}
	return l.broken
}

// giveUp leaves an archive whose file was damaged while it was being written:
// it is set aside as it is, for replay repair, and what it does not hold goes
// to another one. It reports whether that could be done now.
func (w *Writer) giveUp(l *live) bool {
	// What the damaged archive cannot take stands in its journal only.
	if err := w.fullSync(); err != nil {
		w.log.Debug("the journal of a damaged archive cannot be synced", "archive", l.String(), "error", err)
	}
	w.mu.Lock()
	heir := w.cur
	w.mu.Unlock()
	if heir == l {
		return w.giveUpCurrent(l)
	}
	heir.commit.Lock()
	defer heir.commit.Unlock()
	l.commit.Lock()
	defer l.commit.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	// Chunks stand in the order of time: an heir that has sealed some cannot
	// take earlier ones. Then they wait in the journal to be repaired.
	held := len(l.queue) == 0
	if heir == w.cur && len(heir.tot.Chunks) == 0 && heir.broken == nil && !w.closed {
		held = true
		w.inherit(heir, l)
		w.work.wake()
	}
	w.turned = slices.DeleteFunc(w.turned, func(o *live) bool { return o == l })
	w.unfinished = slices.DeleteFunc(w.unfinished, func(o *live) bool { return o == l })
	w.tellGivenUp(l, w.opt.Now(), held)
	w.putAway(l)
	return true
}

func (w *Writer) giveUpCurrent(l *live) bool {
	l.commit.Lock()
	defer l.commit.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if l != w.cur {
		return false
	}
	n, err := w.replacement(l)
	if err != nil {
		w.log.Debug("no new archive yet", "error", err)
		return false
	}
	w.cut(l, l.begun)
	w.inherit(n, l)
	w.turnTo(n)
	w.tellGivenUp(l, w.opt.Now(), true)
	w.putAway(l)
	w.trouble.journal, w.trouble.seal = nil, nil
	w.work.wake()
	if !w.closed {
		w.ends()
	}
	return true
}

// inherit hands what l has in memory on to n, and the journals that hold the
// same, which n removes once it has it all.
func (w *Writer) inherit(n, l *live) {
	if len(l.queue) == 0 {
		return
	}
	for _, b := range l.queue {
		b.sealed = nil   // numbered by another catalogue
		b.seq = n.sealed // it comes before all that n's journal holds
	}
	n.queue = append(l.queue, n.queue...)
	l.queue = nil
	for _, g := range append(l.old, generation{path: layout.JournalName(l.path, l.generation), base: l.base}) {
		// One that reaches back further is of use to whoever repairs l.
		if g.base >= l.sealed {
			n.old = append(n.old, generation{path: g.path + layout.DamagedSuffix, seq: n.sealed})
		}
	}
}

// tellGivenUp says what became of l. Until it is repaired, what it holds is
// missing: from its beginning to what the next archive has.
func (w *Writer) tellGivenUp(l *live, now metric.Stamp, held bool) {
	aside := filepath.Base(l.path) + layout.DamagedSuffix
	w.log.Error("the archive was damaged while it was being written; it is set aside for replay repair, and a new one is begun",
		"archive", l.path, "as", l.path+layout.DamagedSuffix, "error", l.broken)
	end := now
	if held {
		for _, q := range w.cur.queue {
			for _, b := range q.Builders {
				if b != nil && b.First().Cont < end.Cont {
					end = b.First()
				}
			}
		}
	}
	from := l.head.Created
	if l.first != 0 {
		from = l.first
	}
	e := layout.GapEvent(end, from, max(0, end.Wall-from), fmt.Sprintf("the archive %s was damaged while it was being written and is set aside as %s: replay repair may save what it holds", l, aside))
	e.Labels = append(e.Labels, metric.Label{Name: "path", Value: l.path + layout.DamagedSuffix})
	_ = w.note(&e)
}

// putAway closes the files of l and sets them aside. The database stays open:
// see use.
func (w *Writer) putAway(l *live) {
	left := leftover{path: l.path}
	for _, g := range l.old {
		left.journals = append(left.journals, g.path)
	}
	if l.generation > 0 {
		left.journals = append(left.journals, layout.JournalName(l.path, l.generation))
	}
	l.closeFiles()
	w.putAside(left)
	if err := w.dir.fs.SyncDir(w.dir.path); err != nil {
		w.log.Debug("the directory cannot be synced", "error", err)
	}
}

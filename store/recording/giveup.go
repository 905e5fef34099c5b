package recording

import (
	"fmt"
	"path/filepath"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/layout"
)

// giveUp abandons an archive whose file was damaged while it was being written: the archive is
// set aside as it is, for replay repair, and the records that it does not hold go to another
// one. It reports whether that could be done now.
func (w *Writer) giveUp(l *live) bool {
	// Records that the damaged archive cannot take are only in its journal.
	if err := w.fullSync(); err != nil {
		w.log.Debug("the journal of a damaged archive cannot be synced", "archive", l.String(), "error", err)
	}
	w.mu.Lock()
	heir := w.cur
	w.mu.Unlock()
	if heir == l {
		return w.giveUpCurrent(l)
	}
	heir.committing.Lock()
	defer heir.committing.Unlock()
	l.committing.Lock()
	defer l.committing.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	// Chunks are in the order of time: an heir that has committed some cannot take earlier ones.
	// Then those wait in the journal for the repair.
	held := len(l.queue) == 0
	if heir == w.cur && len(heir.tot.Chunks) == 0 && heir.broken == nil && !w.closed {
		held = true
		w.inherit(heir, l)
		w.work.wake()
	}
	w.rotated = slices.DeleteFunc(w.rotated, func(o *live) bool { return o == l })
	w.unfinished = slices.DeleteFunc(w.unfinished, func(o *live) bool { return o == l })
	w.tellGivenUp(l, w.opt.Now(), held)
	w.setAsideOpen(l)
	return true
}

func (w *Writer) giveUpCurrent(l *live) bool {
	l.committing.Lock()
	defer l.committing.Unlock()
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
	w.collect(l, l.begun)
	w.inherit(n, l)
	w.recordInto(n)
	w.tellGivenUp(l, w.opt.Now(), true)
	w.setAsideOpen(l)
	w.trouble.journal, w.trouble.commit = nil, nil
	w.work.wake()
	if !w.closed {
		w.ends()
	}
	return true
}

// inherit moves l's queue to n, and the journals that hold the same records, which n removes
// once it has committed them.
func (w *Writer) inherit(n, l *live) {
	if len(l.queue) == 0 {
		return
	}
	for _, b := range l.queue {
		b.seq = n.committed // it comes before everything in n's journal
	}
	n.queue = append(l.queue, n.queue...)
	l.queue = nil
	for _, g := range append(l.old, generation{path: layout.JournalName(l.path, l.generation), base: l.base}) {
		// A journal that reaches back further is needed to repair l.
		if g.base >= l.committed {
			n.old = append(n.old, generation{path: g.path + layout.DamagedSuffix, seq: n.committed})
		}
	}
}

// tellGivenUp logs and records what became of l. Until l is repaired, what it holds is missing:
// from its beginning to the first data of the next archive.
func (w *Writer) tellGivenUp(l *live, now metric.Stamp, held bool) {
	aside := filepath.Base(l.path) + layout.DamagedSuffix
	w.log.Error("the archive was damaged while it was being written; it is set aside for replay repair, and a new one is begun",
		"archive", l.path, "as", l.path+layout.DamagedSuffix, "error", l.broken)
	end := now
	if held {
		for _, q := range w.cur.queue {
			if first, ok := q.begin(); ok && first.Cont < end.Cont {
				end = first
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

// setAsideOpen closes the files of l and sets them aside. A damaged database stays open: see
// use.
func (w *Writer) setAsideOpen(l *live) {
	left := leftover{path: l.path}
	for _, g := range l.old {
		left.journals = append(left.journals, g.path)
	}
	if l.generation > 0 {
		left.journals = append(left.journals, layout.JournalName(l.path, l.generation))
	}
	l.closeFiles()
	w.setAside(left)
	if err := w.dir.sync(); err != nil {
		w.log.Debug("the directory cannot be synced", "error", err)
	}
}

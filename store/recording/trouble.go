package recording

import (
	"errors"
	"fmt"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/layout"
)

// trouble describes what is wrong with the disk. It is reported when it begins and when it ends, not at
// each failure.
type trouble struct {
	// The last error of each; nil if it works.
	journal, commit, sync error
	missing               bool // the files are gone from the directory
	since                 metric.Stamp
	// What was not kept, since the last gap event.
	dropped     uint64
	droppedFrom metric.Stamp
	told        bool
}

func (t *trouble) any() error {
	switch {
	case t.missing:
		return errors.New("the archive's files are gone from the directory")
	case t.journal != nil:
		return t.journal
	case t.commit != nil:
		return t.commit
	}
	return t.sync
}

func (t *trouble) drop(at metric.Stamp) {
	if t.dropped == 0 {
		t.droppedFrom = at
	}
	t.dropped++
}

// begins reports trouble, once. The caller holds the mutex.
func (w *Writer) begins() {
	err := w.trouble.any()
	if err == nil || w.trouble.told {
		return
	}
	w.trouble.told = true
	w.dropSpares(w.cur) // the disk may be full
	w.trouble.since = w.opt.Now()
	w.log.Error("the archive cannot be written; recording goes on in memory", "dir", w.dir.path, "bound", w.opt.MemoryBound, "error", err)
}

// ends reports, once, that trouble is over and what it cost.
func (w *Writer) ends() {
	t := &w.trouble
	if !t.told || t.any() != nil {
		return
	}
	now := w.opt.Now()
	length := now.Cont - t.since.Cont
	dropped, from := t.dropped, t.droppedFrom
	since := t.since
	*t = trouble{}
	w.log.Info("the archive can be written again", "dir", w.dir.path, "after", time.Duration(length), "dropped", dropped)
	e := layout.GapEvent(now, since.Wall, length, "the archive could not be written; what was recorded meanwhile was kept in memory")
	e.Kind = metric.EventErrorEnd
	if dropped > 0 {
		e = layout.GapEvent(now, from.Wall, now.Cont-from.Cont, fmt.Sprintf("the archive could not be written and memory was full: %d records were not kept", dropped))
	}
	_ = w.event(&e)
}

func (w *Writer) journalFails(l *live, err error) {
	w.trouble.journal = fmt.Errorf("journal of %s: %w", l, err)
	w.begins()
}

func (w *Writer) journalWorks() {
	w.trouble.journal = nil
	w.work.wake() // a commit is more likely to work now, too
	w.ends()
}

func (w *Writer) commitEnded(err error) {
	w.trouble.commit = err
	w.begins()
	w.ends()
}

// syncEnded notes the outcome of a sync.
func (w *Writer) syncEnded(err error, present bool) {
	w.trouble.sync = err
	w.trouble.missing = !present
	w.begins()
	w.ends()
}

// full reports that nothing more may be kept in memory. If memory is full, full tries the disk
// itself, because nothing else would.
func (w *Writer) full() bool {
	if w.trouble.any() == nil || w.heldMemory() <= w.opt.MemoryBound {
		return false
	}
	if w.trouble.journal != nil && w.cur.flush() == nil {
		w.journalWorks()
	}
	return w.trouble.any() != nil
}

// heldMemory estimates how many bytes wait in memory for the disk.
func (w *Writer) heldMemory() int64 {
	l := w.cur
	_, n := l.jw.Held()
	for _, waiting := range [][]*batch{l.parts, l.queue} {
		for _, b := range waiting {
			n += b.Memory() + b.size()
		}
	}
	return n + l.rest.Memory()
}

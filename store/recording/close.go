package recording

import (
	"errors"
	"fmt"
	"time"

	"tachograph/store/disk"
	"tachograph/store/layout"
)

// patience is how many times as long as a barrier closing may take: it commits up to an hour of
// records and may wait for an archive that is being finished.
const patience = 500

// Close commits everything that has been accepted. The next Create in the same boot continues
// the archive.
//
// Close returns in time even if a file call hangs, see CloseWithin: a disk that does not answer
// must not keep the recorder from being stopped. The accepted records are then in the journal,
// and the next Create takes them over.
func (w *Writer) Close() error {
	within := w.CloseWithin()
	done := make(chan error, 1)
	go func() { done <- w.close() }()
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return fmt.Errorf("closing the archive took longer than %s and was given up: the disk does not answer; the next start takes over what stands in the journal", within)
	}
}

// CloseWithin returns how long Close may take: Options.CloseWithin or, on a disk that is known
// to be slow, patience times what a barrier usually takes.
func (w *Writer) CloseWithin() time.Duration {
	return max(w.opt.CloseWithin, patience*time.Duration(w.usual.Load()))
}

func (w *Writer) close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	w.closed = true
	l := w.cur
	w.collect(l, l.begun)
	rotated := w.rotated
	w.mu.Unlock()
	w.stopWorkers()
	w.mu.Lock()
	w.dropSpares(w.cur)
	w.mu.Unlock()
	// If the commit is refused or hangs, everything must be safe already.
	err := w.lastSync()
	e := w.end(l)
	if errors.Is(e, disk.ErrDamaged) && w.giveUp(l) {
		e = w.end(w.cur)
	}
	if e != nil || len(rotated) == 0 {
		err = e
	}
	for _, l := range rotated {
		l.committing.Lock() // the archive may be being finished
		w.closeFiles(l)
		l.committing.Unlock()
	}
	w.dir.release()
	return err
}

// lastSync makes everything safe, since the schedule has ended.
func (w *Writer) lastSync() error {
	w.mu.Lock()
	_ = w.cur.flush()
	_, risk := w.atRisk()
	w.mu.Unlock()
	if !risk {
		return nil
	}
	return w.fullSync()
}

// end commits the queue of l and closes l. The journal is removed if the archive holds all its
// records.
func (w *Writer) end(l *live) error {
	err := w.commit(l)
	if err == nil {
		err = w.endJournal(l)
	}
	w.mu.Lock()
	held := l.jw.Flush()
	if all := l.committed == l.jw.Seq() && err == nil; all {
		l.old = append(l.old, generation{path: layout.JournalName(l.path, l.generation), file: l.file, seq: l.committed})
		l.file = nil
		held = nil
	}
	w.mu.Unlock()
	w.dropGenerations(l)
	if err == nil {
		err = held
	}
	w.closeFiles(l)
	if e := w.dir.sync(); err == nil && e != nil {
		err = e
	}
	return err
}

// endJournal notes in the archive that it holds all records.
func (w *Writer) endJournal(l *live) error {
	l.committing.Lock()
	defer l.committing.Unlock()
	w.mu.Lock()
	seq, all := l.jw.Seq(), l.committed == l.jw.Seq()
	w.mu.Unlock()
	if l.ended || !all {
		return nil
	}
	if err := l.examine(); err != nil {
		return fmt.Errorf("closing %s: %w", l, err)
	}
	err := l.update(layout.Build(&l.tot, func(b *layout.Builder) { b.Progress(layout.Progress{Sealed: seq, Closed: true}) }))
	if err != nil {
		return fmt.Errorf("closing %s: %w", l, err)
	}
	l.ended = true
	return nil
}

package recording

import (
	"errors"
	"io/fs"

	"tachograph/store/layout"
)

// present reports whether l's files still have their names. A generation that is committed and
// removed during the check does not count as missing.
func (w *Writer) present(l *live) bool {
	for {
		w.mu.Lock()
		generation, current := l.generation, l == w.cur
		w.mu.Unlock()
		missing := false
		for _, name := range []string{l.path, layout.JournalName(l.path, generation)} {
			_, err := w.dir.fs.Lstat(name)
			missing = missing || errors.Is(err, fs.ErrNotExist)
		}
		if !missing || !current {
			return true
		}
		w.mu.Lock()
		moved := l.generation != generation || l != w.cur
		w.mu.Unlock()
		if !moved {
			return false
		}
	}
}

// startAfresh begins a new archive after the files of l have been taken away, and moves what l
// still has in memory to it.
func (w *Writer) startAfresh(l *live) {
	l.committing.Lock()
	defer l.committing.Unlock()
	if w.replace(l) {
		w.closeFiles(l)
	}
}

func (w *Writer) replace(l *live) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if l != w.cur || w.closed {
		return false
	}
	n, err := w.replacement(l)
	if err != nil {
		w.log.Debug("no new archive yet", "error", err)
		return false
	}
	w.collect(l, l.begun)
	n.queue, l.queue = l.queue, nil
	w.recordInto(n)
	w.trouble.missing, w.trouble.journal = false, nil
	w.work.wake()
	w.ends()
	return true
}

// replacement makes an archive that goes on where l stops.
func (w *Writer) replacement(l *live) (*live, error) {
	if err := w.dir.ensure(); err != nil {
		return nil, err
	}
	if _, err := w.dir.fs.Lstat(w.dir.file(layout.LockName)); errors.Is(err, fs.ErrNotExist) {
		old := w.dir.lock
		if err := w.dir.acquire(); err != nil {
			return nil, err
		}
		_ = old.Unlock()
	}
	return w.newLive(w.basis(l.jw.Seq()))
}

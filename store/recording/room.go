package recording

import (
	"os"
	"path/filepath"

	"tachograph/store/disk"
	"tachograph/store/journal"
	"tachograph/store/layout"
)

// When a file that has become longer is synced, the file system must record the new length: four
// or five blocks for a few hundred bytes. A journal is synced each second, so it is written over
// what its file holds already: zeros, or an earlier generation. The mark behind its last record
// shows where it ends.

// roomStep is how many zeros are put into a file at a time.
const roomStep = 64 << 10

// maxSpares and maxSpareSize limit the number and the size of the files that are kept to be
// written over.
const (
	maxSpares    = 16
	maxSpareSize = 1 << 20
)

// emptyJournal makes a file for a generation of l under the temporary name tmp: from a spare
// file, which has room, if there is one. The caller holds the Writer's mutex, or no other
// goroutine uses l yet.
func (w *Writer) emptyJournal(l *live, tmp string) (f disk.File, room int64, err error) {
	if err := w.dir.remove(tmp); err != nil {
		return nil, 0, err
	}
	if n := len(l.spares); n > 0 {
		spare := l.spares[n-1]
		l.spares = l.spares[:n-1]
		if f, err := w.dir.fs.OpenFile(spare, os.O_RDWR, 0); err == nil {
			room, err := f.Size()
			if err == nil {
				err = w.dir.fs.Rename(spare, tmp)
			}
			if err == nil {
				return f, room, nil
			}
			f.Close()
		}
		_ = w.dir.remove(spare)
	}
	f, err = w.dir.fs.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
	if err == nil {
		if err = w.dir.own(tmp, fileMode); err != nil {
			f.Close()
			_ = w.dir.fs.Remove(tmp)
		}
	}
	return f, 0, err
}

// makeRoom puts zeros behind what is written, if there is not much room left. If the disk is
// full, there is no room: then the file becomes longer with each record. The caller holds the
// Writer's mutex.
func (l *live) makeRoom() {
	end := l.jw.Size()
	if l.room < 0 || l.room > end+roomStep/4 {
		return
	}
	from := max(l.room, end+journal.MarkSize)
	n, err := l.file.WriteAt(make([]byte, roomStep), from)
	l.room = from + int64(n)
	if err != nil {
		_ = l.file.Truncate(max(from, end+journal.MarkSize))
		l.room = -1
	}
}

// keepSpare keeps the file of a generation whose records are all in the archive, to be written
// over by a later generation of the same archive, and reports whether it did.
func (w *Writer) keepSpare(l *live, g generation) bool {
	st, err := w.dir.fs.Lstat(g.path)
	if err != nil || st.Size() < roomStep || st.Size() > maxSpareSize {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, n, ok := layout.ParseJournalName(filepath.Base(g.path))
	spare := w.dir.file(layout.SpareName(n))
	if !ok || l != w.cur || w.closed || w.trouble.any() != nil || len(l.spares) >= maxSpares || w.dir.fs.Rename(g.path, spare) != nil {
		return false
	}
	l.spares = append(l.spares, spare)
	return true
}

// dropSpares removes the spare files of l. The caller holds the Writer's mutex.
func (w *Writer) dropSpares(l *live) {
	for _, path := range l.spares {
		if err := w.dir.remove(path); err != nil {
			w.log.Debug("a spare file cannot be removed", "path", path, "error", err)
		}
	}
	l.spares = nil
}

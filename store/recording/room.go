package recording

import (
	"os"
	"path/filepath"

	"tachograph/store/disk"
	"tachograph/store/journal"
	"tachograph/store/layout"
)

// A sync of a file that has become longer makes the file system write down that it
// has, four or five blocks for a few hundred bytes. A journal is synced each second,
// so it is written over what its file holds already: zeros, or what an earlier
// generation held. The mark behind its last record says where it ends.

// roomStep is how many zeros are put into a file at a time.
const roomStep = 64 << 10

// maxSpares bounds the files that are kept to be written over, and how long each
// may be.
const (
	maxSpares    = 16
	maxSpareSize = 1 << 20
)

// emptyJournal makes a file for a generation of l under the name tmp, which nobody
// reads yet: of a spare one, if there is one, which has room. The caller holds the
// Writer's mutex, or is alone.
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

// makeRoom puts zeros behind what is written, if there is not much room left. A disk
// that is full has none: then the file becomes longer with each record. The caller
// holds the Writer's mutex.
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

// keepSpare keeps the file of a generation that the archive holds, to be written
// over by one of the same archive, and reports whether it did.
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

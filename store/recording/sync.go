package recording

import (
	"slices"
	"time"

	"tachograph/store/disk"
)

// unsynced is what a sync must cover: the journal of the archive being written, and the journals
// of archives that were rotated away and do not yet hold all records of theirs.
type unsynced struct {
	journals []unsyncedJournal
	began    time.Duration
}

type unsyncedJournal struct {
	l     *live
	files []disk.File
	names bool // the directory must be synced, too
	seq   uint64
}

// files returns how many files a sync covers.
func (u *unsynced) files() (n int64) {
	for i := range u.journals {
		n += int64(len(u.journals[i].files))
	}
	return n
}

// unsynced lists what has been written and not been made safe, and marks it as safe. The caller
// holds w.syncing, so that no file is closed.
func (w *Writer) unsynced(all bool) unsynced {
	w.mu.Lock()
	defer w.mu.Unlock()
	u := unsynced{began: w.awake()}
	for _, l := range w.rotated {
		if l.committed < l.jw.Seq() {
			_ = l.flush()
			u.journals = append(u.journals, l.unsynced(all && l.safe < l.jw.Seq(), all))
		}
	}
	u.journals = append(u.journals, w.cur.unsynced(all, all))
	return u
}

// unsynced lists the journal files of l that need a sync; if always is set, the present one is
// among them in any case. all is set for a full sync.
func (l *live) unsynced(always, all bool) unsyncedJournal {
	j := unsyncedJournal{l: l, names: l.unnamed, seq: l.jw.Seq()}
	for i := range l.old {
		if g := &l.old[i]; g.file != nil && (g.dirty || all && !g.safe) {
			j.files = append(j.files, g.file)
			g.dirty, g.safe = false, all
		}
	}
	if l.file != nil && (l.dirty || always) {
		j.files = append(j.files, l.file)
		l.dirty = false
	}
	if len(j.files) > 0 {
		l.unnamed = false
	}
	return j
}

// failed marks the files as unsafe again after a failed sync.
func (u *unsynced) failed() {
	for _, j := range u.journals {
		if len(j.files) == 0 {
			continue
		}
		j.l.dirty = true
		j.l.unnamed = j.l.unnamed || j.names
		for i := range j.l.old {
			j.l.old[i].dirty, j.l.old[i].safe = true, false
		}
	}
}

// each syncs the directory, so that the files keep their names, and then every file by the given
// method.
func (w *Writer) each(u *unsynced, sync func(disk.File) error) error {
	for _, j := range u.journals {
		if j.names && len(j.files) > 0 {
			if err := w.dir.sync(); err != nil {
				return err
			}
			break
		}
	}
	for _, j := range u.journals {
		for _, f := range j.files {
			if err := sync(f); err != nil {
				return err
			}
		}
	}
	return nil
}

// sync makes the records in the journals safe from a crash of the kernel.
func (w *Writer) sync() {
	w.syncing.Lock()
	u := w.unsynced(false)
	err := w.each(&u, disk.File.Barrier)
	w.syncing.Unlock()
	cur := u.journals[len(u.journals)-1].l
	present := w.present(cur)
	w.mu.Lock()
	w.total.barriers += u.files()
	if err != nil {
		u.failed()
		w.work.dirty() // retry even if nothing else is written
	} else {
		w.syncedAt = u.began
		w.usual.Add((int64(w.awake()-u.began) - w.usual.Load()) / 8)
		for _, j := range u.journals {
			j.l.kept = max(j.l.kept, j.seq)
		}
	}
	w.syncEnded(err, present)
	w.mu.Unlock()
	if !present {
		w.startAfresh(cur)
	}
}

// fullSync makes the records in the journals safe from a power cut.
func (w *Writer) fullSync() error {
	w.syncing.Lock()
	u := w.unsynced(true)
	err := w.each(&u, disk.File.Sync)
	w.syncing.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		u.failed()
		return err
	}
	w.total.syncs += u.files()
	w.syncedAt, w.safeAt, w.cur.unsafe = u.began, u.began, false
	for _, j := range u.journals {
		j.l.kept, j.l.safe = max(j.l.kept, j.seq), max(j.l.safe, j.seq)
	}
	return nil
}

// atRisk reports whether a crash of the kernel, or a power cut, would lose accepted records. The
// caller holds the mutex.
func (w *Writer) atRisk() (crash, cut bool) {
	for _, l := range append(w.rotated[:len(w.rotated):len(w.rotated)], w.cur) {
		crash = crash || l.jw.Seq() > l.kept
		cut = cut || l.jw.Seq() > l.safe
	}
	return crash, cut
}

// rotatedAtRisk reports whether a power cut would lose records of an archive that was rotated
// away. The caller holds the mutex.
func (w *Writer) rotatedAtRisk() bool {
	return slices.ContainsFunc(w.rotated, func(l *live) bool { return l.jw.Seq() > l.safe })
}

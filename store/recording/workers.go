package recording

import (
	"errors"
	"slices"
	"sync"
	"time"

	"tachograph/store/disk"
)

// workers are the goroutines that wait for the disk so that Append need not.
type workers struct {
	group    sync.WaitGroup
	stop     chan struct{}
	seal     chan struct{} // something is queued
	touched  chan struct{} // the journal was written to
	interval chan time.Duration
}

func (w *Writer) startWorkers() {
	w.work.stop = make(chan struct{})
	w.work.seal = make(chan struct{}, 1)
	w.work.touched = make(chan struct{}, 1)
	w.work.interval = make(chan time.Duration, 1)
	w.work.group.Add(2)
	go w.sealer()
	go w.syncer(w.conf.Sync)
}

func (w *Writer) stopWorkers() {
	close(w.work.stop)
	w.work.group.Wait()
}

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (k *workers) wake()  { nudge(k.seal) }
func (k *workers) dirty() { nudge(k.touched) }

// syncEvery changes the interval of the syncer.
func (k *workers) syncEvery(d time.Duration) {
	select {
	case <-k.interval:
	default:
	}
	select {
	case k.interval <- d:
	default:
	}
}

// How long to wait before trying again what the disk refused.
const (
	retryFirst = time.Second
	retryMost  = time.Minute
)

// sealer seals what is queued, and tries again what failed.
func (w *Writer) sealer() {
	defer w.work.group.Done()
	wait := retryFirst
	for {
		select {
		case <-w.work.stop:
			return
		case <-w.work.seal:
		}
		w.mu.Lock()
		l := w.cur
		queued := len(l.queue) > 0
		w.mu.Unlock()
		var err error
		if queued {
			err = w.seal(l)
		}
		if errors.Is(err, disk.ErrDamaged) && w.giveUp(l) {
			err = nil
		}
		w.mu.Lock()
		rest := !queued || w.turnedAtRisk()
		w.mu.Unlock()
		if err == nil && rest {
			err = w.fullSync()
		}
		w.mu.Lock()
		w.sealEnded(err)
		w.mu.Unlock()
		if err == nil {
			wait = retryFirst
			continue
		}
		time.AfterFunc(wait, w.work.wake)
		wait = min(2*wait, retryMost)
	}
}

// turnedAtRisk reports whether a power cut would cost something of an archive
// that was turned away from. The caller holds the mutex.
func (w *Writer) turnedAtRisk() bool {
	return slices.ContainsFunc(w.turned, func(l *live) bool { return l.jw.Seq() > max(l.safe, l.sealed) })
}

// syncDelay is how long after a write the syncer waits for others that belong
// to the same instant: their writes must not meet the sync.
const syncDelay = 20 * time.Millisecond

// syncer makes the journal safe from a crash of the kernel once per interval
// in which it was written to, and looks whether the files are still there.
func (w *Writer) syncer(every time.Duration) {
	defer w.work.group.Done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	last := w.awake()
	for {
		select {
		case <-w.work.stop:
			return
		case every = <-w.work.interval:
			continue
		case <-w.work.touched:
		}
		timer.Reset(max(syncDelay, min(every, every-(w.awake()-last))))
		select {
		case <-w.work.stop:
			return
		case <-timer.C:
		}
		last = w.awake()
		w.sync()
	}
}

// unsynced is what a sync must cover: the journal of the archive being written,
// and those of archives that were turned away from and do not hold all of
// theirs yet.
type unsynced struct {
	journals []unsyncedJournal
	began    time.Duration
}

type unsyncedJournal struct {
	l     *live
	files []disk.File
	names bool // the directory too
	seq   uint64
}

// files is how many files a sync covers.
func (u *unsynced) files() (n int64) {
	for i := range u.journals {
		n += int64(len(u.journals[i].files))
	}
	return n
}

// collect lists what has been written and not been made safe, and takes it to
// be so from now on. The caller holds w.syncing, so that no file is closed.
func (w *Writer) collect(all bool) unsynced {
	w.mu.Lock()
	defer w.mu.Unlock()
	u := unsynced{began: w.awake()}
	for _, l := range w.turned {
		if l.sealed < l.jw.Seq() {
			if _, held := l.jw.Held(); held > 0 && l.jw.Flush() == nil {
				l.dirty = true
			}
			u.journals = append(u.journals, l.collect(all && l.safe < l.jw.Seq(), all))
		}
	}
	u.journals = append(u.journals, w.cur.collect(all, all))
	return u
}

// collect lists the journal files of l that need a sync, the present one in any
// case if always is set. all is set for a full sync.
func (l *live) collect(always, all bool) unsyncedJournal {
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

// failed takes back what collect did.
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

// each syncs the directory, so that the files keep their names, and then every
// file by the given method.
func (w *Writer) each(u *unsynced, sync func(disk.File) error) error {
	for _, j := range u.journals {
		if j.names && len(j.files) > 0 {
			if err := w.dir.fs.SyncDir(w.dir.path); err != nil {
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

// sync makes what the journals hold safe from a crash of the kernel.
func (w *Writer) sync() {
	w.syncing.Lock()
	u := w.collect(false)
	err := w.each(&u, disk.File.Barrier)
	w.syncing.Unlock()
	cur := u.journals[len(u.journals)-1].l
	present := w.present(cur)
	w.mu.Lock()
	w.total.barriers += u.files()
	if err != nil {
		u.failed()
		w.work.dirty() // what nothing follows must be tried again, too
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

// fullSync makes what the journals hold safe from a power cut.
func (w *Writer) fullSync() error {
	w.syncing.Lock()
	u := w.collect(true)
	err := w.each(&u, disk.File.Sync)
	w.syncing.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		u.failed()
		return err
	}
	w.total.syncs += u.files()
	w.syncedAt, w.safeAt = u.began, u.began
	for _, j := range u.journals {
		j.l.kept, j.l.safe = max(j.l.kept, j.seq), max(j.l.safe, j.seq)
	}
	return nil
}

// atRisk reports whether a crash of the kernel, or a power cut, would cost
// something that was accepted. The caller holds the mutex.
func (w *Writer) atRisk() (crash, cut bool) {
	for _, l := range append(w.turned[:len(w.turned):len(w.turned)], w.cur) {
		crash = crash || l.jw.Seq() > max(l.kept, l.sealed)
		cut = cut || l.jw.Seq() > max(l.safe, l.sealed)
	}
	return crash, cut
}

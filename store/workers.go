package store

import (
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
		} else {
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

// syncDelay is how long after a write the syncer waits for others that belong
// to the same instant: their writes must not meet the sync.
const syncDelay = 20 * time.Millisecond

// syncer makes the journal safe from a crash of the kernel once per interval
// in which it was written to, and looks whether the files are still there.
func (w *Writer) syncer(every time.Duration) {
	defer w.work.group.Done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	last := time.Now()
	for {
		select {
		case <-w.work.stop:
			return
		case every = <-w.work.interval:
			continue
		case <-w.work.touched:
		}
		timer.Reset(max(syncDelay, min(every, every-time.Since(last))))
		select {
		case <-w.work.stop:
			return
		case <-timer.C:
		}
		last = time.Now()
		w.sync()
	}
}

// unsynced is what a sync must cover.
type unsynced struct {
	l     *live
	files []disk.File
	names bool // the directory too
	seq   uint64
	began time.Time
}

// collect lists what has been written and not been made safe, and takes it to
// be so from now on. The caller holds w.syncing, so that no file is closed.
func (w *Writer) collect(all bool) unsynced {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.cur
	u := unsynced{l: l, names: l.unnamed, seq: l.jw.Seq(), began: time.Now()}
	for i := range l.old {
		if g := &l.old[i]; g.file != nil && (g.dirty || all && !g.safe) {
			u.files = append(u.files, g.file)
			g.dirty, g.safe = false, all
		}
	}
	if l.file != nil && (l.dirty || all) {
		u.files = append(u.files, l.file)
		l.dirty = false
	}
	if len(u.files) > 0 {
		l.unnamed = false
	}
	return u
}

// failed takes back what collect did.
func (u *unsynced) failed() {
	u.l.dirty = true
	u.l.unnamed = u.l.unnamed || u.names
	for i := range u.l.old {
		u.l.old[i].dirty, u.l.old[i].safe = true, false
	}
}

// each syncs the directory, so that the files keep their names, and then every
// file by the given method.
func (w *Writer) each(u *unsynced, sync func(disk.File) error) error {
	if u.names && len(u.files) > 0 {
		if err := w.dir.fs.SyncDir(w.dir.path); err != nil {
			return err
		}
	}
	for _, f := range u.files {
		if err := sync(f); err != nil {
			return err
		}
	}
	return nil
}

// sync makes what the journal holds safe from a crash of the kernel.
func (w *Writer) sync() {
	w.syncing.Lock()
	u := w.collect(false)
	err := w.each(&u, disk.File.Barrier)
	w.syncing.Unlock()
	present := w.present(u.l)
	w.mu.Lock()
	w.total.barriers += int64(len(u.files))
	if err != nil {
		u.failed()
	} else {
		w.syncedAt = u.began
		u.l.kept = max(u.l.kept, u.seq)
	}
	w.syncEnded(err, present)
	w.mu.Unlock()
	if !present {
		w.startAfresh(u.l)
	}
}

// fullSync makes what the journal holds safe from a power cut.
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
	w.total.syncs += int64(len(u.files))
	w.syncedAt, w.safeAt = u.began, u.began
	u.l.kept, u.l.safe = max(u.l.kept, u.seq), max(u.l.safe, u.seq)
	return nil
}

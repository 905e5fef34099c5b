package store

import (
	"sync"
	"time"
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
		w.mu.Unlock()
		err := w.seal(l)
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

// sync makes what the journal holds safe from a crash of the kernel.
func (w *Writer) sync() {
	w.mu.Lock()
	l := w.cur
	file, names := l.file, l.unnamed
	dirty := l.dirty
	l.dirty, l.unnamed = false, false
	w.mu.Unlock()
	if !dirty {
		return
	}
	began := time.Now()
	w.syncing.Lock()
	err := file.Barrier()
	w.syncing.Unlock()
	if err == nil && names {
		err = w.dir.fs.SyncDir(w.dir.path)
	}
	present := w.present(l)
	w.mu.Lock()
	w.total.barriers++
	if err != nil {
		l.dirty, l.unnamed = true, l.unnamed || names
	} else {
		w.syncedAt = began
	}
	w.syncEnded(err, present)
	w.mu.Unlock()
	if !present {
		w.startAfresh(l)
	}
}

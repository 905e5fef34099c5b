package recording

import (
	"errors"
	"sync"
	"time"

	"tachograph/store/disk"
)

// workers are the goroutines that wait for the disk so that Append need not.
type workers struct {
	group    sync.WaitGroup
	stop     chan struct{}
	queued   chan struct{} // a batch is queued
	touched  chan struct{} // the journal was written to
	interval chan time.Duration
}

func (w *Writer) startWorkers() {
	w.work.stop = make(chan struct{})
	w.work.queued = make(chan struct{}, 1)
	w.work.touched = make(chan struct{}, 1)
	w.work.interval = make(chan time.Duration, 1)
	w.work.group.Add(2)
	go w.committer()
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

func (k *workers) wake() { nudge(k.queued) }

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

// How long to wait before retrying after the disk refused.
const (
	retryFirst = time.Second
	retryMost  = time.Minute
)

// committer commits the queue, and retries after failures.
func (w *Writer) committer() {
	defer w.work.group.Done()
	wait := retryFirst
	for {
		select {
		case <-w.work.stop:
			return
		case <-w.work.queued:
		}
		w.mu.Lock()
		l := w.cur
		queued, parts := len(l.queue) > 0, len(l.parts) > 0
		w.mu.Unlock()
		var err error
		if queued {
			err = w.commit(l)
		} else if parts {
			w.copyParts(l)
		}
		if errors.Is(err, disk.ErrDamaged) && w.giveUp(l) {
			err = nil
		}
		w.mu.Lock()
		rest := l.unsafe || !queued && !parts || w.rotatedAtRisk()
		w.mu.Unlock()
		if err == nil && rest {
			err = w.fullSync()
		}
		w.mu.Lock()
		w.commitEnded(err)
		w.mu.Unlock()
		if err == nil {
			wait = retryFirst
			continue
		}
		time.AfterFunc(wait, w.work.wake)
		wait = min(2*wait, retryMost)
	}
}

// syncDelay is how long after a write the syncer waits for other writes of the same instant, so
// that they do not meet the sync.
const syncDelay = 20 * time.Millisecond

// syncer makes the journal safe from a crash of the kernel once per interval in which it was
// written to, and checks that the files are still there.
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

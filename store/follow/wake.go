package follow

import (
	"context"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tachograph/store/disk"
)

// A waker lets a Follower sleep until something is written. The kernel reports changes in the
// directories, where files come and go, and writes to the one file that is being added to;
// nothing else wakes it. Where the kernel cannot report, because there is no directory yet or
// the file system is another machine's, the waker looks each second.
type waker struct {
	news    chan struct{} // there is news
	over    chan struct{} // the waker is closed
	moved   atomic.Bool   // a directory changed since dirty was called
	written atomic.Bool   // the file was written to since wrote was called
	broken  atomic.Bool   // a directory is not where it was

	mu   sync.Mutex // guards what follows: Close comes while another goroutine waits
	src  notifier   // nil before it is needed, or where there is none
	none bool       // the system has none
	dirs []watchedDir
	file disk.File
	deaf bool // the kernel does not report writes to the file
}

// A notifier asks the kernel for changes and passes them to a waker, from a goroutine of its
// own.
type notifier interface {
	// addDir watches a directory, until it is removed or renamed.
	addDir(path string) error
	// setFile watches the writes to f, which may be nil, and to no other file.
	setFile(f disk.File) error
	close()
}

// A watchedDir is a directory, and its state when it was last watched or looked at.
type watchedDir struct {
	path string
	told bool // the kernel reports all its changes
	seen fs.FileInfo
}

const (
	// pollEvery is how often wait looks where the kernel does not report.
	pollEvery = time.Second
	// netEvery is how long wait goes without a report before it looks all the same.
	netEvery = 30 * time.Second
)

func newWaker() *waker {
	return &waker{news: make(chan struct{}, 1), over: make(chan struct{})}
}

// tell is called by a notifier when a directory changed, or when the file was written to.
func (w *waker) tell(dir bool) {
	if dir {
		w.moved.Store(true)
	} else {
		w.written.Store(true)
	}
	select {
	case w.news <- struct{}{}:
	default:
	}
}

func (w *waker) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isClosed() {
		return
	}
	close(w.over)
	if w.src != nil {
		w.src.close()
	}
}

func (w *waker) isClosed() bool {
	select {
	case <-w.over:
		return true
	default:
		return false
	}
}

// wrote reports whether the file may have been written to since the last call.
func (w *waker) wrote() bool { return w.written.Swap(false) }

// dirty reports whether a directory may have changed since the last call.
func (w *waker) dirty() bool { return w.moved.Swap(false) }

// watchDirs watches these directories, and watches those again that were replaced.
func (w *waker) watchDirs(paths []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.src == nil && !w.none && !w.isClosed() {
		src, err := newNotifier(w)
		if w.src = src; err != nil {
			w.src, w.none = nil, true
		}
	}
	again := w.broken.Swap(false)
	before := w.dirs
	w.dirs = make([]watchedDir, 0, len(paths))
	for _, p := range paths {
		d := watchedDir{path: p}
		d.seen, _ = os.Stat(p)
		i := slices.IndexFunc(before, func(o watchedDir) bool {
			return o.path == p && o.seen != nil && d.seen != nil && os.SameFile(o.seen, d.seen)
		})
		switch {
		case i >= 0 && !again && before[i].told:
			d.told = true
		case d.seen != nil && w.src != nil:
			d.told = w.src.addDir(p) == nil && local(p)
		}
		w.dirs = append(w.dirs, d)
	}
}

// watchFile watches the file that is being added to.
func (w *waker) watchFile(f disk.File) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == f {
		return
	}
	w.file, w.deaf = f, false
	if w.src != nil && !w.isClosed() {
		w.deaf = w.src.setFile(f) != nil
	}
	if f != nil {
		w.tell(false) // for what was written before it was watched
	}
}

// wait waits until something has been written or may have been, at the latest until due unless
// due is zero.
func (w *waker) wait(ctx context.Context, due time.Time) error {
	every := w.every()
	if !due.IsZero() {
		every = min(every, max(0, time.Until(due)))
	}
	t := time.NewTimer(every)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-w.over:
		return ErrClosed
	case <-w.news:
	case <-t.C:
		w.written.Store(true)
		w.poll()
	}
	return nil
}

// every returns how long wait goes without a report.
func (w *waker) every() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.deaf || slices.ContainsFunc(w.dirs, func(d watchedDir) bool { return !d.told }) || len(w.dirs) == 0 {
		return pollEvery
	}
	return netEvery
}

// poll checks whether a directory was replaced or has changed.
func (w *waker) poll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.dirs {
		d := &w.dirs[i]
		now, err := os.Stat(d.path)
		switch {
		case err != nil:
			if d.seen != nil {
				d.seen, d.told = nil, false
				w.moved.Store(true)
			}
		case d.seen == nil || !os.SameFile(now, d.seen) || !now.ModTime().Equal(d.seen.ModTime()):
			if d.seen == nil || !os.SameFile(now, d.seen) {
				d.told = false
			}
			w.moved.Store(true)
			d.seen = now
		}
	}
}

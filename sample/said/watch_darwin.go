package said

import (
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"tachograph/sample/metric"
	"tachograph/sample/report"
)

// watch waits in a kqueue for changes of folders. Once a minute it looks for those that do not
// exist yet: a user logs in for the first time, a program of theirs crashes for the first time.
type watch struct {
	kq      int
	places  func() []report.Place
	known   []report.Place
	folders []watched
	next    int64 // when to look for folders again, on the clock that stands still during sleep
	buf     [16]unix.Kevent_t
}

type watched struct {
	path string
	fd   int // -1 if it is not open
}

// eventOnly opens a folder without keeping its volume busy (O_EVTONLY).
const eventOnly = 0x8000

const folderChanges = unix.NOTE_WRITE | unix.NOTE_EXTEND | folderGoes

// folderGoes: the folder is not the one at its path any more, or its volume is gone.
const folderGoes = unix.NOTE_DELETE | unix.NOTE_RENAME | unix.NOTE_REVOKE

const lookForFolders = time.Minute

func newWatch(places func() []report.Place) *watch {
	w := &watch{kq: -1, places: places}
	if kq, err := unix.Kqueue(); err == nil {
		unix.CloseOnExec(kq)
		w.kq = kq
	}
	return w
}

// changed returns the places where reports come, and whether one of their folders has changed or
// come since it was last called. Without a kqueue it must be assumed.
func (w *watch) changed(now metric.Stamp) ([]report.Place, bool) {
	if w.kq < 0 {
		return w.places(), true
	}
	changed := false
	var at unix.Timespec // no waiting
	for {
		n, err := unix.Kevent(w.kq, nil, w.buf[:], &at)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			break
		}
		changed = true
		for _, e := range w.buf[:n] {
			if e.Fflags&folderGoes != 0 {
				w.release(int(e.Ident))
			}
		}
	}
	if now.Awake >= w.next || changed {
		w.next = now.Awake + int64(lookForFolders)
		changed = w.lookForFolders() || changed
	}
	return w.known, changed
}

// lookForFolders begins to watch the folders that have come, and reports whether there are any.
func (w *watch) lookForFolders() (come bool) {
	w.known = w.places()
	before := w.folders
	w.folders = nil
	for _, p := range w.known {
		for _, sub := range report.Subfolders {
			f := watched{filepath.Join(p.Base, p.Below, sub), -1}
			if i := slices.IndexFunc(before, func(b watched) bool { return b.path == f.path }); i >= 0 {
				f.fd, before[i].fd = before[i].fd, -1
			}
			if f.fd < 0 && w.follow(&f) {
				come = true
			}
			w.folders = append(w.folders, f)
		}
	}
	closeAll(before)
	return come
}

// follow begins to watch a folder, and reports whether it exists.
func (w *watch) follow(f *watched) bool {
	fd, err := unix.Open(f.path, eventOnly|unix.O_CLOEXEC|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	var e [1]unix.Kevent_t
	unix.SetKevent(&e[0], fd, unix.EVFILT_VNODE, unix.EV_ADD|unix.EV_CLEAR)
	e[0].Fflags = folderChanges
	if _, err := unix.Kevent(w.kq, e[:], nil, nil); err != nil {
		unix.Close(fd)
		return false
	}
	f.fd = fd
	return true
}

func (w *watch) release(fd int) {
	for i := range w.folders {
		if w.folders[i].fd == fd {
			unix.Close(fd)
			w.folders[i].fd = -1
		}
	}
}

func closeAll(folders []watched) {
	for _, f := range folders {
		if f.fd >= 0 {
			unix.Close(f.fd)
		}
	}
}

func (w *watch) close() {
	closeAll(w.folders)
	if w.kq >= 0 {
		unix.Close(w.kq)
	}
}

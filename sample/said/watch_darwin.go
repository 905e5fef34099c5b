package said

import (
	"path/filepath"

	"golang.org/x/sys/unix"

	"tachograph/sample/report"
)

// watch waits in a kqueue for changes of folders. A folder that does not exist yet, or whose
// volume went away, is looked for again at every question.
type watch struct {
	kq      int
	folders []watched
	buf     [16]unix.Kevent_t
}

type watched struct {
	path string
	fd   int // -1 if it is not open
}

// eventOnly opens a folder without keeping its volume busy (O_EVTONLY).
const eventOnly = 0x8000

const folderChanges = unix.NOTE_WRITE | unix.NOTE_EXTEND | unix.NOTE_DELETE | unix.NOTE_RENAME | unix.NOTE_REVOKE

func newWatch(places []report.Place) *watch {
	w := &watch{kq: -1}
	for _, p := range places {
		for _, sub := range []string{"", "Retired", "ProxiedDevice-Bridge"} {
			w.folders = append(w.folders, watched{filepath.Join(p.Base, p.Below, sub), -1})
		}
	}
	if kq, err := unix.Kqueue(); err == nil {
		unix.CloseOnExec(kq)
		w.kq = kq
	}
	return w
}

// changed reports whether a folder has changed or come since it was last called. Without a kqueue
// it must be assumed.
func (w *watch) changed() bool {
	if w.kq < 0 {
		return true
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
			if e.Fflags&(unix.NOTE_DELETE|unix.NOTE_RENAME|unix.NOTE_REVOKE) != 0 {
				w.release(int(e.Ident))
			}
		}
	}
	for i := range w.folders {
		if f := &w.folders[i]; f.fd < 0 && w.follow(f) {
			changed = true
		}
	}
	return changed
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

func (w *watch) close() {
	for i := range w.folders {
		if fd := w.folders[i].fd; fd >= 0 {
			unix.Close(fd)
		}
	}
	if w.kq >= 0 {
		unix.Close(w.kq)
	}
}

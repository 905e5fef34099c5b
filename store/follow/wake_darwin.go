package follow

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"

	"tachograph/store/disk"
)

// kqueue watches by the macOS facility of that name. It reports that a directory changed but
// not what, and it takes a descriptor for each watched thing.
type kqueue struct {
	w    *waker
	kq   int
	mu   sync.Mutex
	dirs map[int]string // by descriptor
	file int            // the file's own descriptor, or -1
	gone bool           // the notifier is closed
}

const closing = 1 // the ident of the event that ends run

func newNotifier(w *waker) (notifier, error) {
	kq, err := unix.Kqueue()
	if err != nil {
		return nil, err
	}
	unix.CloseOnExec(kq)
	n := &kqueue{w: w, kq: kq, dirs: make(map[int]string), file: -1}
	if err := n.change(closing, unix.EVFILT_USER, unix.EV_ADD|unix.EV_CLEAR, 0); err != nil {
		_ = unix.Close(kq)
		return nil, err
	}
	go n.run()
	return n, nil
}

// change adds, changes or removes one event that the kernel reports.
func (n *kqueue) change(ident, filter, flags int, notes uint32) error {
	var ev [1]unix.Kevent_t
	unix.SetKevent(&ev[0], ident, filter, flags)
	ev[0].Fflags = notes
	for {
		_, err := unix.Kevent(n.kq, ev[:], nil, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func (n *kqueue) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.gone {
		n.gone = true
		_ = n.change(closing, unix.EVFILT_USER, 0, unix.NOTE_TRIGGER)
	}
}

func (n *kqueue) addDir(path string) error {
	fd, err := unix.Open(path, unix.O_EVTONLY|unix.O_CLOEXEC|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.gone {
		err = ErrClosed
	} else {
		err = n.change(fd, unix.EVFILT_VNODE, unix.EV_ADD|unix.EV_CLEAR, unix.NOTE_WRITE|unix.NOTE_DELETE|unix.NOTE_RENAME|unix.NOTE_REVOKE)
	}
	if err != nil {
		_ = unix.Close(fd)
		return err
	}
	for old, p := range n.dirs {
		if p == path { // the path is another directory by now
			_ = unix.Close(old)
			delete(n.dirs, old)
		}
	}
	n.dirs[fd] = path
	return nil
}

func (n *kqueue) setFile(f disk.File) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.gone {
		return ErrClosed
	}
	if n.file >= 0 {
		// The file may be closed already, and its watch with it.
		_ = n.change(n.file, unix.EVFILT_VNODE, unix.EV_DELETE, 0)
	}
	n.file = -1
	d, ok := f.(interface{ Fd() uintptr })
	if !ok {
		return nil
	}
	err := n.change(int(d.Fd()), unix.EVFILT_VNODE, unix.EV_ADD|unix.EV_CLEAR, unix.NOTE_WRITE|unix.NOTE_EXTEND)
	if err == nil {
		n.file = int(d.Fd())
	}
	return err
}

// run passes the kernel's reports to the waker, and closes everything at the end.
func (n *kqueue) run() {
	events := make([]unix.Kevent_t, 16)
	for {
		k, err := unix.Kevent(n.kq, nil, events, nil)
		if err != nil && !errors.Is(err, unix.EINTR) {
			n.w.broken.Store(true) // the waker then looks each second
			n.w.tell(true)
			return
		}
		n.mu.Lock()
		gone := n.gone
		for i := range max(k, 0) {
			ev := &events[i]
			_, dir := n.dirs[int(ev.Ident)]
			switch {
			case ev.Filter != unix.EVFILT_VNODE:
			case dir && ev.Fflags&(unix.NOTE_DELETE|unix.NOTE_RENAME|unix.NOTE_REVOKE) != 0:
				n.w.broken.Store(true)
				n.w.tell(true)
			case dir:
				n.w.tell(true)
			case int(ev.Ident) == n.file:
				n.w.tell(false)
			}
		}
		if gone {
			for fd := range n.dirs {
				_ = unix.Close(fd)
			}
			_ = unix.Close(n.kq)
		}
		n.mu.Unlock()
		if gone {
			return
		}
	}
}

// local reports whether only this machine writes to the file system at path, so that its kernel
// can report all writes.
func local(path string) bool {
	var st unix.Statfs_t
	return unix.Statfs(path, &st) == nil && st.Flags&unix.MNT_LOCAL != 0
}

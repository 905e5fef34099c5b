package follow

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"tachograph/store/disk"
	"tachograph/store/layout"
)

// inotify watches by the Linux facility of that name.
type inotify struct {
	w    *waker
	f    *os.File
	mu   sync.Mutex
	dirs map[int32]bool
	file int32 // -1: none
}

func newNotifier(w *waker) (notifier, error) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return nil, err
	}
	n := &inotify{w: w, f: os.NewFile(uintptr(fd), "inotify"), dirs: make(map[int32]bool), file: -1}
	go n.run()
	return n, nil
}

func (n *inotify) close() { _ = n.f.Close() }

// add watches the file or directory at path. It does nothing once n is closed.
func (n *inotify) add(path string, mask uint32) (wd int32, err error) {
	conn, err := n.f.SyscallConn()
	if err != nil {
		return -1, err
	}
	e := conn.Control(func(fd uintptr) {
		var got int
		got, err = unix.InotifyAddWatch(int(fd), path, mask)
		wd = int32(got)
	})
	return wd, errors.Join(err, e)
}

const dirMask = unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_MOVED_FROM | unix.IN_DELETE | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR

func (n *inotify) addDir(path string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	wd, err := n.add(path, dirMask)
	if err == nil {
		n.dirs[wd] = true
	}
	return err
}

func (n *inotify) setFile(f disk.File) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	before := n.file
	n.file = -1
	var err error
	if f != nil {
		// By its descriptor: its name may belong to another file by now.
		path := f.Name()
		if d, ok := f.(interface{ Fd() uintptr }); ok {
			path = fmt.Sprintf("/proc/self/fd/%d", d.Fd())
		}
		n.file, err = n.add(path, unix.IN_MODIFY)
	}
	if before >= 0 && before != n.file {
		if conn, e := n.f.SyscallConn(); e == nil {
			_ = conn.Control(func(fd uintptr) { _, _ = unix.InotifyRmWatch(int(fd), uint32(before)) })
		}
	}
	return err
}

// run passes the kernel's reports to the waker.
func (n *inotify) run() {
	buf := make([]byte, 16<<10)
	for {
		k, err := n.f.Read(buf)
		if err != nil {
			return // it was closed
		}
		for b := buf[:k]; len(b) >= unix.SizeofInotifyEvent; {
			wd, mask := int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:])
			end := min(len(b), unix.SizeofInotifyEvent+int(binary.NativeEndian.Uint32(b[12:])))
			name, _, _ := bytes.Cut(b[unix.SizeofInotifyEvent:end], []byte{0})
			n.saw(wd, mask, string(name))
			b = b[end:]
		}
	}
}

func (n *inotify) saw(wd int32, mask uint32, name string) {
	n.mu.Lock()
	dir, file := n.dirs[wd], wd == n.file
	if mask&unix.IN_IGNORED != 0 {
		delete(n.dirs, wd)
	}
	n.mu.Unlock()
	switch {
	case mask&unix.IN_Q_OVERFLOW != 0:
		n.w.tell(true)
	case dir && mask&(unix.IN_DELETE_SELF|unix.IN_MOVE_SELF|unix.IN_IGNORED|unix.IN_UNMOUNT) != 0:
		n.w.broken.Store(true)
		n.w.tell(true)
	case dir && (layout.IsArchiveName(name) || layout.IsJournalName(name)):
		n.w.tell(true)
	case file && mask&unix.IN_MODIFY != 0:
		n.w.tell(false)
	}
}

// local reports whether only this machine writes to the file system at path, so that its kernel
// can report all writes.
func local(path string) bool {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil {
		return false
	}
	switch uint32(st.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC,
		unix.TMPFS_MAGIC, unix.RAMFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC, unix.BCACHEFS_SUPER_MAGIC, zfsMagic:
		return true
	}
	return false
}

const zfsMagic = 0x2fc12fc1

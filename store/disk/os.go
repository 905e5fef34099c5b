package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrLocked is the error of Lock when another process holds the lock.
var ErrLocked = errors.New("in use by another process")

// OS is the file system of this machine.
var OS FS = osFS{}

type osFS struct{}

type osFile struct{ *os.File }

// OpenNoFollow is os.OpenFile for regular files that are not symbolic links.
func OpenNoFollow(name string, flag int, perm fs.FileMode) (*os.File, error) {
	// O_NONBLOCK keeps a FIFO put in the file's place from blocking the open.
	f, err := os.OpenFile(name, flag|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, perm)
	if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("open %s: it is a symbolic link, which is not followed", name)
	}
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("open %s: it is not a regular file but %s", name, st.Mode().Type())
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (osFS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := OpenNoFollow(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) Mkdir(name string, perm fs.FileMode) error  { return os.Mkdir(name, perm) }
func (osFS) Rename(old, new string) error               { return os.Rename(old, new) }
func (osFS) Remove(name string) error                   { return os.Remove(name) }
func (osFS) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }
func (osFS) Lstat(name string) (fs.FileInfo, error)     { return os.Lstat(name) }

func (osFS) Chmod(name string, mode fs.FileMode) error {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Chmod(mode)
}

func (osFS) Chown(name string, uid, gid int) error { return os.Lchown(name, uid, gid) }

func (osFS) SyncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("syncing directory %s: %w", name, err)
	}
	return nil
}

// lockMode keeps other users from opening a lock file: a process that can open a file, if only
// to read it, can lock it.
const lockMode = 0o600

// lockWait is how long a process that only checks the lock may hold it.
const lockWait = time.Second

func (osFS) Lock(name string) (Lock, error) {
	f, exposed, err := openLock(name)
	if err != nil {
		return nil, err
	}
	err = flock(f)
	if errors.Is(err, unix.EWOULDBLOCK) && exposed && !holderLives(f) {
		// This lock file was open to others, and the process noted in it is gone. Its lock does
		// not belong to a writer.
		f.Close()
		if err := os.Remove(name); err != nil {
			return nil, err
		}
		if f, _, err = openLock(name); err != nil {
			return nil, err
		}
		err = flock(f)
	}
	if err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s: %w", filepath.Dir(name), ErrLocked)
		}
		return nil, fmt.Errorf("locking %s: %w", name, err)
	}
	return osLock{osFile{f}}, nil
}

// openLock opens a lock file, creates it if need be, and closes it to others. It reports
// whether it was open to them.
func openLock(name string) (f *os.File, exposed bool, err error) {
	f, err = OpenNoFollow(name, os.O_RDWR|os.O_CREATE, lockMode)
	if err != nil {
		return nil, false, err
	}
	st, err := f.Stat()
	if err == nil {
		// A file with another name may belong to another user and be linked here in order to be
		// changed.
		err = onlyName(name, st)
	}
	if err == nil && st.Mode().Perm()&0o077 != 0 {
		exposed = true
		err = f.Chmod(lockMode)
	}
	if err != nil {
		f.Close()
		return nil, false, err
	}
	return f, exposed, nil
}

// onlyName refuses a file that also has other names.
func onlyName(name string, st fs.FileInfo) error {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && sys.Nlink > 1 {
		return fmt.Errorf("open %s: it has %d names (hard links), and a lock has one: remove it", name, sys.Nlink)
	}
	return nil
}

// flock locks f. It waits a moment for processes that only check the lock.
func flock(f *os.File) error {
	for waited := time.Duration(0); ; waited += lockWait / 20 {
		err := tryFlock(f)
		if !errors.Is(err, unix.EWOULDBLOCK) || waited >= lockWait {
			return err
		}
		time.Sleep(lockWait / 20)
	}
}

func tryFlock(f *os.File) error {
	return ignoringEINTR(func() error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) })
}

// holderLives reports whether the process that the lock file names is alive, or
// may be.
func holderLives(f *os.File) bool {
	var b [32]byte
	n, _ := f.ReadAt(b[:], 0)
	pid, err := strconv.Atoi(strings.TrimSpace(string(b[:n])))
	if err != nil || pid <= 0 {
		return true
	}
	return pid != os.Getpid() && !errors.Is(unix.Kill(pid, 0), unix.ESRCH)
}

type osLock struct{ f osFile }

func (l osLock) File() File { return l.f }

// Unlock leaves the lock file in place: removing it would let two processes
// hold locks on two files of one name.
func (l osLock) Unlock() error { return l.f.Close() }

func (f osFile) Size() (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

func (f osFile) Barrier() error {
	if err := ignoringEINTR(func() error { return barrier(f.File) }); err != nil {
		return &fs.PathError{Op: "barrier", Path: f.Name(), Err: err}
	}
	return nil
}

func ignoringEINTR(fn func() error) error {
	for {
		err := fn()
		if err != unix.EINTR {
			return err
		}
	}
}

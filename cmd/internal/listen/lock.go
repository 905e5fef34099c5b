package listen

import (
	"errors"
	"fmt"
	"os"
	"time"

	"tachograph/cmd/internal/cli"

	"golang.org/x/sys/unix"
)

// lockWait is how long a server waits for another one that is starting at the same path, which
// takes milliseconds.
var lockWait = 5 * time.Second

// lock lets only one server at a time make the socket at path. It locks a file beside the socket
// that only this user may open; a directory could be locked by any user who may read it. The
// server with the lock removes the file when it is done. A server that waited may then have
// locked a removed file: it checks, and tries again.
func lock(option, path string) (unlock func(), err error) {
	name := path + ".lock"
	cannot := func(why any) error {
		return fmt.Errorf("cannot listen at %s: %v; choose another path with %s unix:PATH", path, why, option)
	}
	for until := time.Now().Add(lockWait); ; time.Sleep(10 * time.Millisecond) {
		f, err := openLock(name)
		if err != nil {
			return nil, cannot(err)
		}
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil && isAt(f, name) {
			return func() {
				os.Remove(name)
				f.Close()
			}, nil
		}
		f.Close()
		switch {
		case err != nil && !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			return nil, cannot(err)
		case time.Now().After(until):
			return nil, cannot(fmt.Sprintf("another program of this user has held the lock %s for %v", name, lockWait))
		}
	}
}

// openLock opens the file of a lock, if only this user may open it.
func openLock(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the lock %s cannot be opened: %w", name, cli.Cause(err))
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		f.Close()
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || int(st.Uid) != os.Geteuid() || st.Mode&0o066 != 0 || st.Nlink > 1 {
		f.Close()
		return nil, fmt.Errorf("%s is there already, and is not a file that only this user may open: remove it", name)
	}
	return f, nil
}

// isAt reports whether f is still the file with this name.
func isAt(f *os.File, name string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(name)
	return err == nil && os.SameFile(mine, now)
}

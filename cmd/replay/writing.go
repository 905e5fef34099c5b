package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/layout"
)

// beingWritten reports whether a recorder writes to an archive now: a live
// archive stays behind, as it is, when the recorder is stopped, killed or its
// directory is copied.
func (s *session) beingWritten(info *store.ArchiveInfo) bool {
	if !info.Live {
		return false
	}
	f, err := os.OpenFile(filepath.Join(filepath.Dir(info.Path), layout.LockName), os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	switch {
	case err == nil:
		defer f.Close()
		// The recorder holds the lock of the directory it writes to.
		err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
		return errors.Is(err, unix.EWOULDBLOCK)
	case errors.Is(err, fs.ErrNotExist):
		return false
	}
	// Where one may not look at the lock, a tick of lately tells.
	shortest := metric.Once
	for _, every := range info.Intervals {
		if every > 0 {
			shortest = min(shortest, every)
		}
	}
	recent := time.Minute
	if shortest < metric.Once {
		recent = max(recent, 3*shortest)
	}
	age := time.Duration(s.now().UnixNano() - info.To)
	return age < recent && age > -recent
}

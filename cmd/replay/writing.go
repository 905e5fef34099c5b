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

// beingWritten reports whether a recorder writes to an archive now. A live archive alone does
// not show that: it stays as it is when the recorder is stopped or killed, or its directory is
// copied.
func beingWritten(info *store.ArchiveInfo, now time.Time) bool {
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
	// If the lock may not be opened, a recent tick shows that the archive is being written.
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
	age := time.Duration(now.UnixNano() - info.To)
	return age < recent && age > -recent
}

// isCopy reports whether the archive at path is a copy of one that a recorder was writing. The
// directory of a recorder holds its lock, even after the recorder was killed.
func isCopy(path string) bool {
	if !layout.IsLiveName(path) {
		return false
	}
	if _, err := os.Lstat(path); err != nil {
		return false
	}
	_, err := os.Lstat(filepath.Join(filepath.Dir(path), layout.LockName))
	return errors.Is(err, fs.ErrNotExist)
}

// copyText says what a copy of an archive that was being written lacks.
func copyText(path string) string {
	text := path + " is a copy of an archive that was being written, and not complete: what was recorded later is not in it"
	if journals, err := layout.JournalsOf(path); err == nil && len(journals) > 0 {
		text += ", nor what later files of its journal held than " + filepath.Base(journals[len(journals)-1])
	}
	return text
}

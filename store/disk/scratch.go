package disk

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Scratch is what a file or directory is called until it is whole: hidden beside its place, and
// with the number of the process that makes it. Who makes it holds it (Hold); what a process
// that was killed has left, a later one finds (Abandoned).
func Scratch(path string) string {
	path = strings.TrimRight(path, string(filepath.Separator))
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+strconv.Itoa(os.Getpid()))
}

// Hold says to other processes that f, a file or directory that is being made, is not
// abandoned, until f is closed. Where the file system has no locks, the number in its name
// says it alone.
func Hold(f *os.File) {
	_ = ignoringEINTR(func() error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) })
}

// making is in the names of directories that may be removed whatever is in them.
const making = ".making-"

// MkdirScratch makes a directory for what becomes path, which nobody else may enter. remove
// removes it with all that is in it.
func MkdirScratch(path string) (dir string, remove func(), err error) {
	at := Scratch(path)
	if dir, err = os.MkdirTemp(filepath.Dir(at), filepath.Base(at)+making+"*"); err != nil {
		return "", nil, err
	}
	f, err := os.Open(dir)
	if err != nil {
		_ = os.Remove(dir)
		return "", nil, err
	}
	Hold(f)
	return dir, func() { _ = os.RemoveAll(dir); _ = f.Close() }, nil
}

// maxProcess is the largest number that a process has, on any system.
const maxProcess = 1 << 22

// Abandoned calls fn with all that stands under a name that Scratch gives for path, or one that
// goes on behind such a name, and that no process makes any more.
func Abandoned(path string, fn func(name string, info os.FileInfo)) {
	at := Scratch(path)
	stem := strings.TrimSuffix(filepath.Base(at), strconv.Itoa(os.Getpid()))
	entries, err := os.ReadDir(filepath.Dir(at))
	if err != nil {
		return // who writes there says what is wrong
	}
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), stem)
		if !ok {
			continue
		}
		number, _, _ := strings.Cut(rest, ".")
		pid, err := strconv.Atoi(number)
		if err != nil || strconv.Itoa(pid) != number || pid <= 0 || pid > maxProcess {
			continue
		}
		// In a container each process has the same number as the one before.
		if pid != os.Getpid() && !errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			continue
		}
		abandoned(filepath.Join(filepath.Dir(at), e.Name()), pid, fn)
	}
}

// abandoned calls fn with name if nobody holds that.
func abandoned(name string, pid int, fn func(string, os.FileInfo)) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() && !info.IsDir() {
		return
	}
	err = ignoringEINTR(func() error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) })
	if err == nil || pid != os.Getpid() && !errors.Is(err, unix.EWOULDBLOCK) {
		fn(name, info)
	}
}

// Clear removes what processes that were killed have left of the file that path would have
// become, or of the directory that MkdirScratch made for it.
func Clear(path string) {
	Abandoned(path, func(name string, info os.FileInfo) {
		switch {
		case !info.IsDir():
			_ = os.Remove(name)
		case strings.Contains(filepath.Base(name), making):
			_ = os.RemoveAll(name)
		}
	})
}

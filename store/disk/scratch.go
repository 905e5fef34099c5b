package disk

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Scratch names a file or directory until it is whole: a hidden name beside its final place,
// with the number of the process that makes it. That process locks it (Hold). A later process
// finds what a killed one has left (Abandoned).
func Scratch(path string) string {
	path = strings.TrimRight(path, string(filepath.Separator))
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+strconv.Itoa(os.Getpid()))
}

// Hold locks f, a file or directory that is being made, until f is closed, so that no other
// process takes it for abandoned. Where the file system has no locks, only the process number
// in the name says so.
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

// Abandoned calls fn with each file or directory whose name Scratch made for path, or begins
// with such a name, and that no process is making any more.
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

// abandoned calls fn with name unless a process holds it.
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

// Clear removes what killed processes left behind while they made path: unfinished files,
// and directories of MkdirScratch.
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

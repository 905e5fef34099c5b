package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mark is in the names of unfinished files and directories, before the number of the process
// that makes them.
const mark = ".tachograph-"

// Scratch names a file or directory until it is whole: a hidden name beside its final place,
// with the number of the process that makes it. That process locks it (Hold). A later process
// finds what a killed one has left (Abandoned).
func Scratch(path string) string {
	path = strings.TrimRight(path, string(filepath.Separator))
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+mark+strconv.Itoa(os.Getpid()))
}

// Hold locks f, a file or directory that is being made, until f is closed, so that no other
// process takes it for abandoned. If the file system has no locks, or a process that only
// checks the lock keeps it for more than a moment, only the process number in the name marks f
// as held. Hold reports whether f still has its name: a process that looks for abandoned files
// may have come first.
func Hold(f *os.File) bool {
	_ = flock(f)
	return isAt(f, f.Name())
}

// HoldOther is Hold for a file that another process made and may still hold.
func HoldOther(f *os.File) { _ = tryFlock(f) }

// isAt reports whether name is f.
func isAt(f *os.File, name string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Lstat(name)
	return err == nil && os.SameFile(a, b)
}

// CreateScratch creates and holds a file, to read and to write. Its name must come from Scratch
// or begin with such a name.
func CreateScratch(name string) (*os.File, error) {
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil || Hold(f) {
			return f, err
		}
		_ = f.Close()
	}
}

const (
	// making is in the names of directories that may be removed whatever they contain.
	making = ".making-"
	// naming is in the names of directories whose files are moved to their final names, one
	// after the other. A later process that makes the same files must finish that first.
	naming = ".naming-"
)

// MkdirScratch makes a directory for what becomes path, which no other user may enter. remove
// removes it with all that is in it.
func MkdirScratch(path string) (dir string, remove func(), err error) { return mkdir(path, making) }

// MkdirNaming is MkdirScratch for a directory that Clear does not remove.
func MkdirNaming(path string) (dir string, remove func(), err error) { return mkdir(path, naming) }

func mkdir(path, kind string) (dir string, remove func(), err error) {
	at := Scratch(path)
	for {
		if dir, err = os.MkdirTemp(filepath.Dir(at), filepath.Base(at)+kind+"*"); err != nil {
			return "", nil, err
		}
		f, err := os.Open(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist): // as Hold may find
			continue
		case err != nil:
			_ = os.Remove(dir)
			return "", nil, err
		case Hold(f):
			return dir, func() { _ = os.RemoveAll(dir); _ = f.Close() }, nil
		}
		_ = f.Close()
	}
}

// maxProcess is the largest process number on any system.
const maxProcess = 1 << 22

// A Leftover is a file or directory that no process is making any more.
type Leftover struct {
	Path  string // where it is
	Final string // where it would have been when finished
	Rest  string // the part of its name after that of Scratch
	IsDir bool
}

// Abandoned calls fn with everything in the directory of path that no process is making any
// more and whose name is from Scratch or begins with such a name, whatever it was to become.
func Abandoned(path string, fn func(Leftover)) {
	at := Scratch(path)
	dir := filepath.Dir(at)
	own, _, _, _ := parse(filepath.Base(at))
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // writing there reports the error
	}
	for _, e := range entries {
		final, pid, rest, ok := parse(e.Name())
		// In a container each process has the same number as the one before.
		if !ok || pid != os.Getpid() && !errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			continue
		}
		left := Leftover{Path: filepath.Join(dir, e.Name()), Final: filepath.Join(dir, final), Rest: rest}
		abandoned(left, final == own && pid != os.Getpid(), fn)
	}
}

// parse splits a name that Scratch made, or that begins with such a name.
func parse(name string) (final string, pid int, rest string, ok bool) {
	at := strings.LastIndex(name, mark)
	if at < 2 || name[0] != '.' {
		return "", 0, "", false
	}
	number := name[at+len(mark):]
	if dot := strings.IndexByte(number, '.'); dot >= 0 {
		number, rest = number[:dot], number[dot:]
	}
	pid, err := strconv.Atoi(number)
	return name[1:at], pid, rest, err == nil && strconv.Itoa(pid) == number && pid > 0 && pid <= maxProcess
}

// abandoned calls fn with left unless a process holds it. A file system without locks may be
// shared by several machines; there it calls fn only if the process number makes it sure.
func abandoned(left Leftover, sure bool, fn func(Leftover)) {
	f, err := openLeft(left.Path)
	if err != nil {
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() && !info.IsDir() {
		return
	}
	left.IsDir = info.IsDir()
	err = tryFlock(f)
	if (err == nil || sure && !errors.Is(err, unix.EWOULDBLOCK)) && isAt(f, left.Path) {
		fn(left)
	}
}

// openLeft opens a file for writing if possible: some file systems lock only such files.
func openLeft(path string) (*os.File, error) {
	const flags = unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	f, err := os.OpenFile(path, os.O_RDWR|flags, 0)
	if err != nil {
		f, err = os.OpenFile(path, os.O_RDONLY|flags, 0)
	}
	return f, err
}

// Clear removes from the directory of path what killed processes left behind while they made
// path or anything else there: unfinished files, and directories of MkdirScratch.
func Clear(path string) {
	Abandoned(path, func(left Leftover) {
		switch {
		case !left.IsDir:
			_ = os.Remove(left.Path)
		case strings.HasPrefix(left.Rest, making):
			_ = os.RemoveAll(left.Path)
		}
	})
}

package listen

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/config/trust"

	"golang.org/x/sys/unix"
)

// A Socket is a listening unix socket and the file by which it is reached.
type Socket struct {
	*net.UnixListener
	path string
	file os.FileInfo
}

// Unix makes a unix socket at a path, which an option has named; a mode of 0 is for
// everybody. Nobody can connect before its mode and group are as they should be: between
// bind and listen the kernel refuses everybody. Its directory must be one in which nobody
// else can put something in the socket's place. Of two servers which start at the same
// time one finds the other, by a lock.
func Unix(option, path string, mode os.FileMode, group string) (*Socket, error) {
	cannot := func(err error) error {
		return fmt.Errorf("cannot listen at %s: %w", path, cli.Cause(err))
	}
	gid := -1
	if group != "" {
		var err error
		if gid, err = GroupID(group); err != nil {
			return nil, err
		}
	}
	dir := filepath.Dir(path)
	if err := makeDir(dir); err != nil {
		return nil, cannot(err)
	}
	if err := trusted(dir); err != nil {
		return nil, cannot(err)
	}
	unlock, err := lock(option, path)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := removeStale(option, path); err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, cannot(err)
	}
	unix.CloseOnExec(fd)
	f := os.NewFile(uintptr(fd), path)
	defer f.Close() // the listener has one of its own
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return nil, cannot(err)
	}
	s, err := prepare(f, path, mode, gid)
	if err != nil {
		os.Remove(path)
		return nil, cannot(err)
	}
	return s, nil
}

// prepare gives a bound socket its mode and its group, and only then listens.
func prepare(f *os.File, path string, mode os.FileMode, gid int) (*Socket, error) {
	if mode == 0 {
		mode = 0o666 // who may ask is decided by what they are
	}
	if gid >= 0 {
		if err := os.Lchown(path, -1, gid); err != nil {
			return nil, err
		}
	}
	if err := chmod(path, mode); err != nil {
		return nil, err
	}
	if err := unix.Listen(int(f.Fd()), unix.SOMAXCONN); err != nil {
		return nil, err
	}
	l, err := net.FileListener(f)
	if err != nil {
		return nil, err
	}
	u := l.(*net.UnixListener)
	u.SetUnlinkOnClose(false)
	info, err := os.Lstat(path)
	if err != nil {
		u.Close()
		return nil, err
	}
	return &Socket{u, path, info}, nil
}

// trusted refuses a directory in which somebody else could exchange the socket: it, and
// what it lies in, belong to root or to who runs this, and nobody else may write them,
// but for those where everybody may only remove what is his own, such as /tmp.
func trusted(dir string) error {
	who := trust.Root()
	if uid := os.Geteuid(); uid != 0 {
		who = trust.RootAndAsker(uid)
	}
	below, ok := strings.CutPrefix(dir+"/", runDir+"/")
	if runDir == "" || !ok {
		_, err := who.Resolve(dir)
		return err
	}
	at := runDir
	for name := range strings.SplitSeq(strings.Trim(below, "/"), "/") {
		at = filepath.Join(at, name)
		info, err := os.Lstat(at)
		if err != nil {
			return err
		}
		if at == runDir {
			continue
		}
		if err := who.Check(at, info); err != nil {
			return err
		}
	}
	return nil
}

// makeDir makes the directory of a socket: root's for everybody to reach it
// through, others' for nobody else.
func makeDir(dir string) error {
	mode := os.FileMode(0o700)
	if os.Geteuid() == 0 {
		mode = 0o755
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
			return err
		}
		if err := os.Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return os.Chmod(dir, mode)
	}
	return nil
}

// removeStale removes the socket of a server that has ended without doing so
// itself. One to which somebody listens stays, and so does everything else.
func removeStale(option, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot listen at %s: %w", path, cli.Cause(err))
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("cannot listen at %s: it is there and is no socket; choose another path with %s unix:PATH", path, option)
	}
	c, err := net.DialTimeout("unix", path, 5*time.Second)
	if err == nil {
		c.Close()
	}
	if !errors.Is(err, unix.ECONNREFUSED) {
		return fmt.Errorf("another server listens at %s: stop it, or choose another path with %s unix:PATH", path, option)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove %s, which a server left behind: %w", path, cli.Cause(err))
	}
	return nil
}

// Mine reports whether the file of the socket is still the one that s made.
func (s *Socket) Mine() bool {
	info, err := os.Lstat(s.path)
	return err == nil && os.SameFile(info, s.file)
}

// Remove removes the file of the socket, if it is still that one. A server
// that has become another user cannot, and leaves it to the next one.
func (s *Socket) Remove() {
	if s.Mine() {
		os.Remove(s.path)
	}
}

// GroupID is the number of a group given by name or number.
func GroupID(name string) (int, error) {
	if n, err := strconv.ParseUint(name, 10, 31); err == nil {
		return int(n), nil
	}
	g, err := user.LookupGroup(name)
	if err != nil {
		return 0, fmt.Errorf("there is no group %q on this machine", name)
	}
	return strconv.Atoi(g.Gid)
}

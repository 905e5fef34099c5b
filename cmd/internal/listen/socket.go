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

// A Socket is a listening unix socket and its file.
type Socket struct {
	*net.UnixListener
	path string
	file os.FileInfo
}

// Unix makes a unix socket at a path that the user gave with option; a mode of 0 lets all users
// connect. Its mode and group are set before anyone can connect: between bind and listen the
// kernel refuses all. The directory must be one where no other user can replace the socket. If
// two servers start at the same time, a lock makes one find the other.
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
	defer f.Close() // the listener has its own descriptor
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

// prepare sets the mode and group of a bound socket, and only then listens.
func prepare(f *os.File, path string, mode os.FileMode, gid int) (*Socket, error) {
	if mode == 0 {
		mode = 0o666 // the server checks the peer of each connection
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

// trusted refuses a directory where another user could replace the socket. The directory and its
// parents must belong to root or to the user who runs this, and other users must not be able to
// write to them, except in directories such as /tmp, where users may remove only their own
// files.
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

// makeDir makes the directory of a socket. If root makes it, all users can reach the socket
// through it, else only this user.
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

// removeStale removes the socket of a server that ended without removing it. It leaves a socket
// that a server listens on, and any other file.
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

// Remove removes the file of the socket, if it is still the one that s made. A server that has
// become another user cannot, and leaves it to the next one.
func (s *Socket) Remove() {
	if s.Mine() {
		os.Remove(s.path)
	}
}

// GroupID returns the number of a group that is given by name or number.
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

package serve

import (
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"tachograph/cmd/internal/listen"
)

// DefaultAddress returns the address where this user's server listens: for root, a socket that
// all users can find; for others, one that only the user can.
func DefaultAddress() string {
	if os.Geteuid() == 0 {
		return "unix:/var/run/tachograph/serve.sock"
	}
	dir := os.Getenv("XDG_RUNTIME_DIR")
	if !filepath.IsAbs(dir) {
		var err error
		if dir, err = os.UserCacheDir(); err != nil {
			dir = filepath.Join(os.TempDir(), fmt.Sprintf("uid-%d", os.Getuid()))
		}
	}
	return "unix:" + filepath.Join(dir, "tachograph", "serve.sock")
}

// open opens the listener.
func (s *Server) open() (net.Listener, error) {
	if s.listen.Unix {
		l, err := listen.Unix("--listen", s.listen.Path, s.opt.Mode, s.opt.Group)
		if err != nil {
			return nil, err
		}
		return l, nil
	}
	l, err := net.Listen("tcp", net.JoinHostPort(s.listen.Host, s.listen.Port))
	if err != nil {
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	if a, ok := l.Addr().(*net.TCPAddr); s.needsSecrets() && (!ok || !a.IP.IsLoopback()) {
		l.Close() // the name resolved to an address that is not loopback
		return nil, s.notBeyond()
	}
	return l, nil
}

// removeSocket removes the file of the socket, if there is one.
func (s *Server) removeSocket() {
	if l, ok := s.listener.(*listen.Socket); ok {
		l.Remove()
	}
}

// userID returns the number of a user that is given by name or number.
func userID(name string) (int, error) {
	if n, err := strconv.ParseUint(name, 10, 31); err == nil {
		return int(n), nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return 0, fmt.Errorf("there is no user %q on this machine", name)
	}
	return strconv.Atoi(u.Uid)
}

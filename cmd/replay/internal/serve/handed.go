package serve

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"tachograph/cmd/internal/listen"
	"tachograph/launchd/activate"
)

// handedBy are the service managers that open a socket for the server and start it when a client
// connects, by their names for --listen.
var handedBy = map[string]func() (net.Listener, error){"systemd": handed, "launchd": handedByLaunchd}

// launchdName is the socket's name in the plist.
const launchdName = "serve"

// handedByLaunchd returns the listener that launchd opened for this process.
func handedByLaunchd() (net.Listener, error) {
	files, err := activate.Sockets(launchdName)
	if err != nil {
		return nil, fmt.Errorf("--listen launchd is for a job of launchd that has a socket: %w", err)
	}
	if len(files) != 1 {
		for _, f := range files {
			f.Close()
		}
		return nil, fmt.Errorf("--listen launchd: %d sockets were handed over, and one is needed", len(files))
	}
	return listenerOf(files[0])
}

// firstHanded is the number of the first descriptor that systemd passes.
const firstHanded = 3

// handed returns the listener that systemd opened for this process.
func handed() (net.Listener, error) {
	const how = "--listen systemd is for a unit of systemd that has a socket"
	if pid, err := strconv.Atoi(os.Getenv("LISTEN_PID")); err != nil || pid != os.Getpid() {
		return nil, errors.New(how + ": no socket was handed over to this process")
	}
	n, err := strconv.Atoi(os.Getenv("LISTEN_FDS"))
	if err != nil || n != 1 {
		return nil, fmt.Errorf("%s: %q sockets were handed over, and one is needed", how, os.Getenv("LISTEN_FDS"))
	}
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		os.Unsetenv(name) // they are only for this process
	}
	return listenerOf(os.NewFile(firstHanded, "systemd"))
}

// listenerOf returns a listener for a file that was passed.
func listenerOf(f *os.File) (net.Listener, error) {
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("what was handed over is no socket to listen at: %w", err)
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false) // it belongs to the manager that opened it
	}
	return l, nil
}

// addressOf returns the address of a listener that a service manager has opened.
func addressOf(l net.Listener) (listen.Address, error) {
	switch a := l.Addr().(type) {
	case *net.UnixAddr:
		return listen.Address{Unix: true, Path: a.Name}, nil
	case *net.TCPAddr:
		return listen.Address{Host: a.IP.String(), Port: strconv.Itoa(a.Port)}, nil
	}
	return listen.Address{}, fmt.Errorf("a socket of %s was handed over, and one of unix or TCP is needed", l.Addr().Network())
}

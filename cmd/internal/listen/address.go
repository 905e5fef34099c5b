// Package listen opens the unix socket or the TCP address that a program listens at.
//
// The file of a unix socket has its mode and group before a client can connect. A socket that an
// earlier process left behind is replaced; one that is in use never is.
package listen

import (
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"runtime"
	"strings"
)

// An Address is where to listen.
type Address struct {
	Unix bool
	Path string // of the unix socket
	Host string // for TCP: a name or an IP address, as it was written
	Port string
}

// longestPath returns how many bytes fit into the address of a unix socket.
func longestPath() int {
	if runtime.GOOS == "darwin" {
		return 103
	}
	return 107
}

// Parse parses unix:PATH or tcp:HOST:PORT, the argument of option.
func Parse(option, s string) (Address, error) {
	kind, rest, _ := strings.Cut(s, ":")
	switch {
	case kind == "unix" && rest != "":
		path, err := filepath.Abs(strings.TrimPrefix(rest, "//"))
		if err != nil {
			return Address{}, err
		}
		if n := len(path); n > longestPath() {
			return Address{}, fmt.Errorf("the path of the socket, %s, has %d bytes, and the system takes %d: choose a shorter one with %s unix:PATH", path, n, longestPath(), option)
		}
		return Address{Unix: true, Path: path}, nil
	case kind == "tcp":
		host, port, err := net.SplitHostPort(rest)
		if err != nil || port == "" {
			break
		}
		return Address{Host: host, Port: port}, nil
	}
	return Address{}, fmt.Errorf("cannot listen at %q: write unix:PATH or tcp:HOST:PORT, as in tcp:127.0.0.1:9847", s)
}

// Loopback reports whether only this machine can connect to a TCP address.
func (a Address) Loopback() bool {
	if strings.EqualFold(a.Host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(a.Host)
	return err == nil && ip.Unmap().IsLoopback()
}

package listen

import "net"

// A Peer is the user who has connected to a unix socket, as the kernel reports.
type Peer struct {
	UID    int
	Groups []int
}

// PeerOf asks the kernel for the user at the other end.
func PeerOf(c *net.UnixConn) (*Peer, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	var peer *Peer
	var problem error
	if err := raw.Control(func(fd uintptr) { peer, problem = credentials(int(fd)) }); err != nil {
		return nil, err
	}
	return peer, problem
}

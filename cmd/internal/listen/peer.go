package listen

import "net"

// A Peer is who has connected by a unix socket, as the kernel tells.
type Peer struct {
	UID    int
	Groups []int
}

// PeerOf asks the kernel who is at the other end.
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

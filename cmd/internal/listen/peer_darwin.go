package listen

import "golang.org/x/sys/unix"

// credentials returns the user and groups that the peer had when it connected.
func credentials(fd int) (*Peer, error) {
	c, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return nil, err
	}
	p := &Peer{UID: int(c.Uid)}
	for _, gid := range c.Groups[:max(0, min(int(c.Ngroups), len(c.Groups)))] {
		p.Groups = append(p.Groups, int(gid))
	}
	return p, nil
}

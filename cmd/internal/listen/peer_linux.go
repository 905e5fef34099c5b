package listen

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// credentials returns the user and groups that the peer had when it connected.
func credentials(fd int) (*Peer, error) {
	c, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return nil, err
	}
	p := &Peer{UID: int(c.Uid), Groups: []int{int(c.Gid)}}
	// Not all kernels report the supplementary groups; without them only the main group counts.
	for _, gid := range peerGroups(fd) {
		p.Groups = append(p.Groups, int(gid))
	}
	return p, nil
}

// peerGroups returns the supplementary groups of the peer.
func peerGroups(fd int) []uint32 {
	groups := make([]uint32, 64)
	for {
		size := uint32(len(groups) * 4)
		_, _, e := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_PEERGROUPS,
			uintptr(unsafe.Pointer(&groups[0])), uintptr(unsafe.Pointer(&size)), 0)
		switch {
		case e == unix.ERANGE && len(groups) < 1<<16: // the most that Linux gives a process
			groups = make([]uint32, 1<<16)
		case e != 0:
			return nil
		default:
			return groups[:min(int(size)/4, len(groups))]
		}
	}
}

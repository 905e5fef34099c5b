package linux

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// netlinkDiag asks the kernel for its sockets.
type netlinkDiag struct {
	fd  int
	seq uint32
	req []byte
	buf []byte
}

func openDiagnoser() diagnoser {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil
	}
	// The kernel answers at once or not at all; a lost answer must not delay the recorder.
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 2}); err != nil {
		unix.Close(fd)
		return nil
	}
	return &netlinkDiag{fd: fd, buf: make([]byte, 64<<10)}
}

func (d *netlinkDiag) close() error { return unix.Close(d.fd) }

func (d *netlinkDiag) count(counts *stateCounts) error {
	d.seq++
	d.req = diagQuery(d.req, d.seq)
	if _, err := unix.Write(d.fd, d.req); err != nil {
		return fmt.Errorf("netlink socket list: %w", err)
	}
	for {
		n, err := unix.Read(d.fd, d.buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return fmt.Errorf("netlink socket list: %w", err)
		}
		done, errno := diagAnswer(d.buf[:n], d.seq, counts)
		if errno != 0 {
			return fmt.Errorf("netlink socket list: %w", unix.Errno(errno))
		}
		if done || n == 0 {
			return nil
		}
	}
}

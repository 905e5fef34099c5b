package socket

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// The attributes that a query must ask for.
const (
	askInfo      = 1 << (attrInfo - 1)
	askCong      = 1 << (attrCong - 1)
	askSKMemInfo = 1 << (attrSKMemInfo - 1)
)

// The states of sockets that are listed. Left out are connections that are over (TIME_WAIT), and
// ones that are only asked for (SYN_RECV): neither has totals, and both can be very many.
const (
	listening = 1 << Listen
	connected = 1<<Established | 1<<SynSent | 1<<FinWait1 | 1<<FinWait2 | 1<<CloseWait | 1<<LastAck | 1<<Closing
)

// Diagnoser asks the kernel for its TCP sockets.
type Diagnoser struct {
	fd  int
	seq uint32
	req []byte
	buf []byte
}

// OpenDiagnoser makes a Diagnoser of the network namespace of the calling thread.
func OpenDiagnoser() (*Diagnoser, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, fmt.Errorf("netlink socket list: %w", err)
	}
	// The kernel answers at once or not at all; a lost answer must not delay the recorder.
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 2}); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("netlink socket list: %w", err)
	}
	return &Diagnoser{fd: fd, buf: make([]byte, 64<<10)}, nil
}

// Close closes the Diagnoser.
func (d *Diagnoser) Close() error { return unix.Close(d.fd) }

// Count adds the sockets to counts.
func (d *Diagnoser) Count(counts *StateCounts) error {
	_, err := d.ask(1<<13-1, 0, counts.add)
	return err
}

// ask passes each socket in the states to each, with the attributes. It reports whether the
// kernel's table changed meanwhile.
func (d *Diagnoser) ask(states uint32, attributes uint8, each func(socket []byte)) (torn bool, err error) {
	d.seq++
	d.req = query(d.req, d.seq, states, attributes)
	if _, err := unix.Write(d.fd, d.req); err != nil {
		return false, fmt.Errorf("netlink socket list: %w", err)
	}
	for a := (answer{seq: d.seq}); ; {
		n, err := unix.Read(d.fd, d.buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("netlink socket list: %w", err)
		}
		a.read(d.buf[:n], each)
		if a.errno != 0 {
			return false, fmt.Errorf("netlink socket list: %w", unix.Errno(a.errno))
		}
		if a.done || n == 0 {
			return a.torn, nil
		}
	}
}

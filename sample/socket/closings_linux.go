package socket

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// closings is a netlink socket that the kernel reports closed TCP sockets to, with their last
// totals, in one network namespace.
type closings struct {
	fd      int
	roomy   bool   // its buffer has room for what closes within a pause
	counted bool   // the kernel counts what it had no room for
	missed  uint64 // if it does not: how often it said that there was no room
}

// tcpDestroyed are the groups SKNLGRP_INET_TCP_DESTROY and SKNLGRP_INET6_TCP_DESTROY.
const tcpDestroyed = 1<<0 | 1<<2

// openClosings makes closings of the network namespace of the calling thread.
func openClosings() (*closings, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, fmt.Errorf("netlink socket events: %w", err)
	}
	c := &closings{fd: fd, roomy: unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 8<<20) == nil}
	if !c.roomy {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 8<<20)
	}
	// After an overflow the kernel drops everything until the buffer has been emptied, unless
	// nobody wants the error.
	if _, err := c.drops(); err == nil {
		c.counted = unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_NO_ENOBUFS, 1) == nil
	}
	// Joining the groups later, by setsockopt, brings no messages to a socket that is not bound.
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: tcpDestroyed}); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("netlink socket events: %w", err)
	}
	return c, nil
}

func (c *closings) close() { unix.Close(c.fd) }

// lost returns how many closed sockets the kernel had no room to report.
func (c *closings) lost() uint64 {
	if c.counted {
		if n, err := c.drops(); err == nil {
			return uint64(n)
		}
	}
	return c.missed
}

// drops is the same number as in /proc/net/netlink, which has only the sockets of the network
// namespace that it is read in.
func (c *closings) drops() (uint32, error) {
	var info [9]uint32 // SK_MEMINFO_DROPS is the last
	n := uint32(unsafe.Sizeof(info))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(c.fd), unix.SOL_SOCKET, unix.SO_MEMINFO,
		uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&n)), 0)
	if errno != 0 {
		return 0, errno
	}
	if n < uint32(unsafe.Sizeof(info)) {
		return 0, unix.ENOPROTOOPT // before 4.12
	}
	return info[8], nil
}

// receiver reads many messages at once.
type receiver struct {
	headers [atOnce]mmsghdr
	vectors [atOnce]unix.Iovec
	buffer  [atOnce][mostReport]byte
}

const (
	atOnce     = 64
	mostReport = 1024 // bytes; Linux 6.18 has 380
)

// mmsghdr is struct mmsghdr.
type mmsghdr struct {
	header unix.Msghdr
	length uint32
}

func newReceiver() *receiver {
	r := new(receiver)
	for i := range r.headers {
		r.vectors[i].Base = &r.buffer[i][0]
		r.vectors[i].SetLen(mostReport)
		r.headers[i].header.Iov = &r.vectors[i]
		r.headers[i].header.SetIovlen(1)
	}
	return r
}

// receive passes everything that waits in the socket to each, and returns how many messages that
// were.
func (r *receiver) receive(c *closings, each func(socket []byte)) (messages int) {
	for {
		n, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(c.fd), uintptr(unsafe.Pointer(&r.headers)), atOnce, unix.MSG_DONTWAIT, 0, 0)
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.ENOBUFS:
			c.missed++
			continue
		case errno != 0 || n == 0:
			return messages
		}
		for i := range r.headers[:n] {
			length := min(r.headers[i].length, mostReport)
			for b := r.buffer[i][:length]; len(b) > 0; {
				var m message
				if m, b = nextMessage(b); m.kind == diagFamily {
					each(m.body)
				}
			}
		}
		if messages += int(n); n < atOnce {
			return messages
		}
	}
}

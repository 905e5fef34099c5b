package socket

import (
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"net"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"

	"tachograph/sample/darwin/decode"
	"tachograph/sample/darwin/sys"
)

const (
	statisticsName  = "com.apple.network.statistics"
	sysprotoControl = 2
)

// bufferSizes are the sizes of the receive buffer to try. The kernel's own of 8 KiB has room for
// the last words about 15 connections.
var bufferSizes = []int{4 << 20, 2 << 20, 1 << 20, 512 << 10, 256 << 10, 128 << 10}

// macLister lists the connections of a Mac.
type macLister struct {
	*statistics
	fd, kq int
	done   chan struct{}
	room   int // in the buffer
}

// Open returns the lister of this machine. What closes is passed to h from now on.
func Open(h Hearer) (Lister, error) {
	fd, err := openControl(statisticsName)
	if err != nil {
		return nil, err
	}
	l := &macLister{statistics: newStatistics(macControl(fd)), fd: fd, kq: -1, done: make(chan struct{})}
	for _, n := range bufferSizes {
		if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, n) == nil {
			l.room = n
			break
		}
	}
	l.nanoseconds = clock()
	if lo, err := net.InterfaceByName("lo0"); err == nil {
		l.loopback = uint32(lo.Index)
	}
	l.uid = uint32(os.Geteuid())
	l.backlogs = newBacklogs().read
	l.hear = h
	if err := l.subscribe(); err != nil {
		unix.Close(fd)
		return nil, err
	}
	l.watch()
	return l, nil
}

// clock returns a function that converts ticks of the kernel's continuous clock, and returns 0
// where their unit is not known: a translated program has ticks of its own.
func clock() func(ticks uint64) int64 {
	numer, denom := sys.Timebase()
	if translated, err := sys.SysctlUint("sysctl.proc_translated"); err == nil && translated == 1 {
		denom = 0
	}
	return func(ticks uint64) int64 {
		hi, lo := bits.Mul64(ticks, uint64(numer))
		if denom == 0 || hi >= uint64(denom) {
			return 0
		}
		ns, _ := bits.Div64(hi, lo, uint64(denom))
		return int64(ns)
	}
}

// openControl connects to a kernel control.
func openControl(name string) (int, error) {
	fd, err := unix.Socket(unix.AF_SYSTEM, unix.SOCK_DGRAM, sysprotoControl)
	if err != nil {
		return -1, fmt.Errorf("%s: %w", name, err)
	}
	unix.CloseOnExec(fd)
	var info unix.CtlInfo
	copy(info.Name[:], name)
	if err = unix.IoctlCtlInfo(fd, &info); err == nil {
		err = unix.Connect(fd, &unix.SockaddrCtl{ID: info.Id})
	}
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("%s: %w", name, err)
	}
	return fd, nil
}

// macControl is the descriptor of a control socket.
type macControl int

func (c macControl) send(request []byte) error {
	for {
		_, err := unix.Write(int(c), request)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func (c macControl) receive(to []byte) (int, error) {
	for {
		n, err := unix.Read(int(c), to)
		switch {
		case err == nil:
			return n, nil
		case errors.Is(err, unix.EAGAIN):
			return 0, nil
		case !errors.Is(err, unix.EINTR):
			return 0, fmt.Errorf("%s: %w", statisticsName, err)
		}
	}
}

// watch has a goroutine read what the kernel reports whenever an eighth of the buffer is full.
// It sleeps for days on most Macs.
func (l *macLister) watch() {
	kq, err := unix.Kqueue()
	if err != nil {
		return // then what comes when the buffer is full is lost
	}
	unix.CloseOnExec(kq)
	var events [2]unix.Kevent_t
	unix.SetKevent(&events[0], l.fd, unix.EVFILT_READ, unix.EV_ADD)
	events[0].Fflags, events[0].Data = unix.NOTE_LOWAT, int64(l.room/8)
	unix.SetKevent(&events[1], 1, unix.EVFILT_USER, unix.EV_ADD|unix.EV_CLEAR)
	if _, err := unix.Kevent(kq, events[:], nil, nil); err != nil {
		unix.Close(kq)
		return
	}
	l.kq = kq
	go func() {
		defer close(l.done)
		var happened [2]unix.Kevent_t
		for {
			n, err := unix.Kevent(kq, nil, happened[:], nil)
			if err == unix.EINTR {
				continue
			}
			if err != nil {
				return
			}
			for _, e := range happened[:n] {
				if e.Filter == unix.EVFILT_USER || l.drain() != nil {
					return
				}
			}
		}
	}()
}

// Close implements Lister.
func (l *macLister) Close() error {
	if l.kq >= 0 {
		var trigger [1]unix.Kevent_t
		unix.SetKevent(&trigger[0], 1, unix.EVFILT_USER, 0)
		trigger[0].Fflags = unix.NOTE_TRIGGER
		if _, err := unix.Kevent(l.kq, trigger[:], nil, nil); err == nil {
			<-l.done
		}
		unix.Close(l.kq)
	}
	return unix.Close(l.fd)
}

// backlogs reads the queues of sockets that listen, which are in the kernel's list of TCP sockets
// only.
type backlogs struct {
	mib  sys.MIB
	buf  []byte
	last map[netip.AddrPort][]Bytes
	rows uint64 // of the last list
	look uint64
}

// rowsPerLook is how many sockets a list may have to be read at every look. A list is as long as
// there are sockets, of which few listen.
const rowsPerLook = 2000

func newBacklogs() *backlogs {
	mib, err := sys.Lookup("net.inet.tcp.pcblist64")
	if err != nil {
		mib = nil
	}
	return &backlogs{mib: mib}
}

func (b *backlogs) read() map[netip.AddrPort][]Bytes {
	b.look++
	if b.mib == nil || b.look%(1+b.rows/rowsPerLook) != 0 {
		return maps.Clone(b.last)
	}
	list, next, errno := sys.SysctlList(b.mib, b.buf)
	b.buf = next
	if errno != 0 {
		return nil
	}
	b.last = make(map[netip.AddrPort][]Bytes)
	l, _ := decode.ReadTCPList(list, func(x decode.Listener) {
		b.last[x.Local] = append(b.last[x.Local], Bytes{x.Waiting, x.Limit})
	})
	b.rows = l.Rows
	return maps.Clone(b.last)
}

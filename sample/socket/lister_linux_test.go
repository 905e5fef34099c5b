package socket

import (
	"io"
	"maps"
	"net"
	"net/netip"
	"sync"
	"testing"

	"tachograph/testdata/patience"
)

// book is what a Lister passed: the newest report about each socket.
type book struct {
	sync.Mutex
	open, closed map[uint64]Socket
	times        map[uint64]int // how often each was reported as closed
}

func newBook() *book {
	return &book{open: make(map[uint64]Socket), closed: make(map[uint64]Socket), times: make(map[uint64]int)}
}

func (b *book) Hear(s *Socket) {
	b.Lock()
	defer b.Unlock()
	if s.Closed {
		delete(b.open, s.ID)
		b.closed[s.ID] = *s
		b.times[s.ID]++
		return
	}
	b.open[s.ID] = *s
}

// find returns the report about the socket between two addresses.
func (b *book) find(closed bool, local, peer netip.AddrPort) (Socket, bool) {
	b.Lock()
	defer b.Unlock()
	all := b.open
	if closed {
		all = b.closed
	}
	for s := range maps.Values(all) {
		if s.Local == local && s.Peer == peer {
			return s, true
		}
	}
	return Socket{}, false
}

func open(t testing.TB, b *book) Lister {
	l, err := Open(b)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func address(a net.Addr) netip.AddrPort { return netip.MustParseAddrPort(a.String()) }

// pair connects two sockets over TCP.
func pair(t *testing.T, network, host string) (client, server *net.TCPConn, ln net.Listener) {
	ln, err := net.Listen(network, host+":0")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { ln.Close() })
	c, err := net.Dial(network, ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn), s.(*net.TCPConn), ln
}

// send transfers n bytes.
func send(t *testing.T, from, to net.Conn, n int) {
	done := make(chan error)
	go func() { _, err := from.Write(make([]byte, n)); done <- err }()
	if _, err := io.ReadFull(to, make([]byte, n)); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestKnownBytes(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "[::1]"} {
		t.Run(host, func(t *testing.T) {
			b := newBook()
			l := open(t, b)
			client, server, ln := pair(t, "tcp", host)
			send(t, client, server, 12345)
			send(t, server, client, 1_234_567)
			c, s := address(client.LocalAddr()), address(client.RemoteAddr())
			if err := l.List(b); err != nil {
				t.Fatal(err)
			}
			check := func(closed bool, slack uint64) {
				t.Helper()
				for _, end := range []struct {
					local, peer netip.AddrPort
					want        Bytes
				}{{c, s, Bytes{1_234_567, 12345}}, {s, c, Bytes{12345, 1_234_567}}} {
					got, ok := b.find(closed, end.local, end.peer)
					if !ok || got.Bytes.Out != end.want.Out || got.Bytes.In-end.want.In > slack || !got.Loopback || got.Closed != closed || got.Ended != Normal {
						t.Errorf("%v: %+v, want %+v", ok, got, end.want)
					}
				}
			}
			check(false, 0)
			listener, ok := b.find(false, address(ln.Addr()), netip.AddrPortFrom(netip.MustParseAddr(map[bool]string{true: "0.0.0.0", false: "::"}[s.Addr().Is4()]), 0))
			if !ok || listener.State != Listen || listener.Has&(HasQueues|HasDrops) != HasQueues|HasDrops || listener.Unsent == 0 || listener.Received != 0 {
				t.Errorf("listener: %v %+v", ok, listener)
			}
			client.Close()
			server.Close()
			patience.Until(t, "both ends are reported as closed", func() bool {
				_, one := b.find(true, c, s)
				_, two := b.find(true, s, c)
				return one && two
			})
			check(true, 1)
		})
	}
}

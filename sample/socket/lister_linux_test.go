package socket

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tachograph/store/storetest/proof"
	"tachograph/testdata/patience"
)

// role is what this program does when a test starts it as another process.
const role = "TACHO_SOCKET_ROLE"

func TestMain(m *testing.M) {
	what, n, _ := strings.Cut(os.Getenv(role), " ")
	var err error
	switch what {
	case "":
		os.Exit(m.Run())
	case "trace":
		err = begin()
	case "talk":
		err = talkToItself()
	case "hold":
		var ends int
		if ends, err = strconv.Atoi(n); err == nil {
			err = hold(ends)
		}
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

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

// find returns the report about the socket between two addresses in this network namespace.
func (b *book) find(closed bool, local, peer netip.AddrPort) (Socket, bool) {
	return b.findIn(0, closed, local, peer)
}

func (b *book) findIn(namespace uint64, closed bool, local, peer netip.AddrPort) (Socket, bool) {
	b.Lock()
	defer b.Unlock()
	all := b.open
	if closed {
		all = b.closed
	}
	for s := range maps.Values(all) {
		if s.Local == local && s.Peer == peer && s.Namespace == namespace {
			return s, true
		}
	}
	return Socket{}, false
}

func open(t testing.TB, b *book) *DiagLister {
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

// TestShortConnections makes connections that begin and close between two lists. Each end of
// each is reported, or counted as lost.
func TestShortConnections(t *testing.T) {
	n := proof.Pick(t, 5000, 100_000)
	b := newBook()
	l := open(t, b)
	ln, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	port := address(ln.Addr()).Port()
	served := make(chan error, 1)
	go func() {
		buffer := make([]byte, 64)
		for range n {
			c, err := ln.Accept()
			if err != nil {
				served <- err
				return
			}
			for err == nil {
				_, err = c.Read(buffer)
			}
			c.Close()
		}
		served <- nil
	}()
	sent := uint64(0)
	for i := range n {
		// Many addresses, because the ports of one run out.
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.%d.%d:%d", i/250%250, 1+i%250, port))
		if err != nil {
			t.Fatal(err)
		}
		c.Write(make([]byte, 1+i%50))
		sent += uint64(1 + i%50)
		c.Close()
	}
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	var clients, servers int
	var received, out uint64
	patience.Until(t, "all connections are reported or lost", func() bool {
		if err := l.List(b); err != nil {
			t.Fatal(err)
		}
		b.Lock()
		defer b.Unlock()
		clients, servers, received, out = 0, 0, 0, 0
		for id, s := range b.closed {
			switch {
			case b.times[id] != 1:
				t.Fatalf("%d reports of %+v", b.times[id], s)
			case s.Peer.Port() == port:
				clients++
				out += s.Bytes.Out
			case s.Local.Port() == port && s.State == Closed:
				servers++
				received += s.Bytes.In
			}
		}
		return uint64(clients+servers)+l.Lost() >= uint64(2*n)
	})
	t.Logf("%d and %d of %d, %d lost", clients, servers, n, l.Lost())
	if l.Lost() > 0 {
		return
	}
	// The end of each connection may count as a byte.
	if clients != n || servers != n || out != sent || received < sent || received > sent+uint64(n) {
		t.Errorf("%d clients sent %d, %d servers received %d; want %d, %d", clients, out, servers, received, n, sent)
	}
}

// TestLostIsCounted has the kernel report more than there is room for.
func TestLostIsCounted(t *testing.T) {
	c, err := openClosings()
	if err != nil {
		t.Skip(err)
	}
	defer c.close()
	if !c.counted {
		t.Skip("this kernel does not count what it had no room for")
	}
	if err := unix.SetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 1); err != nil {
		t.Fatal(err)
	}
	const n = 1000
	closed := make(map[uint64]bool)
	for range n {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		id, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_COOKIE)
		if err != nil {
			t.Skip(err)
		}
		closed[id] = true
		unix.Close(fd)
	}
	patience.Until(t, "the kernel counts lost reports", func() bool { return c.lost() > 0 })
	heard, others := 0, 0
	r := newReceiver()
	patience.Until(t, "all reports are there or lost", func() bool {
		r.receive(c, func(b []byte) {
			if len(b) >= diagSize && closed[binary.NativeEndian.Uint64(b[diagCookie:])] {
				heard++
			} else {
				others++
			}
		})
		return uint64(heard+others)+c.lost() >= n
	})
	// Sockets of other programs may have taken all the room.
	if heard+others == 0 || heard == n {
		t.Errorf("%d of %d heard, %d others, %d lost", heard, n, others, c.lost())
	}
}

// TestEndings has connections end in all ways.
func TestEndings(t *testing.T) {
	b := newBook()
	open(t, b)
	host := [4]byte{127, 0, 0, 1}
	socket := func(flags int) int {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|flags, 0)
		if err != nil {
			t.Fatal(err)
		}
		return fd
	}
	id := func(fd int) uint64 {
		n, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_COOKIE)
		if err != nil {
			t.Skip(err)
		}
		return n
	}
	ended := func(what string, id uint64, want Ending) {
		t.Helper()
		var got Socket
		patience.Until(t, what+" is reported", func() (ok bool) {
			b.Lock()
			defer b.Unlock()
			got, ok = b.closed[id]
			return ok
		})
		if got.Ended != want || got.State != Closed || !got.Loopback && got.Peer.Port() != 0 {
			t.Errorf("%s: %+v", what, got)
		}
	}
	// A port that nobody listens on, because another socket has it.
	taken := socket(0)
	defer unix.Close(taken)
	if err := unix.Bind(taken, &unix.SockaddrInet4{Addr: host}); err != nil {
		t.Fatal(err)
	}
	nobody, _ := unix.Getsockname(taken)
	for _, blocking := range []int{0, unix.SOCK_NONBLOCK} {
		fd := socket(blocking)
		if err := unix.Connect(fd, nobody); blocking != 0 && err == unix.EINPROGRESS {
			unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, -1)
		} else if err != unix.ECONNREFUSED {
			t.Fatal(err)
		}
		cookie := id(fd)
		unix.Close(fd)
		ended("a refused connection", cookie, Refused)
	}
	// A listener that has no room for a second connection does not answer.
	full := socket(0)
	unix.Bind(full, &unix.SockaddrInet4{Addr: host})
	unix.Listen(full, 0)
	to, _ := unix.Getsockname(full)
	first := socket(0)
	if err := unix.Connect(first, to); err != nil {
		t.Fatal(err)
	}
	second := socket(unix.SOCK_NONBLOCK)
	unix.Connect(second, to)
	cookie := id(second)
	unix.Close(second)
	ended("a connection without answer", cookie, Failed)
	third := socket(0)
	unix.SetsockoptInt(third, unix.IPPROTO_TCP, unix.TCP_SYNCNT, 1)
	if err := unix.Connect(third, to); err != unix.ETIMEDOUT {
		t.Error(err)
	}
	cookie = id(third)
	unix.Close(third)
	ended("a connection that was waited for", cookie, Failed)
	// Ended at once by one side: the kernel forgets its totals.
	unix.SetsockoptLinger(first, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	cookie = id(first)
	unix.Close(first)
	ended("a connection that was cut", cookie, Normal)
	if b.closed[cookie].Has&HasBytes != 0 {
		t.Errorf("%+v", b.closed[cookie])
	}
	cookie = id(full)
	unix.Close(full)
	patience.Until(t, "the listener is reported", func() bool {
		b.Lock()
		defer b.Unlock()
		return b.closed[cookie].State == Listen
	})
}

// TestAsUser runs other tests without rights: a list takes none.
func TestAsUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the tests run without rights anyway")
	}
	file, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Open(file) // the user may not look into the directory
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	c := exec.Command("/proc/self/fd/3", "-test.short", "-test.run", "^(TestKnownBytes|TestShortConnections)$")
	c.ExtraFiles = []*os.File{self}
	c.Dir = "/"
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestAgreesWithSS compares with what ss prints.
func TestAgreesWithSS(t *testing.T) {
	if _, err := exec.LookPath("ss"); err != nil {
		t.Skip(err)
	}
	b := newBook()
	l := open(t, b)
	client, server, _ := pair(t, "tcp", "127.0.0.1")
	send(t, client, server, 54321)
	send(t, server, client, 1234)
	local, peer := address(client.LocalAddr()), address(client.RemoteAddr())
	out, err := exec.Command("ss", "-tineH", "src", local.String(), "dst", peer.String()).CombinedOutput()
	if err != nil {
		t.Fatal(err, string(out))
	}
	if err := l.List(b); err != nil {
		t.Fatal(err)
	}
	s, ok := b.find(false, local, peer)
	if !ok || !strings.HasPrefix(string(out), s.State.String()) {
		t.Fatalf("%+v\n%s", s, out)
	}
	ss := func(name string) string {
		m := regexp.MustCompile(`\b` + name + `[: ]([^ \n]+)`).FindSubmatch(out)
		if m == nil {
			t.Fatalf("no %s in %s", name, out)
		}
		return string(m[1])
	}
	number := func(name string, base int) uint64 {
		n, err := strconv.ParseUint(ss(name), base, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for name, got := range map[string]uint64{
		"bytes_sent": s.TCP.BytesSent, "bytes_acked": s.TCP.BytesAcked, "bytes_received": s.Bytes.In, "segs_out": s.Packets.Out,
		"segs_in": s.Packets.In, "mss": uint64(s.TCP.MSS), "pmtu": uint64(s.TCP.PMTU), "cwnd": uint64(s.TCP.CwndSegments), "ino": s.Inode,
	} {
		if want := number(name, 10); got != want {
			t.Errorf("%s: %d, ss says %d", name, got, want)
		}
	}
	if number("sk", 16) != s.ID {
		t.Errorf("%x, ss says %s", s.ID, ss("sk"))
	}
	if rtt, _, _ := strings.Cut(ss("rtt"), "/"); rtt != strconv.FormatFloat(s.RTT, 'f', -1, 64) {
		t.Errorf("round trip %v, ss says %s", s.RTT, rtt)
	}
	if !strings.Contains(string(out), s.Congestion) || s.Congestion == "" {
		t.Errorf("congestion control %q", s.Congestion)
	}
}

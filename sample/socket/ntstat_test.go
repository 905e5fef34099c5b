package socket

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
)

// ntBytes makes messages byte by byte, at the offsets of the kernel's headers.
type ntBytes []byte

func (b ntBytes) u16(at int, v uint16) ntBytes { le.PutUint16(b[at:], v); return b }
func (b ntBytes) u32(at int, v uint32) ntBytes { le.PutUint32(b[at:], v); return b }
func (b ntBytes) u64(at int, v uint64) ntBytes { le.PutUint64(b[at:], v); return b }
func (b ntBytes) text(at int, s string) ntBytes {
	copy(b[at:], s)
	return b
}

func (b ntBytes) addr(at int, a string) ntBytes {
	x := netip.MustParseAddrPort(a)
	b[at+2], b[at+3] = byte(x.Port()>>8), byte(x.Port())
	if x.Addr().Is4() {
		b[at], b[at+1] = 16, 2
		ip := x.Addr().As4()
		copy(b[at+4:], ip[:])
		return b
	}
	b[at], b[at+1] = 28, 30
	ip := x.Addr().As16()
	copy(b[at+8:], ip[:])
	return b
}

func ntMake(size int, kind uint32, flags uint16) ntBytes {
	return make(ntBytes, size).u32(8, kind).u16(12, uint16(size)).u16(14, flags)
}

// ntUpdateBytes makes an update with counts that all differ; the descriptor has the given size.
func ntUpdateBytes(ref uint64, p provider, size int, flags uint16) ntBytes {
	b := ntMake(152+size, ntSourceUpdate, flags).u64(16, ref).u32(144, uint32(p))
	for i := range 10 {
		b.u64(32+8*i, uint64(100+i))
	}
	for i := range 8 {
		b.u32(112+4*i, uint32(200+32*i))
	}
	return b
}

// tcpBytes is an update of TCP or QUIC as macOS writes it in a version.
func tcpBytes(ref uint64, p provider, size int, flags uint16) ntBytes {
	const d = 152
	b := ntUpdateBytes(ref, p, size, flags)
	b.u64(d, 777).u64(d+8, 778).u64(d+16, 123456).u64(d+24, 123999)
	b.u32(d+72, 4).u32(d+76, 4).u32(d+80, 131072).u32(d+84, 300).u32(d+88, 131072).u32(d+92, 400)
	b.u32(d+96, 1448).u32(d+100, 65535).u32(d+104, 14480).u32(d+116, 501).u32(d+120, 502)
	b.addr(d+124, "192.168.1.23:50112").addr(d+152, "17.57.144.86:443")
	b.text(d+180, "cubic").text(d+196, "Safari")
	switch size {
	case 336:
		b.u32(d+324, 1).u32(d+328, 8)
	case 344:
		b.u32(d+328, 501).u32(d+332, 1).u32(d+336, 8)
	}
	return b
}

func udpBytes(ref uint64, p provider, size int, flags uint16) ntBytes {
	const d = 152
	b := ntUpdateBytes(ref, p, size, flags)
	b.u64(d, 777).u64(d+8, 778).u64(d+16, 123456).u64(d+24, 123999)
	b.addr(d+56, "[fd00::23]:5353").addr(d+84, "[ff02::fb]:5353")
	b.u32(d+112, 4).u32(d+116, 786432).u32(d+120, 400).u32(d+128, 88).text(d+132, "mDNSResponder").u32(d+196, 88)
	switch size {
	case 272:
		b.u32(d+264, 8)
	case 280:
		b.u32(d+268, 65).u32(d+272, 8)
	}
	return b
}

func TestUpdatesOfAllVersions(t *testing.T) {
	counts := Socket{
		Packets: Bytes{100, 102}, Bytes: Bytes{101, 103},
		Media: [NumMedia]Bytes{Cellular: {104, 105}, Wifi: {106, 107}, Wired: {108, 109}}, Retrans: 200 + 64,
		Interface: 4, Unique: 777, Has: HasBytes | HasMedia | HasQueues, Received: 400,
	}
	tcp := counts
	tcp.State, tcp.Has, tcp.PID = Established, counts.Has|HasRetrans|HasWindow|HasRTT|HasMinRTT, 501
	tcp.Local, tcp.Peer = netip.MustParseAddrPort("192.168.1.23:50112"), netip.MustParseAddrPort("17.57.144.86:443")
	tcp.Unsent, tcp.Unacked, tcp.Window, tcp.Congestion = 300, 1448, 14480, "cubic"
	tcp.MinRTT, tcp.RTT, tcp.RTTVar = (200.0+160)/32, (200.0+192)/32, (200.0+224)/16
	withUser := func(s Socket, uid uint32) Socket {
		s.UID, s.Has = uid, s.Has|HasUID
		return s
	}
	userland := tcp
	userland.Bytes, userland.Has = Bytes{104 + 106 + 108, 105 + 107 + 109}, tcp.Has&^(HasRTT|HasMinRTT)
	userland.RTT, userland.RTTVar, userland.MinRTT = 0, 0, 0
	quic := userland
	quic.Protocol = QUIC
	udp := counts
	udp.Protocol, udp.State, udp.PID = UDP, Established, 88
	udp.Local, udp.Peer = netip.MustParseAddrPort("[fd00::23]:5353"), netip.MustParseAddrPort("[ff02::fb]:5353")
	udpUser := udp
	udpUser.Bytes = userland.Bytes
	closing := withUser(tcp, 501)
	closing.Closed = true
	silent := userland
	silent.Media, silent.Bytes = [NumMedia]Bytes{}, Bytes{101, 103}
	listener := tcp
	listener.State, listener.Peer = Listen, netip.MustParseAddrPort("0.0.0.0:0")
	listener.Has &^= HasQueues | HasWindow
	listener.Received, listener.Unsent = 0, 0
	for name, x := range map[string]struct {
		m    ntBytes
		want Socket
	}{
		"tcp, macOS 13":                 {tcpBytes(1, tcpKernel, 336, 0), tcp},
		"tcp, macOS 14":                 {tcpBytes(1, tcpKernel, 344, 0), withUser(tcp, 501)},
		"tcp, longer":                   {tcpBytes(1, tcpKernel, 360, 0), tcp},
		"tcp, closing":                  {tcpBytes(1, tcpKernel, 344, ntClosing), closing},
		"tcp of a library":              {tcpBytes(1, tcpUserland, 344, 0), withUser(userland, 501)},
		"tcp of a library, over lo0":    {ntBytes(tcpBytes(1, tcpUserland, 336, 0)).u64(64, 0).u64(72, 0).u64(80, 0).u64(88, 0).u64(96, 0).u64(104, 0), silent},
		"quic":                          {tcpBytes(1, quicUserland, 344, 0), withUser(quic, 501)},
		"udp, macOS 13":                 {udpBytes(1, udpKernel, 272, 0), udp},
		"udp, macOS 14":                 {udpBytes(1, udpKernel, 280, 0), withUser(udp, 65)},
		"udp, longer":                   {udpBytes(1, udpKernel, 336, 0), udp},
		"udp of a library":              {udpBytes(1, udpUserland, 280, 0), withUser(udpUser, 65)},
		"tcp, listening by its state":   {tcpBytes(1, tcpKernel, 336, 0).u32(152+76, 1).addr(152+152, "0.0.0.0:0"), listener},
		"tcp, listening by a property":  {tcpBytes(1, tcpKernel, 336, 0).u32(152+328, 0x02000008).addr(152+152, "0.0.0.0:0"), listener},
		"tcp, a state that nobody knew": {tcpBytes(1, tcpKernel, 336, 0).u32(152+76, 99), func() Socket { s := tcp; s.State = Unknown; return s }()},
	} {
		t.Run(name, func(t *testing.T) {
			var got Socket
			m, rest, ok := cutStatistic(x.m)
			if !ok || len(rest) != 0 {
				t.Fatal("no message")
			}
			f, ok := m.update(&got, func(b []byte) string { return string(b) })
			if !ok || got != x.want {
				t.Errorf("%v\n got %+v\nwant %+v", ok, got, x.want)
			}
			if f.start != 123456 {
				t.Errorf("start %d", f.start)
			}
		})
	}
}

func TestUpdatesThatAreNone(t *testing.T) {
	for name, m := range map[string]ntBytes{
		"too short for tcp":   tcpBytes(1, tcpKernel, 335, 0)[:152+335],
		"tcp as long as udp":  ntUpdateBytes(1, tcpKernel, 280, 0),
		"too short for udp":   ntUpdateBytes(1, udpKernel, 271, 0),
		"a route":             ntUpdateBytes(1, 1, 344, 0),
		"no descriptor":       ntMake(152, ntSourceUpdate, 0),
		"no counts":           ntMake(40, ntSourceUpdate, 0),
		"counts only":         ntMake(144, 10004, 0),
		"a header":            ntMake(16, ntSourceUpdate, 0),
		"longer than it says": ntMake(600, 10007, 0),
	} {
		var s Socket
		if _, ok := ntMessage(m).update(&s, func(b []byte) string { return "" }); ok {
			t.Errorf("%s: taken for a socket: %+v", name, s)
		}
	}
}

func TestMessagesOfADatagram(t *testing.T) {
	datagram := slices.Concat(tcpBytes(7, tcpKernel, 344, 0), udpBytes(8, udpKernel, 272, 0), ntMake(16, ntSuccess, ntContinuation))
	var kinds []string
	rest := []byte(datagram)
	for {
		m, next, ok := cutStatistic(rest)
		if !ok {
			break
		}
		ref, _ := m.source()
		kinds = append(kinds, fmt.Sprint(m.kind(), " ", ref))
		rest = next
	}
	if want := []string{"10006 7", "10006 8", "0 0"}; !slices.Equal(kinds, want) || len(rest) != 0 {
		t.Errorf("got %v, %d bytes left", kinds, len(rest))
	}
	for _, cut := range []int{0, 15, 16, 495} {
		if m, _, ok := cutStatistic(datagram[:cut]); ok {
			t.Errorf("a message of %d bytes in %d", len(m), cut)
		}
	}
	if _, _, ok := cutStatistic(ntMake(16, 0, 0).u16(12, 8)); ok {
		t.Error("a message shorter than its header")
	}
}

func TestRequests(t *testing.T) {
	if b := ntBytes(addAllSources(3, quicUserland)); len(b) != 56 || le.Uint64(b) != 3 || le.Uint32(b[8:]) != 1002 ||
		le.Uint16(b[12:]) != 56 || le.Uint64(b[16:]) != 0x100000 || le.Uint32(b[32:]) != 8 {
		t.Errorf("% x", b)
	}
	var buf [24]byte
	if b := getUpdates(&buf, 5); le.Uint64(b) != 5 || le.Uint32(b[8:]) != 1007 || le.Uint16(b[12:]) != 24 ||
		le.Uint16(b[14:]) != 2 || le.Uint64(b[16:]) != ntAll {
		t.Errorf("% x", b)
	}
}

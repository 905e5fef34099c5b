package socket

import (
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"
)

// diagnosis is what a test has the kernel say about a socket.
type diagnosis struct {
	family, state, retrans byte
	local, peer            string
	received, unsent       uint32
	uid, inode             uint32
	info                   []byte
	more                   []byte // further attributes
}

const cookie = 0x1234567_89abcdef

func (d diagnosis) bytes() []byte {
	ne := binary.NativeEndian
	b := make([]byte, diagSize)
	b[0], b[1], b[2], b[3] = d.family, d.state, 1, d.retrans
	for i, text := range []string{d.local, d.peer} {
		a := netip.MustParseAddrPort(text)
		binary.BigEndian.PutUint16(b[4+2*i:], a.Port())
		copy(b[8+16*i:], a.Addr().AsSlice())
	}
	ne.PutUint32(b[40:], 3)
	ne.PutUint32(b[44:], cookie&(1<<32-1))
	ne.PutUint32(b[48:], cookie>>32)
	ne.PutUint32(b[52:], 200)
	ne.PutUint32(b[56:], d.received)
	ne.PutUint32(b[60:], d.unsent)
	ne.PutUint32(b[64:], d.uid)
	ne.PutUint32(b[68:], d.inode)
	if d.info != nil {
		b = append(b, attribute(2, d.info)...)
	}
	return append(b, d.more...)
}

func attribute(kind uint16, value []byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(4+len(value)))
	b = append(binary.NativeEndian.AppendUint16(b, kind), value...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// tcpInfo writes a tcp_info of this length.
func tcpInfo(length int, fields map[int]uint64) []byte {
	b := make([]byte, 280)
	for at, v := range fields {
		switch at {
		case 2:
			b[at] = byte(v)
		case 120, 128, 160, 200, 208:
			binary.NativeEndian.PutUint64(b[at:], v)
		default:
			binary.NativeEndian.PutUint32(b[at:], uint32(v))
		}
	}
	return b[:length]
}

// busy is the tcp_info of a connection that has done something.
var busy = map[int]uint64{
	16: 1448, 20: 536, 24: 3, 44: 11, 52: 12, 56: 13, 60: 1500, 68: 2500, 72: 1250, 76: 7, 80: 10, 120: 1001, 128: 7000,
	136: 21, 140: 22, 144: 99, 148: 1500, 152: 9, 160: 1 << 33, 200: 1300, 208: 200,
}

func TestOpenSockets(t *testing.T) {
	drops := make([]byte, 36)
	binary.NativeEndian.PutUint32(drops[32:], 17)
	full := Socket{
		ID: cookie, State: Established, Has: HasBytes | HasRetrans | HasRTT | HasMinRTT | HasWindow | HasQueues | HasUID | HasTCPInfo,
		Local: netip.MustParseAddrPort("192.168.1.2:50000"), Peer: netip.MustParseAddrPort("198.51.100.7:443"), Interface: 3,
		UID: 1000, Inode: 777, Bytes: Bytes{In: 7000, Out: 1100}, Retrans: 200, Packets: Bytes{In: 22, Out: 21},
		Received: 5, Unsent: 6, RTT: 2.5, RTTVar: 1.25, MinRTT: 1.5, Window: 14480, Unacked: 3 * 1448, Retries: 2,
		TCP: TCPInfo{MSS: 1448, PMTU: 1500, CwndSegments: 10, SsthreshSegments: 7, BytesSent: 1300, BytesAcked: 1001,
			LastSent: 11, LastReceived: 12, LastAck: 13, NotSent: 99, DeliveryRate: 1 << 33},
	}
	d := diagnosis{family: 2, state: 1, retrans: 2, local: "192.168.1.2:50000", peer: "198.51.100.7:443", received: 5, unsent: 6,
		uid: 1000, inode: 777, info: tcpInfo(280, busy)}
	for what, c := range map[string]struct {
		change func(d *diagnosis)
		want   func(s *Socket)
	}{
		"everything": {func(d *diagnosis) {
			d.more = append(attribute(4, []byte("bbr\x00")), attribute(21, []byte{1, 1, 1, 1, 1, 1, 1, 1})...)
			d.more = append(d.more, attribute(7, drops)...)
		}, func(s *Socket) {
			s.Congestion, s.Cgroup, s.Drops = "bbr", 0x0101010101010101, 17
			s.Has |= HasDrops
		}},
		"Linux 4.18": {func(d *diagnosis) { d.info = tcpInfo(192, busy) }, func(s *Socket) {
			s.Bytes.Out, s.Retrans, s.TCP.BytesSent = 1000, 0, 0
			s.Has &^= HasRetrans
		}},
		"Linux 4.4": {func(d *diagnosis) { d.info = tcpInfo(144, busy) }, func(s *Socket) {
			s.Bytes.Out, s.Retrans, s.TCP.BytesSent, s.TCP.NotSent, s.TCP.DeliveryRate, s.MinRTT = 1000, 0, 0, 0, 0, 0
			s.Has &^= HasRetrans | HasMinRTT
		}},
		"Linux 3.10": {func(d *diagnosis) { d.info = tcpInfo(104, busy) }, func(s *Socket) {
			s.Bytes, s.Retrans, s.Packets, s.MinRTT = Bytes{}, 0, Bytes{}, 0
			s.TCP.BytesSent, s.TCP.BytesAcked, s.TCP.NotSent, s.TCP.DeliveryRate = 0, 0, 0, 0
			s.Has &^= HasRetrans | HasMinRTT | HasBytes
		}},
		"the peer has ended": {func(d *diagnosis) { d.state = 8 }, func(s *Socket) { s.State, s.Bytes.In = CloseWait, 6999 }},
		"nobody holds it":    {func(d *diagnosis) { d.inode, d.uid = 0, 0 }, func(s *Socket) { s.Inode, s.UID = 0, 0; s.Has &^= HasUID }},
		"IPv6": {func(d *diagnosis) { d.family, d.local, d.peer = 10, "[2001:db8::1]:50000", "[2001:db8::2]:443" }, func(s *Socket) {
			s.Local, s.Peer = netip.MustParseAddrPort("[2001:db8::1]:50000"), netip.MustParseAddrPort("[2001:db8::2]:443")
		}},
		"IPv4 in IPv6": {func(d *diagnosis) {
			d.family, d.local, d.peer = 10, "[::ffff:192.168.1.2]:50000", "[::ffff:198.51.100.7]:443"
		}, func(s *Socket) {}},
		"this machine": {func(d *diagnosis) { d.peer = "192.168.1.2:443" }, func(s *Socket) {
			s.Peer, s.Loopback = netip.MustParseAddrPort("192.168.1.2:443"), true
		}},
		"loopback": {func(d *diagnosis) { d.local, d.peer = "127.0.0.1:50000", "127.8.9.1:443" }, func(s *Socket) {
			s.Local, s.Peer, s.Loopback = netip.MustParseAddrPort("127.0.0.1:50000"), netip.MustParseAddrPort("127.8.9.1:443"), true
		}},
		"a name too long": {func(d *diagnosis) { d.more = attribute(4, []byte(strings.Repeat("x", 300))) }, func(s *Socket) {}},
		"a round trip never measured": {func(d *diagnosis) {
			d.info = tcpInfo(280, busy)
			binary.NativeEndian.PutUint32(d.info[68:], 0)
			binary.NativeEndian.PutUint32(d.info[148:], 1<<32-1)
		}, func(s *Socket) { s.RTT, s.RTTVar, s.MinRTT = 0, 0, 0; s.Has &^= HasRTT | HasMinRTT }},
		"a listener": {func(d *diagnosis) {
			d.state, d.retrans, d.local, d.peer, d.info, d.more = 10, 0, "0.0.0.0:80", "0.0.0.0:0", nil, attribute(7, drops)
			d.received, d.unsent = 4, 128
		}, func(s *Socket) {
			*s = Socket{ID: cookie, State: Listen, Has: HasUID | HasQueues | HasDrops, Interface: 3, UID: 1000, Inode: 777, Drops: 17,
				Local: netip.MustParseAddrPort("0.0.0.0:80"), Peer: netip.MustParseAddrPort("0.0.0.0:0"), Received: 4, Unsent: 128}
		}},
	} {
		t.Run(what, func(t *testing.T) {
			d, want := d, full
			c.change(&d)
			c.want(&want)
			var got Socket
			var dec decoder
			if !dec.open(d.bytes(), 0, &got) || got != want {
				t.Errorf("\n%+v, want\n%+v", got, want)
			}
			if dec.open(d.bytes(), 0xf0000000, &got); got.Namespace != 0xf0000000 || got.ID == want.ID {
				t.Errorf("in another namespace: %+v", got)
			}
		})
	}
	for what, b := range map[string][]byte{
		"what is left of a connection": diagnosis{family: 2, state: 5, local: d.local, peer: d.peer}.bytes(),
		"UDP":                          diagnosis{family: 2, state: 1, local: d.local, peer: d.peer, info: d.info, more: attribute(10, []byte{17})}.bytes(),
		"a unix-domain socket":         diagnosis{family: 1, state: 1, local: d.local, peer: d.peer, info: d.info}.bytes(),
		"an unknown state":             diagnosis{family: 2, state: 12, local: d.local, peer: d.peer, info: d.info}.bytes(),
		"too short":                    d.bytes()[:71],
		"an attribute too long":        d.bytes()[:200],
		"an attribute too short":       append(d.bytes()[:72], 3, 0, 3, 0),
	} {
		var got Socket
		if new(decoder).open(b, 0, &got) {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

func TestClosedSockets(t *testing.T) {
	// What Linux 6.18 says.
	begun := map[int]uint64{16: 524, 20: 88, 80: 10, 148: 1<<32 - 1, 136: 1}
	with := func(m map[int]uint64, more ...uint64) []byte {
		all := make(map[int]uint64)
		for at, v := range m {
			all[at] = v
		}
		for i := 0; i < len(more); i += 2 {
			all[int(more[i])] = more[i+1]
		}
		return tcpInfo(280, all)
	}
	const local, peer = "10.0.0.1:5000", "10.0.0.2:80"
	for what, c := range map[string]struct {
		d     diagnosis
		state State
		bytes Bytes
		ended Ending
	}{
		"an end that was read":     {diagnosis{local: local, peer: peer, info: with(busy)}, Closed, Bytes{7000, 1100}, Normal},
		"an end that was not read": {diagnosis{local: local, peer: peer, info: with(busy), received: 1}, Closed, Bytes{6999, 1100}, Normal},
		"nothing but an end":       {diagnosis{local: local, peer: peer, info: with(busy, 128, 1, 152, 0)}, Closed, Bytes{0, 1100}, Normal},
		"refused":                  {diagnosis{local: local, peer: peer, info: with(begun, 140, 1), unsent: 1}, Closed, Bytes{}, Refused},
		"no answer":                {diagnosis{local: local, peer: peer, info: with(begun, 136, 3, 2, 2), unsent: 1}, Closed, Bytes{}, Failed},
		"accepted, then reset":     {diagnosis{local: local, peer: peer, info: with(begun, 136, 0, 140, 3, 68, 27, 72, 13)}, Closed, Bytes{}, Normal},
		"nobody answers any more":  {diagnosis{local: local, peer: peer, info: with(busy, 2, 2), unsent: 500}, Closed, Bytes{7000, 1100}, Failed},
		"closed after a loss":      {diagnosis{local: local, peer: peer, info: with(busy, 2, 2)}, Closed, Bytes{7000, 1100}, Normal},
		"refused while waiting":    {diagnosis{local: "0.0.0.0:5000", peer: "10.0.0.2:0", info: with(begun, 136, 0), unsent: 3}, Closed, Bytes{}, Refused},
		"no answer while waiting":  {diagnosis{local: "0.0.0.0:5000", peer: "10.0.0.2:0", info: with(begun, 136, 0, 2, 6), unsent: 3}, Closed, Bytes{}, Failed},
		"ended at once":            {diagnosis{local: "0.0.0.0:5000", peer: "10.0.0.2:0", info: with(begun, 136, 0), unsent: 65485}, Closed, Bytes{}, Normal},
		"a listener":               {diagnosis{local: local, peer: "0.0.0.0:0", info: with(map[int]uint64{16: 536, 80: 10})}, Listen, Bytes{}, Normal},
	} {
		c.d.family, c.d.state, c.d.more = 2, 7, attribute(10, []byte{6})
		var got Socket
		if !new(decoder).closed(c.d.bytes(), 0, &got) || !got.Closed || got.State != c.state || got.Bytes != c.bytes || got.Ended != c.ended || got.Has&(HasUID|HasQueues) != 0 {
			t.Errorf("%s: %+v", what, got)
		}
	}
	for what, d := range map[string]diagnosis{
		"never used":    {local: "0.0.0.0:0", peer: "0.0.0.0:0", info: with(begun)},
		"no tcp_info":   {local: local, peer: peer},
		"half tcp_info": {local: local, peer: peer, info: with(busy)[:103]},
	} {
		d.family, d.state = 2, 7
		var got Socket
		if new(decoder).closed(d.bytes(), 0, &got) {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

// TestNamesAreBounded has a kernel make up names.
func TestNamesOfCongestionControlAreBounded(t *testing.T) {
	var d decoder
	for i := range 1000 {
		d.name([]byte{'a' + byte(i%26), 'a' + byte(i/26), 0, 'x'})
	}
	if got := d.name([]byte("aa\x00x")); len(d.names) != mostNames || got != "aa" {
		t.Errorf("%d names, %q", len(d.names), got)
	}
}

func TestDecodingDoesNotAllocate(t *testing.T) {
	b := diagnosis{family: 10, state: 1, local: "[2001:db8::1]:50000", peer: "[2001:db8::2]:443", info: tcpInfo(280, busy), more: attribute(4, []byte("cubic\x00"))}.bytes()
	var d decoder
	var s Socket
	if n := testing.AllocsPerRun(100, func() { d.open(b, 0, &s); d.closed(b, 0, &s) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzSocket(f *testing.F) {
	f.Add(diagnosis{family: 2, state: 1, local: "10.0.0.1:5000", peer: "10.0.0.2:80", info: tcpInfo(280, busy), more: attribute(4, []byte("cubic\x00"))}.bytes())
	f.Add(diagnosis{family: 10, state: 10, local: "[::]:80", peer: "[::]:0", more: attribute(7, make([]byte, 36))}.bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		var d decoder
		var s Socket
		if d.open(b, 0, &s) && (s.State >= NumStates || len(b) < diagSize) {
			t.Errorf("%+v", s)
		}
		d.closed(b, 7, &s)
	})
}

func BenchmarkDecode(b *testing.B) {
	one := diagnosis{family: 2, state: 1, local: "10.0.0.1:5000", peer: "10.0.0.2:80", info: tcpInfo(280, busy), more: attribute(4, []byte("cubic\x00"))}.bytes()
	var d decoder
	var s Socket
	for b.Loop() {
		d.open(one, 0, &s)
	}
}

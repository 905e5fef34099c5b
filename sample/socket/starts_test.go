package socket

import (
	"encoding/binary"
	"net/netip"
	"testing"
)

// changes is the format of the tracepoint in Linux 6.18.
const changes = `name: inet_sock_set_state
ID: 2287
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:const void * skaddr;	offset:8;	size:8;	signed:0;
	field:int oldstate;	offset:16;	size:4;	signed:1;
	field:int newstate;	offset:20;	size:4;	signed:1;
	field:__u16 sport;	offset:24;	size:2;	signed:0;
	field:__u16 dport;	offset:26;	size:2;	signed:0;
	field:__u16 family;	offset:28;	size:2;	signed:0;
	field:__u16 protocol;	offset:30;	size:2;	signed:0;
	field:__u8 saddr[4];	offset:32;	size:4;	signed:0;
	field:__u8 daddr[4];	offset:36;	size:4;	signed:0;
	field:__u8 saddr_v6[16];	offset:40;	size:16;	signed:0;
	field:__u8 daddr_v6[16];	offset:56;	size:16;	signed:0;

print fmt: "family=%s"
`

// change writes the fields of a change of state.
func change(socket uint64, from, to State, local, peer string) []byte {
	ne := binary.NativeEndian
	b := make([]byte, 76)
	ne.PutUint64(b[8:], socket)
	ne.PutUint32(b[16:], uint32(from))
	ne.PutUint32(b[20:], uint32(to))
	l, p := netip.MustParseAddrPort(local), netip.MustParseAddrPort(peer)
	ne.PutUint16(b[24:], l.Port())
	ne.PutUint16(b[26:], p.Port())
	ne.PutUint16(b[28:], 2)
	if l.Addr().Is6() {
		ne.PutUint16(b[28:], 10)
	} else {
		copy(b[32:], l.Addr().AsSlice())
		copy(b[36:], p.Addr().AsSlice())
	}
	six, peer6 := l.Addr().As16(), p.Addr().As16()
	copy(b[40:], six[:])
	copy(b[56:], peer6[:])
	return b
}

func TestStartsOfConnections(t *testing.T) {
	s := newStarts(changes)
	if s == nil {
		t.Fatal("the format is not understood")
	}
	closed := func(local, peer string) int32 {
		return s.of(&Socket{Local: netip.MustParseAddrPort(local), Peer: netip.MustParseAddrPort(peer)})
	}
	expect := func(local, peer string, want int32) {
		t.Helper()
		if got := closed(local, peer); got != want {
			t.Errorf("%s to %s: %d, want %d", local, peer, got, want)
		}
	}
	s.hear(70, change(1, Closed, SynSent, "0.0.0.0:0", "10.0.0.2:80"))
	s.hear(71, change(2, Closed, SynSent, "[::]:0", "[2001:db8::2]:80"))
	s.hear(72, change(3, Closed, SynSent, "10.0.0.1:0", "10.0.0.2:81"))
	s.hear(73, change(4, Closed, SynSent, "[::]:0", "[::ffff:10.0.0.2]:82"))
	s.hear(0, change(5, Closed, SynSent, "10.0.0.1:0", "10.0.0.2:83"))
	s.hear(0, change(1, SynSent, Established, "10.0.0.1:5001", "10.0.0.2:80"))
	s.hear(99, change(2, SynSent, Established, "[2001:db8::1]:5002", "[2001:db8::2]:80"))
	s.hear(0, change(3, SynSent, Closed, "10.0.0.1:5003", "10.0.0.2:81"))
	s.hear(0, change(4, SynSent, Established, "[::ffff:10.0.0.1]:5004", "[::ffff:10.0.0.2]:82"))
	s.hear(0, change(5, SynSent, Established, "10.0.0.1:5005", "10.0.0.2:83"))
	s.hear(0, change(6, SynSent, Established, "10.0.0.1:5006", "10.0.0.2:84"))
	for i := range 76 {
		s.hear(1, make([]byte, i))
	}
	expect("10.0.0.1:5001", "10.0.0.2:80", 70)
	expect("10.0.0.1:5001", "10.0.0.2:80", 0) // each closes once
	expect("0.0.0.0:5003", "10.0.0.2:0", 72)
	expect("10.0.0.1:5004", "10.0.0.2:82", 73)
	expect("10.0.0.1:5005", "10.0.0.2:83", 0)
	expect("10.0.0.1:5006", "10.0.0.2:84", 0)
	s.listed()
	expect("[2001:db8::1]:5002", "[2001:db8::2]:80", 71)
	s.listed()
	expect("10.0.0.1:5003", "10.0.0.2:81", 0) // two lists ago
	for i := range uint64(2 * mostStarts) {
		s.hear(1, change(i, Closed, SynSent, "0.0.0.0:0", "10.0.0.2:80"))
	}
	for i := range uint64(2 * mostStarts) {
		peer := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}), uint16(i>>16+1))
		s.hear(1, change(1<<40, Closed, SynSent, "0.0.0.0:0", "10.0.0.2:80"))
		s.hear(0, change(1<<40, SynSent, Established, "10.0.0.1:5000", peer.String()))
	}
	if len(s.asked) > mostStarts || len(s.begun) > mostStarts {
		t.Errorf("%d and %d are kept", len(s.asked), len(s.begun))
	}
}

func TestOtherFormats(t *testing.T) {
	for _, format := range []string{"", "\tfield:__u16 sport;\toffset:-1;\tsize:2;\n", "field:;;"} {
		if newStarts(format) != nil {
			t.Errorf("%q is understood", format)
		}
	}
}

func FuzzStarts(f *testing.F) {
	f.Add(change(1, Closed, SynSent, "0.0.0.0:0", "10.0.0.2:80"), changes)
	f.Add(change(1, SynSent, Established, "[::1]:1", "[::1]:2"), changes)
	f.Fuzz(func(t *testing.T, b []byte, format string) {
		for _, s := range []*starts{newStarts(changes), newStarts(format)} {
			if s != nil {
				s.asked[1] = 1
				s.hear(1, b)
			}
		}
	})
}

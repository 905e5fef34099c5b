package decode

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"tachograph/sample/metric"
	"testing"
)

// fill returns an answer in which every byte differs from its neighbours.
func fill(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + 1)
	}
	return b
}

func TestFieldOfShortAnswers(t *testing.T) {
	for _, f := range fields {
		whole := fill(f.Off + f.Size)
		if f.Size <= 8 {
			want := uint64(0)
			for i := f.Size - 1; i >= 0; i-- {
				want = want<<8 | uint64(whole[f.Off+i])
			}
			if f.Signed {
				shift := 64 - 8*f.Size
				want = uint64(int64(want<<shift) >> shift)
			}
			if got, ok := f.Uint(whole); !ok || got != want {
				t.Errorf("%s.%s = %#x, %v; want %#x", f.Struct, f.Name, got, ok, want)
			}
		}
		for _, n := range []int{0, f.Off, f.Off + f.Size - 1} {
			if v, ok := f.Uint(whole[:n]); ok {
				t.Errorf("%s.%s = %d from an answer of %d bytes", f.Struct, f.Name, v, n)
			}
		}
	}
}

var bytesIn = Find("if_msghdr2", "ifm_data.ifi_ibytes", "amd64")

// ifMessage builds one message of an interface list.
func ifMessage(name string, index uint16, ibytes uint64) []byte {
	b := make([]byte, ifMsghdr2Size, ifMsghdr2Size+20)
	b[IfMsgType.Off] = rtmIfinfo2
	binary.LittleEndian.PutUint16(b[IfIndex.Off:], index)
	binary.LittleEndian.PutUint64(b[bytesIn.Off:], ibytes)
	addr := make([]byte, 20)
	addr[0], addr[1], addr[5] = 20, afLink, byte(len(name))
	copy(addr[dlDataOff:], name)
	b = append(b, addr...)
	binary.LittleEndian.PutUint16(b, uint16(len(b)))
	return b
}

func TestInterfaces(t *testing.T) {
	address := make([]byte, 20)
	address[0], address[3] = 20, 12 // RTM_NEWADDR
	list := append(ifMessage("en0", 4, 1<<40), address...)
	list = append(list, ifMessage("utun12", 9, 7)...)
	var names []string
	ok := Interfaces(list, func(i Interface) {
		names = append(names, string(i.Name))
		if v, _ := bytesIn.Uint(i.Header); string(i.Name) == "en0" && v != 1<<40 {
			t.Errorf("en0 has %d bytes", v)
		}
	})
	if !ok || len(names) != 2 || names[0] != "en0" || names[1] != "utun12" {
		t.Errorf("interfaces %q, %v", names, ok)
	}
	for name, bad := range map[string][]byte{
		"a length of 0":         append(ifMessage("en0", 1, 1), 0, 0, 5, 18),
		"a length past the end": list[:len(list)-1],
		"a short header":        {8, 0, 5, 18, 0, 0, 0, 0},
		"half a length":         {8},
	} {
		t.Run(name, func(t *testing.T) {
			if Interfaces(bad, func(Interface) {}) {
				t.Error("accepted")
			}
		})
	}
	hostile := ifMessage("en0", 1, 1)
	hostile[ifMsghdr2Size+5] = 200 // a name longer than its address
	Interfaces(hostile, func(i Interface) {
		if i.Name != nil {
			t.Errorf("name %q from beyond the message", i.Name)
		}
	})
}

const tcpTimeWait = 10

func pcbList(end bool, states ...uint32) []byte {
	gen := make([]byte, xinpgenSize)
	gen[0], gen[4], gen[8] = xinpgenSize, byte(len(states)), 5
	list := append([]byte(nil), gen...)
	for _, s := range states {
		rec := make([]byte, xtcpcb64Size)
		binary.LittleEndian.PutUint32(rec, xtcpcb64Size)
		binary.LittleEndian.PutUint32(rec[TCPCBState.Off:], s)
		list = append(list, rec...)
	}
	if end {
		list = append(list, gen...)
	}
	return list
}

func TestListenersOfTheList(t *testing.T) {
	list := pcbList(true, tcpListen, TCPEstablished, tcpListen)
	for i, l := range []Listener{
		{netip.MustParseAddrPort("127.0.0.1:631"), 3, 128}, {netip.MustParseAddrPort("10.0.0.1:5"), 1, 1}, {netip.MustParseAddrPort("[::]:22"), 0, 5},
	} {
		rec := list[xinpgenSize+i*xtcpcb64Size:]
		binary.BigEndian.PutUint16(rec[22:], l.Local.Port())
		ip := l.Local.Addr().As16()
		copy(rec[116:], ip[:])
		if rec[96] = 2; l.Local.Addr().Is4() {
			rec[96] = 1
		}
		binary.LittleEndian.PutUint16(rec[184:], uint16(l.Waiting))
		binary.LittleEndian.PutUint16(rec[188:], uint16(l.Limit))
	}
	var got []Listener
	if _, ok := ReadTCPList(list, func(l Listener) { got = append(got, l) }); !ok {
		t.Fatal("malformed")
	}
	if want := []Listener{{netip.MustParseAddrPort("127.0.0.1:631"), 3, 128}, {netip.MustParseAddrPort("[::]:22"), 0, 5}}; !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestReadTCPList(t *testing.T) {
	for state, name := range map[int]string{tcpListen: "TCPS_LISTEN", TCPEstablished: "TCPS_ESTABLISHED", tcpTimeWait: "TCPS_TIME_WAIT"} {
		if TCPStates[state] != name {
			t.Errorf("state %d is called %s", state, TCPStates[state])
		}
	}
	list := pcbList(true, TCPEstablished, tcpListen, TCPEstablished, 77)
	l, ok := ReadTCPList(list, nil)
	if !ok || !l.Steady || l.Counts[TCPEstablished] != 2 || l.Counts[tcpListen] != 1 || l.Rows != 4 || l.Told != 4 {
		t.Errorf("%+v, ok %v", l, ok)
	}
	list[len(list)-16]++    // the closing generation
	list[len(list)-20] = 44 // and its count
	if l, ok = ReadTCPList(list, nil); !ok || l.Steady || l.Told != 44 || l.Rows != 4 {
		t.Errorf("a list that changed: %+v, ok %v", l, ok)
	}
	if l, ok = ReadTCPList(pcbList(false), nil); !ok || l != (TCPList{Steady: true}) {
		t.Errorf("a machine without connections: %+v, ok %v", l, ok)
	}
	for n := range uint64(200) {
		// As the kernel computes it.
		if room := TCPListRoom(2*xinpgenSize + int(n+n/8)*xtcpcb64Size); room > n || n-room > 1 {
			t.Errorf("room for %d is for %d at least", n, room)
		}
	}
	for name, bad := range map[string][]byte{
		"nothing":            nil,
		"no closing record":  pcbList(false, tcpListen),
		"cut in a record":    pcbList(false, tcpListen)[:200],
		"only the beginning": pcbList(true, tcpListen)[:xinpgenSize],
	} {
		t.Run(name, func(t *testing.T) {
			if _, ok := ReadTCPList(bad, nil); ok {
				t.Error("accepted")
			}
		})
	}
}

func TestSMCValue(t *testing.T) {
	flt := binary.LittleEndian.AppendUint32(nil, math.Float32bits(47.5))
	for _, c := range []struct {
		encoding string
		b        []byte
		want     float64
		ok       bool
	}{
		{"flt ", flt, 47.5, true},
		{"flt ", flt[:3], 0, false},
		{"flt ", []byte{0, 0, 0xc0, 0x7f}, 0, false}, // not a number
		{"sp78", []byte{0x33, 0x80}, 51.5, true},
		{"sp78", []byte{0xff, 0x00}, -1, true},
		{"sp96", []byte{0x09, 0x80}, 38, true},
		{"fpe2", []byte{0x12, 0xc0}, 1200, true},
		{"fpe3", []byte{0x12, 0xc0}, 0, false},
		{"ui8 ", []byte{200}, 200, true},
		{"si8 ", []byte{200}, -56, true},
		{"ui16", []byte{1, 2}, 258, true},
		{"si16", []byte{0xff, 0xfe}, -2, true},
		{"ui32", []byte{0, 0, 1, 0}, 256, true},
		{"flag", []byte{1}, 1, true},
		{"ioft", []byte{0, 0x80, 2, 0, 0, 0, 0, 0}, 2.5, true},
		{"ch8*", []byte("text"), 0, false},
		{"", nil, 0, false},
	} {
		t.Run(fmt.Sprintf("%q of % x", c.encoding, c.b), func(t *testing.T) {
			if got, ok := SMCValue(c.encoding, c.b); got != c.want || ok != c.ok {
				t.Errorf("%v, %v; want %v, %v", got, ok, c.want, c.ok)
			}
		})
	}
	b := fill(SMCSize)
	SMCRequest(b, "TC0P", SMCRead, 2)
	if !bytes.Equal(b[:4], []byte("P0CT")) || b[28] != 2 || b[42] != 5 || b[48] != 0 {
		t.Errorf("request % x", b)
	}
	if got := SMCType(fourCC("sp78")); got != "sp78" {
		t.Errorf("type %q", got)
	}
}

func TestSysctlType(t *testing.T) {
	for _, c := range []struct {
		kind   Kind
		format string
		size   int
		want   metric.Type
		ok     bool
	}{
		{ctlInt, "I", 4, metric.I32, true},
		{ctlInt, "IU", 4, metric.U32, true},
		{ctlInt, "I", 8, metric.I64, true}, // hw.pagesize by name
		{ctlInt, "L", 8, metric.I64, true},
		{ctlQuad, "Q", 8, metric.I64, true},
		{ctlQuad, "QU", 8, metric.U64, true},
		{ctlQuad, "LU", 8, metric.U64, true},
		{ctlInt, "", 4, metric.I32, true},
		{ctlString, "A", 20, metric.String, true},
		{5, "S,timeval", 16, 0, false},
		{5, "S", 8, 0, false},
		{5, "", 8, 0, false},
		{ctlInt, "I", 12, 0, false},
	} {
		t.Run(fmt.Sprintf("kind %d, format %q, %d bytes", c.kind, c.format, c.size), func(t *testing.T) {
			if got, ok := c.kind.Type(c.format, c.size); got != c.want || ok != c.ok {
				t.Errorf("%v, %v", got, ok)
			}
		})
	}
	kind, format, ok := SysctlFormat([]byte("\x03\x00\x00\xc0A\x00"))
	if !ok || !kind.Writable() || kind.Node() || string(format) != "A" {
		t.Errorf("format %q of kind %#x, %v", format, kind, ok)
	}
	if _, _, ok := SysctlFormat([]byte{1, 2, 3}); ok {
		t.Error("three bytes are no format")
	}
	if v, ok := SysctlBits([]byte{0xff, 0xff, 0xff, 0xff}, metric.I32); !ok || int64(v) != -1 {
		t.Errorf("-1 read as %d", int64(v))
	}
	if v, ok := SysctlBits([]byte{0xff, 0xff, 0xff, 0xff}, metric.U32); !ok || v != math.MaxUint32 {
		t.Errorf("2^32-1 read as %d", v)
	}
}

func TestTimesAndArrays(t *testing.T) {
	tv := make([]byte, 16)
	binary.LittleEndian.PutUint64(tv, 1_750_000_000)
	binary.LittleEndian.PutUint32(tv[8:], 250_000)
	if us, ok := Micros(tv); !ok || us != 1_750_000_000_250_000 {
		t.Errorf("micros %d, %v", us, ok)
	}
	array := &Field{Off: 4, Size: 4, Len: 3}
	if v, ok := array.Element([]byte{0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0}, 1); !ok || v != 2 {
		t.Errorf("element %d, %v", v, ok)
	}
	for _, i := range []int{-1, 3, math.MaxInt} {
		if v, ok := array.Element(fill(16), i); ok {
			t.Errorf("element %d is %d", i, v)
		}
	}
}

func FuzzInterfaces(f *testing.F) {
	f.Add(ifMessage("en0", 1, 2))
	f.Add([]byte{4, 0, 5, 18})
	f.Fuzz(func(t *testing.T, list []byte) {
		Interfaces(list, func(i Interface) {
			if len(i.Header) != ifMsghdr2Size {
				t.Fatalf("a header of %d bytes", len(i.Header))
			}
		})
	})
}

func FuzzReadTCPList(f *testing.F) {
	f.Add(pcbList(true, tcpListen, tcpTimeWait))
	f.Fuzz(func(t *testing.T, list []byte) {
		l, ok := ReadTCPList(list, nil)
		sum := uint64(0)
		for _, n := range l.Counts {
			sum += uint64(n)
		}
		if ok && (sum > l.Rows || l.Rows > uint64(len(list)/xinpgenSize)) {
			t.Fatalf("%+v in %d bytes", l, len(list))
		}
	})
}

func FuzzAnswers(f *testing.F) {
	f.Add("sp78", uint32(2), fill(200))
	f.Fuzz(func(t *testing.T, text string, kind uint32, b []byte) {
		SMCValue(text, b)
		_, _ = Kind(kind).Type(text, len(b))
		SysctlFormat(b)
		Micros(b)
		for _, x := range fields {
			x.Uint(b)
			x.Element(b, int(kind))
			x.Text(b)
		}
		if len(b) >= SMCSize {
			SMCRequest(b, text, byte(kind), kind)
		}
	})
}

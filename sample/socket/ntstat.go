package socket

import (
	"encoding/binary"
	"net/netip"
)

// The kernel of macOS answers on a control socket called com.apple.network.statistics. A datagram
// holds one or more messages, each with a header that has its length. Nothing in them says which
// version of macOS wrote them: the length of a descriptor shows which one it is.

// ntHeader is the size of the header: context, type, length and flags.
const ntHeader = 16

// The types of messages.
const (
	ntSuccess       = 0
	ntError         = 1
	ntAddAllSources = 1002
	ntGetUpdate     = 1007
	ntSourceRemoved = 10002
	ntSourceUpdate  = 10006
)

// The flags of headers.
const (
	ntContinuation = 1 << 1 // there is more to ask for, with the same context
	ntClosing      = 1 << 2 // the last message about a source
)

// ntAll as the number of a source means all sources.
const ntAll = ^uint64(0)

// ntSuppressAdded is a filter: the kernel does not announce sources, but describes them with
// every update, the last one included. Sources without any bytes are not filtered, because they
// are connections and listeners.
const ntSuppressAdded = 0x100000

// A provider is one kind of source. The flows of a userland provider are handled by a library in
// the process: those of most apps.
type provider uint32

const (
	tcpKernel provider = iota + 2
	tcpUserland
	udpKernel
	udpUserland
	quicUserland provider = 8
)

// ntProviders are all kinds of sources that are sockets.
var ntProviders = [...]provider{tcpKernel, tcpUserland, udpKernel, udpUserland, quicUserland}

func (p provider) protocol() (protocol Protocol, ok bool) {
	switch p {
	case tcpKernel, tcpUserland:
		return TCP, true
	case udpKernel, udpUserland:
		return UDP, true
	case quicUserland:
		return QUIC, true
	}
	return 0, false
}

func (p provider) userland() bool { return p == tcpUserland || p == udpUserland || p == quicUserland }

var le = binary.LittleEndian

func ntRequest(b []byte, context uint64, kind, flags uint16) {
	le.PutUint64(b, context)
	le.PutUint32(b[8:], uint32(kind))
	// The kernel ignores the flags of a request whose length is wrong.
	le.PutUint16(b[12:], uint16(len(b)))
	le.PutUint16(b[14:], flags)
}

// addAllSources returns the request that subscribes to all sources of a provider.
func addAllSources(context uint64, p provider) []byte {
	b := make([]byte, 56)
	ntRequest(b, context, ntAddAllSources, 0)
	le.PutUint64(b[16:], ntSuppressAdded)
	le.PutUint32(b[32:], uint32(p))
	return b
}

// getUpdates makes the request for the counts and descriptors of all sources.
func getUpdates(b *[24]byte, context uint64) []byte {
	ntRequest(b[:], context, ntGetUpdate, ntContinuation)
	le.PutUint64(b[16:], ntAll)
	return b[:]
}

// ntMessage is one message of a datagram, header included.
type ntMessage []byte

// cutStatistic cuts the first message off a datagram. ok is false if there is none or it is
// malformed.
func cutStatistic(datagram []byte) (m ntMessage, rest []byte, ok bool) {
	if len(datagram) < ntHeader {
		return nil, nil, false
	}
	n := int(le.Uint16(datagram[12:]))
	if n < ntHeader || n > len(datagram) {
		return nil, nil, false
	}
	return datagram[:n], datagram[n:], true
}

func (m ntMessage) context() uint64 { return le.Uint64(m) }
func (m ntMessage) kind() uint32    { return le.Uint32(m[8:]) }
func (m ntMessage) flags() uint16   { return le.Uint16(m[14:]) }

// errno returns what an error message says.
func (m ntMessage) errno() (uint32, bool) {
	if m.kind() != ntError || len(m) < 24 {
		return 0, false
	}
	return le.Uint32(m[16:]), true
}

// source returns the number of the source that a message is about. Numbers of one client are
// never given again; those of another client are different.
func (m ntMessage) source() (uint64, bool) {
	if k := m.kind(); k != ntSourceUpdate && k != ntSourceRemoved || len(m) < 24 {
		return 0, false
	}
	return le.Uint64(m[16:]), true
}

// Where an update has its parts.
const (
	ntCountsAt     = 32
	ntProviderAt   = 144
	ntDescriptorAt = 152
)

// ntFlow is what an update says that Socket has no room for.
type ntFlow struct {
	provider  provider
	start     uint64 // in ticks of the continuous clock
	succeeded bool   // the connection was established
	inbound   bool
}

// update decodes an update. All of s is overwritten but the strings that are there already; ok
// is false for other messages and layouts that are not known.
func (m ntMessage) update(s *Socket, intern func([]byte) string) (f ntFlow, ok bool) {
	if m.kind() != ntSourceUpdate || len(m) < ntDescriptorAt {
		return f, false
	}
	f.provider = provider(le.Uint32(m[ntProviderAt:]))
	protocol, ok := f.provider.protocol()
	if !ok {
		return f, false
	}
	*s = Socket{Protocol: protocol, Has: HasBytes | HasMedia}
	d := m[ntDescriptorAt:]
	l := layoutOf(protocol, len(d))
	if l == nil {
		return f, false
	}
	l.describe(d, s, &f, intern)
	countsOf(m[ntCountsAt:ntProviderAt], f.provider, s, &f)
	s.Closed = m.flags()&ntClosing != 0
	return f, true
}

// ntLayout says where a descriptor has its members. Every descriptor begins with the unique
// number of the process and has the time of the start behind it.
type ntLayout struct {
	atLeast                           int // bytes
	local, remote                     int
	ifindex, pid                      int
	state, congestion                 int // 0 in those of UDP
	sndUsed, rcvUsed, unacked, window int
	uid, properties                   int // 0 where they are not known
}

// A descriptor that is longer than all known ones has the members of the shortest, which no
// version has moved. The first matching layout applies.
var (
	tcpDescriptor = ntLayout{atLeast: 336, local: 124, remote: 152, ifindex: 72, pid: 116, state: 76, congestion: 180,
		sndUsed: 84, rcvUsed: 92, unacked: 96, window: 104}
	udpDescriptor = ntLayout{atLeast: 272, local: 56, remote: 84, ifindex: 112, pid: 128, rcvUsed: 120}

	ntLayouts = map[int]*ntLayout{
		336: tcpDescriptor.with(0, 328), 344: tcpDescriptor.with(328, 336), // macOS 11 to 13, and later
		272: udpDescriptor.with(0, 264), 280: udpDescriptor.with(268, 272),
	}
)

func (l ntLayout) with(uid, properties int) *ntLayout {
	l.uid, l.properties = uid, properties
	return &l
}

func layoutOf(p Protocol, size int) *ntLayout {
	shortest := &tcpDescriptor
	if p == UDP {
		shortest = &udpDescriptor
	}
	if size < shortest.atLeast {
		return nil
	}
	// Each length belongs to one kind: a descriptor of UDP with the length of TCP's is a new one.
	if l := ntLayouts[size]; l != nil && l.atLeast == shortest.atLeast {
		return l
	}
	return shortest
}

// Bits of ifnet_properties.
const (
	ntListener = 0x02000000
	ntInbound  = 0x04000000
)

// tcpStates are the states by the numbers of Darwin's kernel.
var tcpStates = [...]State{Closed, Listen, SynSent, SynReceived, Established, CloseWait, FinWait1, Closing, LastAck, FinWait2, TimeWait}

func (l *ntLayout) describe(d []byte, s *Socket, f *ntFlow, intern func([]byte) string) {
	s.Unique = le.Uint64(d)
	f.start = le.Uint64(d[16:])
	s.PID = int32(le.Uint32(d[l.pid:]))
	s.Interface = le.Uint32(d[l.ifindex:])
	s.Local, s.Peer = ntAddress(d[l.local:]), ntAddress(d[l.remote:])
	s.Received, s.Has = uint64(le.Uint32(d[l.rcvUsed:])), s.Has|HasQueues
	var properties uint32
	if l.properties != 0 {
		properties = le.Uint32(d[l.properties:])
	}
	f.inbound = properties&ntInbound != 0
	if l.uid != 0 {
		s.UID, s.Has = le.Uint32(d[l.uid:]), s.Has|HasUID
	}
	if l.state != 0 {
		if n := le.Uint32(d[l.state:]); n < uint32(len(tcpStates)) {
			s.State = tcpStates[n]
		}
		s.Has |= HasRetrans | HasWindow
		s.Unsent = uint64(le.Uint32(d[l.sndUsed:]))
		s.Unacked = uint64(le.Uint32(d[l.unacked:]))
		s.Window = uint64(le.Uint32(d[l.window:]))
		name := d[l.congestion : l.congestion+16]
		n := 0
		for n < len(name) && name[n] != 0 {
			n++
		}
		s.Congestion = intern(name[:n])
	}
	if l.state == 0 && s.Peer.Port() != 0 {
		s.State = Established
	}
	if properties&ntListener != 0 {
		s.State = Listen
	}
	if s.State == Listen {
		// The queue of a socket that listens has connections, which are listed elsewhere.
		s.Has &^= HasQueues | HasWindow
		s.Received, s.Unsent = 0, 0
	}
}

// ntAddress decodes a socket address of 28 bytes; a zero result means that there is none.
func ntAddress(b []byte) netip.AddrPort {
	port := binary.BigEndian.Uint16(b[2:])
	switch b[1] {
	case 2:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), port)
	case 30:
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])).Unmap(), port)
	}
	return netip.AddrPort{}
}

// Round trips of the kernel's TCP are in 32nds of a millisecond, their variation in 16ths.
const (
	rttScale    = 32
	rttVarScale = 16
)

// countsOf decodes the 112 bytes of counts.
func countsOf(c []byte, p provider, s *Socket, f *ntFlow) {
	u64 := func(at int) uint64 { return le.Uint64(c[at:]) }
	u32 := func(at int) uint32 { return le.Uint32(c[at:]) }
	s.Packets = Bytes{u64(0), u64(16)}
	s.Bytes = Bytes{u64(8), u64(24)}
	s.Media[Cellular] = Bytes{u64(32), u64(40)}
	s.Media[Wifi] = Bytes{u64(48), u64(56)}
	s.Media[Wired] = Bytes{u64(64), u64(72)}
	s.Retrans = uint64(u32(88))
	f.succeeded = u32(96) != 0
	if p.userland() {
		// The process itself writes its totals; the kernel counts the bytes of each medium.
		var all Bytes
		for _, m := range s.Media {
			all.In, all.Out = all.In+m.In, all.Out+m.Out
		}
		if all != (Bytes{}) {
			s.Bytes = all
		}
		// What the process says about its round trips has no known scale.
		return
	}
	if p != tcpKernel {
		return
	}
	if avg := u32(104); avg != 0 {
		s.Has |= HasRTT
		s.RTT, s.RTTVar = float64(avg)/rttScale, float64(u32(108))/rttVarScale
	}
	if least := u32(100); least != 0 {
		s.Has |= HasMinRTT
		s.MinRTT = float64(least) / rttScale
	}
}

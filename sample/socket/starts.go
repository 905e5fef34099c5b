package socket

import (
	"encoding/binary"
	"net/netip"

	"tachograph/sample/stack/perf"
)

// starts knows which process began a connection, from the tracepoint sock:inet_sock_set_state.
// When a connection is asked for, the kernel acts for the process, but has not chosen the port
// yet. When the answer comes, it acts for nobody, but the port is there. The address of the
// socket in the kernel's memory links the two.
//
// The connections of all network namespaces are together: it is not known which one is whose.
type starts struct {
	at    stateFields
	asked map[uint64]int32
	// begun are the connections since the last list, and those between it and the one before:
	// older ones have been listed, or have closed.
	begun, before map[ends]int32
}

// ends are the two ends of a connection.
type ends struct{ local, peer netip.AddrPort }

// mostStarts bounds each map of starts.
const mostStarts = 1 << 15

// stateFields are the places of the tracepoint's fields.
type stateFields struct {
	socket, from, to, port, peerPort, family, address, peer, address6, peer6 int
}

// newStarts reads the kernel's description of the tracepoint. It returns nil if that lacks
// something.
func newStarts(format string) *starts {
	s := &starts{asked: make(map[uint64]int32), begun: make(map[ends]int32), before: make(map[ends]int32)}
	for _, f := range []struct {
		name string
		size int
		at   *int
	}{
		{"skaddr", 8, &s.at.socket}, {"oldstate", 4, &s.at.from}, {"newstate", 4, &s.at.to}, {"sport", 2, &s.at.port}, {"dport", 2, &s.at.peerPort},
		{"family", 2, &s.at.family}, {"saddr", 4, &s.at.address}, {"daddr", 4, &s.at.peer}, {"saddr_v6", 16, &s.at.address6}, {"daddr_v6", 16, &s.at.peer6},
	} {
		at, ok := perf.FieldOf(format, f.name, f.size)
		if !ok {
			return nil
		}
		*f.at = at
	}
	return s
}

// hear takes in a change of state, and the process on whose behalf it was.
func (s *starts) hear(pid int32, b []byte) {
	ne := binary.NativeEndian
	f := &s.at
	if len(b) < max(f.socket+8, f.from+4, f.to+4, f.port+2, f.peerPort+2, f.family+2, f.address+4, f.peer+4, f.address6+16, f.peer6+16) {
		return
	}
	socket, to := ne.Uint64(b[f.socket:]), State(min(ne.Uint32(b[f.to:]), uint32(NumStates)))
	if to == SynSent {
		if len(s.asked) >= mostStarts {
			clear(s.asked)
		}
		if pid != 0 {
			s.asked[socket] = pid
		}
		return
	}
	pid, ok := s.asked[socket]
	if !ok {
		return
	}
	delete(s.asked, socket)
	if len(s.begun) >= mostStarts {
		return
	}
	local, peer := netip.AddrFrom4([4]byte(b[f.address:])), netip.AddrFrom4([4]byte(b[f.peer:]))
	none := netip.IPv4Unspecified()
	if ne.Uint16(b[f.family:]) != 2 {
		local, peer = netip.AddrFrom16([16]byte(b[f.address6:])).Unmap(), netip.AddrFrom16([16]byte(b[f.peer6:])).Unmap()
		none = netip.IPv6Unspecified()
	}
	port := ne.Uint16(b[f.port:])
	s.begun[ends{netip.AddrPortFrom(local, port), netip.AddrPortFrom(peer, ne.Uint16(b[f.peerPort:]))}] = pid
	if to == Closed {
		// The kernel may wipe what a connection that was refused has: see decoder.closed.
		s.begun[ends{netip.AddrPortFrom(none, port), netip.AddrPortFrom(peer, 0)}] = pid
	}
}

// of returns the process that began a connection that has closed, 0 if it is not known.
func (s *starts) of(closed *Socket) int32 {
	e := ends{closed.Local, closed.Peer}
	for _, m := range []map[ends]int32{s.begun, s.before} {
		if pid, ok := m[e]; ok {
			delete(m, e)
			return pid
		}
	}
	return 0
}

// listed forgets the connections that began before the last list.
func (s *starts) listed() {
	s.begun, s.before = s.before, s.begun
	clear(s.begun)
}

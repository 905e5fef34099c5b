package socket

import "encoding/binary"

// Numbers of the netlink protocol.
const (
	nlHeader    = 16
	nlError     = 2
	nlDone      = 3
	nlDumpTorn  = 0x10  // NLM_F_DUMP_INTR: the table changed while it was listed
	nlDump      = 0x301 // request, dump
	diagTCP     = 18    // TCPDIAG_GETSOCK
	diagFamily  = 20    // SOCK_DIAG_BY_FAMILY
	diagRequest = nlHeader + 60
	malformed   = 74 // EBADMSG
)

// message is one netlink message.
type message struct {
	kind, flags uint16
	seq         uint32
	body        []byte
}

// nextMessage returns the first message of b and what follows it. The body is nil if b does not
// begin with a whole message.
func nextMessage(b []byte) (m message, rest []byte) {
	if len(b) < nlHeader {
		return message{}, nil
	}
	ne := binary.NativeEndian
	n := uint64(ne.Uint32(b))
	if n < nlHeader || n > uint64(len(b)) {
		return message{}, nil
	}
	m = message{kind: ne.Uint16(b[4:]), flags: ne.Uint16(b[6:]), seq: ne.Uint32(b[8:]), body: b[nlHeader:n:n]}
	return m, b[min((n+3)&^3, uint64(len(b))):]
}

// query writes a request for the TCP sockets in some states (a bit for each) with some
// attributes (bit n-1 for attribute n). It is for every family at once: for each request the
// kernel goes through its whole table, which is large even if nearly empty. Only the oldest kind
// of request is for all families.
func query(buf []byte, seq, states uint32, attributes uint8) []byte {
	buf = append(buf[:0], make([]byte, diagRequest)...)
	ne := binary.NativeEndian
	ne.PutUint32(buf[0:], diagRequest)
	ne.PutUint16(buf[4:], diagTCP)
	ne.PutUint16(buf[6:], nlDump)
	ne.PutUint32(buf[8:], seq)
	buf[nlHeader+3] = attributes
	ne.PutUint32(buf[nlHeader+52:], states)
	return buf
}

// answer is what the kernel has said to a query so far.
type answer struct {
	seq   uint32
	done  bool
	torn  bool   // sockets may be missing, or be there twice
	errno uint32 // why the kernel refuses
}

// read takes in the messages of one read, and passes each socket to each.
func (a *answer) read(b []byte, each func(socket []byte)) {
	for len(b) >= nlHeader && !a.done {
		m, rest := nextMessage(b)
		if m.body == nil {
			a.done, a.errno = true, malformed
			return
		}
		b = rest
		if m.seq != a.seq {
			continue // answers an earlier query
		}
		a.torn = a.torn || m.flags&nlDumpTorn != 0
		switch m.kind {
		case nlDone:
			a.done = true
			// The list ends with an error if the kernel could not finish it.
			if len(m.body) >= 4 {
				a.errno = -binary.NativeEndian.Uint32(m.body)
			}
		case nlError:
			a.done, a.errno = true, malformed
			if len(m.body) >= 4 {
				a.errno = -binary.NativeEndian.Uint32(m.body)
			}
		case diagTCP, diagFamily:
			each(m.body)
		}
	}
}

// StateCounts counts TCP sockets by the kernel's number for their state.
type StateCounts [16]uint64

// add counts a socket.
func (c *StateCounts) add(socket []byte) {
	if len(socket) > diagState && int(socket[diagState]) < len(c) {
		c[socket[diagState]]++
	}
}

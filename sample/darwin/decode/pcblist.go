package decode

import (
	"encoding/binary"
	"net/netip"
)

const (
	xinpgenSize  = 24
	xtcpcb64Size = 472
)

// TCPStates are the states of a TCP connection, as Darwin numbers them.
var TCPStates = [...]string{
	"TCPS_CLOSED", "TCPS_LISTEN", "TCPS_SYN_SENT", "TCPS_SYN_RECEIVED", "TCPS_ESTABLISHED", "TCPS_CLOSE_WAIT",
	"TCPS_FIN_WAIT_1", "TCPS_CLOSING", "TCPS_LAST_ACK", "TCPS_FIN_WAIT_2", "TCPS_TIME_WAIT",
}

// The numbers of the states in which connections are accepted and in which data flow.
const (
	tcpListen      = 1
	TCPEstablished = 4
)

// TCPList summarises a list of TCP control blocks.
type TCPList struct {
	Counts [len(TCPStates)]uint32
	// Rows is the number of listed connections; Told is the number of existing ones according to
	// the records at the list's beginning and end, including those not shown to the caller.
	Rows, Told uint64
	// Steady is false if connections came or went while the kernel wrote the list.
	Steady bool
}

// Listener is a socket that listens: connections of Waiting wait to be accepted, and Limit may.
type Listener struct {
	Local          netip.AddrPort
	Waiting, Limit uint64
}

// ReadTCPList counts the connections of a net.inet.tcp.pcblist64 answer, and passes those that
// listen to visit if it is not nil. The list begins and ends with a generation record, or has
// only the first if there are no connections at all. ok is false if the answer is malformed.
func ReadTCPList(list []byte, visit func(Listener)) (l TCPList, ok bool) {
	head, ok := PCBLen.Uint(list)
	if !ok || head < xinpgenSize || int(head) > len(list) {
		return l, false
	}
	gen, _ := PCBGen.Uint(list)
	l.Told, _ = PCBCount.Uint(list)
	if l.Told == 0 && int(head) == len(list) {
		l.Steady = true
		return l, true
	}
	list = list[head:]
	for len(list) > 0 {
		n, ok := TCPCBLen.Uint(list)
		if !ok || n < xinpgenSize || n > uint64(len(list)) {
			return l, false
		}
		rec := list[:n]
		list = list[n:]
		if n == xinpgenSize {
			end, _ := PCBGen.Uint(rec)
			told, _ := PCBCount.Uint(rec)
			l.Told, l.Steady = max(l.Told, told), gen == end
			return l, true
		}
		state, ok := TCPCBState.Uint(rec)
		if !ok {
			return l, false
		}
		l.Rows++
		if state < uint64(len(TCPStates)) {
			l.Counts[state]++
		}
		if state == tcpListen && visit != nil {
			if x, ok := readListener(rec); ok {
				visit(x)
			}
		}
	}
	// Without the closing record the list is truncated.
	return l, false
}

func readListener(rec []byte) (x Listener, ok bool) {
	if len(rec) < xtcpcb64Size {
		return x, false
	}
	part := func(f *Field) []byte { return rec[f.Off : f.Off+f.Size] }
	const v6 = 2 // INP_IPV6
	ip := netip.AddrFrom4([4]byte(part(tcpcbLocal4)))
	if part(tcpcbFamily)[0]&v6 != 0 {
		ip = netip.AddrFrom16([16]byte(part(tcpcbLocal6))).Unmap()
	}
	queue, _ := tcpcbQueue.Uint(rec)
	limit, _ := tcpcbLimit.Uint(rec)
	return Listener{
		Local: netip.AddrPortFrom(ip, binary.BigEndian.Uint16(part(tcpcbPort))), Waiting: uint64(max(int16(queue), 0)), Limit: uint64(max(int16(limit), 0)),
	}, true
}

// TCPListRoom returns the least number of connections if the kernel says that their list has
// size bytes: it adds an eighth to their number.
func TCPListRoom(size int) uint64 {
	return uint64(max(size-2*xinpgenSize, 0)) / xtcpcb64Size * 8 / 9
}

package decode

const (
	xinpgenSize = 24
	// TCPStates is how many states a TCP connection can be in.
	TCPStates = 11
)

// The states of a TCP connection, as Darwin numbers them.
const (
	TCPClosed = iota
	TCPListen
	TCPSynSent
	TCPSynReceived
	TCPEstablished
	TCPCloseWait
	TCPFinWait1
	TCPClosing
	TCPLastAck
	TCPFinWait2
	TCPTimeWait
)

// TCPStateCounts counts the connections of a net.inet.tcp.pcblist64 answer by
// state. The list begins and ends with a generation record, or has only the
// first where there is no connection at all. ok is false if it is malformed,
// steady is false if connections came or went while the kernel wrote it.
func TCPStateCounts(list []byte) (counts [TCPStates]uint32, steady, ok bool) {
	head, ok := PCBLen.Uint(list)
	if !ok || head < xinpgenSize || int(head) > len(list) {
		return counts, false, false
	}
	gen, _ := PCBGen.Uint(list)
	if n, _ := PCBCount.Uint(list); n == 0 && int(head) == len(list) {
		return counts, true, true
	}
	list = list[head:]
	for len(list) > 0 {
		n, ok := TCPCBLen.Uint(list)
		if !ok || n < xinpgenSize || n > uint64(len(list)) {
			return counts, false, false
		}
		rec := list[:n]
		list = list[n:]
		if n == xinpgenSize {
			end, _ := PCBGen.Uint(rec)
			return counts, gen == end, true
		}
		state, ok := TCPCBState.Uint(rec)
		if !ok {
			return counts, false, false
		}
		if state < TCPStates {
			counts[state]++
		}
	}
	// Without the closing record the list was cut short.
	return counts, false, false
}

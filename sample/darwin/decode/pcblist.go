package decode

const xinpgenSize = 24

// TCPStates are the states of a TCP connection, as Darwin numbers them.
var TCPStates = [...]string{
	"TCPS_CLOSED", "TCPS_LISTEN", "TCPS_SYN_SENT", "TCPS_SYN_RECEIVED", "TCPS_ESTABLISHED", "TCPS_CLOSE_WAIT",
	"TCPS_FIN_WAIT_1", "TCPS_CLOSING", "TCPS_LAST_ACK", "TCPS_FIN_WAIT_2", "TCPS_TIME_WAIT",
}

// TCPEstablished is the number of the state in which data flow.
const TCPEstablished = 4

// TCPStateCounts counts the connections of a net.inet.tcp.pcblist64 answer by
// state. The list begins and ends with a generation record, or has only the
// first where there is no connection at all. ok is false if it is malformed,
// steady is false if connections came or went while the kernel wrote it.
func TCPStateCounts(list []byte) (counts [len(TCPStates)]uint32, steady, ok bool) {
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
		if state < uint64(len(TCPStates)) {
			counts[state]++
		}
	}
	// Without the closing record the list was cut short.
	return counts, false, false
}

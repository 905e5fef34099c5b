// Package socket knows whose connections are, and adds up what each process sent and received
// over them, to the last byte of those that have closed.
//
// A Lister asks one kernel. It passes what it finds to a Hearer as a Socket: each open socket
// whenever it is asked, each closed one once, as soon as the kernel reports it. Totals of a Socket
// begin with the connection, so nothing is lost when the recorder is started late or again.
package socket

import "net/netip"

// Protocol is what a socket speaks.
type Protocol uint8

const (
	TCP Protocol = iota
	UDP
	QUIC
	NumProtocols
)

func (p Protocol) String() string { return [NumProtocols]string{"tcp", "udp", "quic"}[p] }

// State is the state of a TCP connection, by the number that Linux has for it.
type State uint8

const (
	Unknown State = iota
	Established
	SynSent
	SynReceived
	FinWait1
	FinWait2
	TimeWait
	Closed
	CloseWait
	LastAck
	Listen
	Closing
	NumStates
)

// String returns what ss writes for a state.
func (s State) String() string {
	if s < NumStates {
		return [NumStates]string{"UNCONN", "ESTAB", "SYN-SENT", "SYN-RECV", "FIN-WAIT-1", "FIN-WAIT-2", "TIME-WAIT", "CLOSED",
			"CLOSE-WAIT", "LAST-ACK", "LISTEN", "CLOSING"}[s]
	}
	return "UNKNOWN"
}

// Medium is what carried bytes. Only macOS keeps it.
type Medium uint8

const (
	Wifi Medium = iota
	Wired
	Cellular
	NumMedia
)

// Bytes are bytes received and sent.
type Bytes struct{ In, Out uint64 }

// Has says which parts of a Socket its kernel reports.
type Has uint16

const (
	HasBytes   Has = 1 << iota // In and Out
	HasRetrans                 // Retrans
	HasMedia
	HasRTT
	HasMinRTT
	HasWindow // of congestion: Window
	HasQueues // Received and Unsent
	HasUID
	HasTCPInfo // TCP
	HasDrops
)

// Socket is what a kernel says about one socket.
type Socket struct {
	// ID is never given to another socket within a boot. The socket has the same in every list of
	// every recorder.
	ID        uint64
	Protocol  Protocol
	State     State
	Has       Has
	Local     netip.AddrPort
	Peer      netip.AddrPort
	Interface uint32 // index, 0 if unknown
	// Namespace is the network namespace, 0 if there is only one.
	Namespace uint64
	UID       uint32
	Loopback  bool // the other side is this machine
	// Closed says that the totals are the last ones. A closed socket with the state Listen was no
	// connection; one without HasBytes had totals that the kernel has wiped. Ended says how
	// a connection ended that failed or was never established; it is 0 otherwise.
	Closed bool
	Ended  Ending

	// Whose it is: the number in /proc/PID/fd on Linux, the process on macOS, KernelPID for the
	// kernel itself.
	Inode  uint64
	PID    int32
	Unique uint64
	// Cgroup is the number of the group that the socket was made in (Linux), 0 if unknown.
	Cgroup uint64
	// Start is when the connection began: nanoseconds of the continuous clock, 0 if unknown.
	Start int64

	// What it transferred since it began.
	Bytes   Bytes
	Retrans uint64
	Media   [NumMedia]Bytes
	Packets Bytes

	// Now. Of a socket that listens, Received has the connections that wait to be accepted, and
	// Unsent their limit.
	Received, Unsent uint64
	RTT, RTTVar      float64 // milliseconds
	MinRTT           float64
	Window, Unacked  uint64 // bytes
	Congestion       string
	Drops            uint64
	Retries          uint8 // how often the segment that waits for its acknowledgement was sent again
	TCP              TCPInfo
}

// KernelPID is the pid of the kernel here, because 0 means that the process is not known.
const KernelPID = -1

// TCPInfo is what only Linux says about a TCP connection.
type TCPInfo struct {
	MSS, PMTU                       uint32
	CwndSegments, SsthreshSegments  uint32
	BytesSent, BytesAcked           uint64
	LastSent, LastReceived, LastAck uint32 // milliseconds ago
	NotSent                         uint32
	DeliveryRate                    uint64 // bytes a second
}

// Ending says how a connection ended that broke.
type Ending uint8

const (
	Normal  Ending = iota
	Refused        // the other side answered that it does not want it
	Failed         // nobody answered
)

// Hearer takes in what a kernel says about sockets. A Lister may call it from several goroutines.
type Hearer interface {
	// Hear takes in a socket, which is valid until Hear returns.
	Hear(s *Socket)
}

// Lister asks one kernel for its sockets.
type Lister interface {
	// List passes all open sockets to the hearer, those that listen included. Closed sockets that
	// the kernel has reported by then have been passed before it returns. Linux reports a socket a
	// moment after it has closed: one that is missing from a list may yet be passed as closed.
	List(h Hearer) error
	// Lost returns how many closed sockets the kernel had no room to report since the start.
	Lost() uint64
	// Notice says what of the machine's connections cannot be seen, "" if nothing.
	Notice() string
	Close() error
}

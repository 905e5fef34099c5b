package decode

// The sizes of the fixed parts, and the message type of an interface.
const (
	ifMsghdr2Size = 160
	rtmIfinfo2    = 18
	afLink        = 18
	dlDataOff     = 8
)

// Interface is one interface of a list: its header, to be read with the If
// fields, and its name. Both alias the list.
type Interface struct {
	Header, Name []byte
}

// Interfaces calls visit for each interface in an NET_RT_IFLIST2 answer. It skips the addresses
// that the list also contains. It returns false if the list is malformed, after visiting what
// came before.
func Interfaces(list []byte, visit func(Interface)) bool {
	for len(list) > 0 {
		// Every kind of message begins with its length, version and type.
		if len(list) < 4 {
			return false
		}
		n, _ := IfMsglen.Uint(list)
		if n < 4 || int(n) > len(list) {
			return false
		}
		msg := list[:n]
		list = list[n:]
		if t, _ := IfMsgType.Uint(msg); t != rtmIfinfo2 {
			continue
		}
		if len(msg) < ifMsghdr2Size {
			return false
		}
		visit(Interface{Header: msg[:ifMsghdr2Size], Name: linkName(msg[ifMsghdr2Size:])})
	}
	return true
}

// linkName returns the name in a sockaddr_dl, which has a length and no terminator.
func linkName(addr []byte) []byte {
	if len(addr) < dlDataOff {
		return nil
	}
	family, _ := dlFamily.Uint(addr)
	size, _ := dlLen.Uint(addr)
	n, _ := dlNlen.Uint(addr)
	if family != afLink || int(size) > len(addr) || dlDataOff+int(n) > len(addr) {
		return nil
	}
	return addr[dlDataOff : dlDataOff+n]
}

package socket

import (
	"encoding/binary"
	"net/netip"
)

// Where things are in what Linux says about a socket (struct inet_diag_msg).
const (
	diagState     = 1
	diagRetrans   = 3
	diagPorts     = 4
	diagLocal     = 8
	diagPeer      = 24
	diagInterface = 40
	diagCookie    = 44
	diagReceived  = 56
	diagUnsent    = 60
	diagUID       = 64
	diagInode     = 68
	diagSize      = 72
)

// Attributes that follow it.
const (
	attrInfo      = 2
	attrCong      = 4
	attrSKMemInfo = 7
	attrProtocol  = 10
	attrCgroup    = 21
)

// Where things are in struct tcp_info. It has become longer over the years: kernels give what
// they have.
const (
	infoRetransmits  = 2
	infoMSS          = 16
	infoRcvMSS       = 20
	infoUnacked      = 24
	infoLastSent     = 44
	infoLastReceived = 52
	infoLastAck      = 56
	infoPMTU         = 60
	infoRTT          = 68
	infoRTTVar       = 72
	infoSsthresh     = 76
	infoCwnd         = 80
	infoEnd          = 104 // of what every kernel has
	infoAcked        = 120
	infoReceived     = 128 // 4.1
	infoSegsOut      = 136
	infoSegsIn       = 140 // 4.2
	infoNotSent      = 144
	infoMinRTT       = 148 // 4.6
	infoDataSegsIn   = 152
	infoDeliveryRate = 160 // 4.9
	infoSent         = 200
	infoRetransBytes = 208 // 4.19
)

// decoder makes Sockets of what Linux says about them.
type decoder struct {
	// names are the congestion controls met so far, so that connections share the name.
	names map[string]string
}

// mostNames bounds decoder.names: a kernel has about twenty congestion controls.
const mostNames = 64

// open decodes a socket of a list. It returns false for what is no open TCP socket, and for
// bytes that make no sense.
func (d *decoder) open(b []byte, namespace uint64, s *Socket) bool {
	info, ok := d.decode(b, namespace, s)
	if !ok {
		return false
	}
	if s.State == Listen {
		s.Has |= HasQueues
		return true
	}
	// What has no totals is the rest of a connection that has been reported as closed, and has its
	// number: a connection in FIN_WAIT2 becomes that when nobody holds it any more.
	if len(info) < infoEnd {
		return false
	}
	s.Has |= HasQueues
	return true
}

// closed decodes the last report about a socket. It returns false for a socket that was never
// used, and for bytes that make no sense. What listened, or could have, has the state Listen:
// reports do not tell these apart.
func (d *decoder) closed(b []byte, namespace uint64, s *Socket) bool {
	info, ok := d.decode(b, namespace, s)
	if !ok || s.Local.Port() == 0 || len(info) < infoEnd {
		return false
	}
	unread, unacked := s.Received, s.Unsent
	s.Closed, s.State = true, Closed
	s.Received, s.Unsent, s.Retries = 0, 0, 0
	if s.Peer.Port() == 0 {
		// It was never connected, or the kernel has disconnected it: it does so after an attempt to
		// connect that blocked and did not succeed, and when a program ends a connection at once
		// (SO_LINGER of 0). With that go the port of the peer and all totals.
		if binary.NativeEndian.Uint32(info[infoRcvMSS:]) == 0 {
			s.State = Listen
		}
		s.Has, s.Bytes, s.Packets = 0, Bytes{}, Bytes{}
		if s.State == Closed && unacked == onlyAsked {
			s.Ended = Refused
			if info[infoRetransmits] > 0 {
				s.Ended = Failed
			}
		}
		return true
	}
	if unread > 0 {
		// What the program has not read is, almost always, only the end (FIN), which counts as a
		// byte. If the program has read the end, nothing shows that it arrived.
		s.Bytes.In -= min(s.Bytes.In, 1)
	}
	switch {
	case s.Has&HasBytes == 0:
	case s.Has&HasRTT == 0 && s.TCP.BytesAcked == 0 && s.Bytes.In == 0:
		// Nothing was ever acknowledged: the peer has refused, or has sent nothing at all.
		s.Ended = Failed
		if s.Packets.In > 0 {
			s.Ended = Refused
		}
	case unacked > 0 && info[infoRetransmits] >= unanswered:
		s.Ended = Failed
	}
	return true
}

// onlyAsked is what a disconnected socket that had only asked for a connection says about bytes
// not acknowledged: the request counts as one, and the kernel adds 2 and the window of the peer,
// which has never said one.
const onlyAsked = 3

// unanswered is how often in a row something was sent again, at least, to a peer that is believed
// to be gone. The kernel gives up after 5 to 15 times (net.ipv4.tcp_orphan_retries, tcp_retries2),
// after fewer if the program has set a limit (TCP_USER_TIMEOUT).
const unanswered = 2

func (d *decoder) decode(b []byte, namespace uint64, s *Socket) (info []byte, ok bool) {
	*s = Socket{}
	if len(b) < diagSize || b[diagState] >= byte(NumStates) {
		return nil, false
	}
	ne := binary.NativeEndian
	var local, peer netip.Addr
	switch b[0] {
	case 2:
		local, peer = netip.AddrFrom4([4]byte(b[diagLocal:])), netip.AddrFrom4([4]byte(b[diagPeer:]))
	case 10:
		local, peer = netip.AddrFrom16([16]byte(b[diagLocal:])).Unmap(), netip.AddrFrom16([16]byte(b[diagPeer:])).Unmap()
	default:
		return nil, false
	}
	s.ID = uint64(ne.Uint32(b[diagCookie:])) | uint64(ne.Uint32(b[diagCookie+4:]))<<32
	// Before Linux 5.10 each namespace numbers its sockets by itself.
	s.Namespace = namespace
	s.ID ^= namespace << 32
	s.State = State(b[diagState])
	s.Local = netip.AddrPortFrom(local, binary.BigEndian.Uint16(b[diagPorts:]))
	s.Peer = netip.AddrPortFrom(peer, binary.BigEndian.Uint16(b[diagPorts+2:]))
	s.Loopback = s.Peer.Port() != 0 && (peer.IsLoopback() || peer == local)
	s.Interface = ne.Uint32(b[diagInterface:])
	s.Retries = b[diagRetrans]
	s.Received, s.Unsent = uint64(ne.Uint32(b[diagReceived:])), uint64(ne.Uint32(b[diagUnsent:]))
	s.Inode = uint64(ne.Uint32(b[diagInode:]))
	if s.Inode != 0 {
		// A socket that no process holds has user 0, whosever it was.
		s.UID = ne.Uint32(b[diagUID:])
		s.Has |= HasUID
	}
	for b = b[diagSize:]; len(b) >= 4; {
		n := int(ne.Uint16(b))
		if n < 4 || n > len(b) {
			return nil, false
		}
		value := b[4:n]
		switch ne.Uint16(b[2:]) {
		case attrInfo:
			info = value
		case attrCong:
			s.Congestion = d.name(value)
		case attrSKMemInfo:
			if len(value) >= 36 {
				s.Drops = uint64(ne.Uint32(value[32:]))
				s.Has |= HasDrops
			}
		case attrProtocol:
			if len(value) >= 1 && value[0] != 6 {
				return nil, false
			}
		case attrCgroup:
			if len(value) >= 8 {
				s.Cgroup = ne.Uint64(value)
			}
		}
		b = b[min((n+3)&^3, len(b)):]
	}
	if s.State != Listen {
		s.transferred(info)
	}
	return info, true
}

// name returns the name in an attribute, which ends with a zero byte.
func (d *decoder) name(b []byte) string {
	for i, c := range b {
		if c == 0 {
			b = b[:i]
			break
		}
	}
	if name, ok := d.names[string(b)]; ok {
		return name
	}
	if len(b) > 16 || len(d.names) >= mostNames {
		return ""
	}
	if d.names == nil {
		d.names = make(map[string]string)
	}
	name := string(b)
	d.names[name] = name
	return name
}

// transferred takes in as much of a tcp_info as there is.
func (s *Socket) transferred(info []byte) {
	if len(info) < infoEnd {
		return
	}
	u32 := func(at int) uint32 { return binary.NativeEndian.Uint32(info[at:]) }
	u64 := func(at int) uint64 { return binary.NativeEndian.Uint64(info[at:]) }
	s.Has |= HasTCPInfo | HasWindow
	t := &s.TCP
	t.MSS, t.PMTU = u32(infoMSS), u32(infoPMTU)
	t.CwndSegments, t.SsthreshSegments = u32(infoCwnd), u32(infoSsthresh)
	t.LastSent, t.LastReceived, t.LastAck = u32(infoLastSent), u32(infoLastReceived), u32(infoLastAck)
	s.Window, s.Unacked = uint64(t.CwndSegments)*uint64(t.MSS), uint64(u32(infoUnacked))*uint64(t.MSS)
	if rtt := u32(infoRTT); rtt != 0 {
		s.RTT, s.RTTVar = float64(rtt)/1000, float64(u32(infoRTTVar))/1000
		s.Has |= HasRTT
	}
	if len(info) < infoReceived+8 {
		return
	}
	t.BytesAcked = u64(infoAcked)
	s.Bytes = Bytes{In: u64(infoReceived), Out: t.BytesAcked}
	s.Has |= HasBytes
	if s.State == CloseWait || s.State == LastAck || s.State == Closing {
		s.Bytes.In -= min(s.Bytes.In, 1) // the end of what the peer sends (FIN) counts as a byte
	}
	// Before 4.19 only what was acknowledged is known. The request for the connection and its end
	// count as a byte each: this is at most one too few or too many.
	s.Bytes.Out -= min(s.Bytes.Out, 1)
	if len(info) >= infoSegsIn+4 {
		s.Packets = Bytes{In: uint64(u32(infoSegsIn)), Out: uint64(u32(infoSegsOut))}
	}
	if len(info) >= infoMinRTT+4 {
		t.NotSent = u32(infoNotSent)
		if rtt := u32(infoMinRTT); rtt != 0 && rtt != 1<<32-1 {
			s.MinRTT = float64(rtt) / 1000
			s.Has |= HasMinRTT
		}
	}
	if len(info) >= infoDataSegsIn+4 && u32(infoDataSegsIn) == 0 {
		s.Bytes.In = 0 // all that arrived was the end
	}
	if len(info) >= infoDeliveryRate+8 {
		t.DeliveryRate = u64(infoDeliveryRate)
	}
	if len(info) >= infoRetransBytes+8 {
		t.BytesSent, s.Retrans = u64(infoSent), u64(infoRetransBytes)
		s.Bytes.Out = t.BytesSent - min(t.BytesSent, s.Retrans)
		s.Has |= HasRetrans
	}
}

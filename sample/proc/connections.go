package proc

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/sample/proc/cmdline"
	"tachograph/sample/socket"
)

// connections are the connections that have values of their own.
type connections[P any] struct {
	*census[P]
	of    *metric.Group
	names *socket.Names
	// known are the instances of the last look, by the number of the connection.
	known, before map[uint64]*metric.Instance
	interfaces    map[uint32]string
}

func newConnections[P any](on catalog.Platform, c *census[P]) *connections[P] {
	names := make([]string, len(connectionColumns))
	for i := range connectionColumns {
		names[i] = connectionColumns[i].name
	}
	return &connections[P]{census: c, of: catalog.Group(on, "connections", names...),
		known: make(map[uint64]*metric.Instance), before: make(map[uint64]*metric.Instance), interfaces: make(map[uint32]string)}
}

var (
	notSaid     = metric.ReasonFor("the kernel does not say it of this connection")
	nobodys     = metric.ReasonFor("it is not known whose the connection is")
	notNamed    = metric.ReasonFor(`not recorded (network.peers = "off")`)
	noThreshold = metric.ReasonFor("the connection has lost nothing yet")
)

// connectionRow is a connection whose values are being filled in.
type connectionRow struct {
	*socket.Connection
	now     int64
	process string // key of the process
	local   string
	peer    string
}

// value is a number, a text or the reason why there is neither.
type value struct {
	number uint64
	real   float64
	text   string
	kind   uint8
	why    metric.Reason
}

const (
	asNumber uint8 = iota
	asReal
	asText
)

func ofNumber(v uint64) value        { return value{number: v} }
func ofReal(v float64) value         { return value{real: v, kind: asReal} }
func ofText(s string) value          { return value{text: s, kind: asText} }
func absent(why metric.Reason) value { return value{why: why} }

func (v value) fill(f *sample.Frame, row, col int) {
	switch {
	case v.why != metric.Present:
		f.SetMissing(row, col, v.why)
	case v.kind == asReal:
		f.SetFloat(row, col, v.real)
	case v.kind == asText:
		f.SetString(row, col, v.text)
	default:
		f.SetUint(row, col, v.number)
	}
}

// said returns a value if the kernel says it.
func said(s *socket.Socket, has socket.Has, v value) value {
	if s.Has&has == 0 {
		return absent(notSaid)
	}
	return v
}

// endless is the threshold of a connection that has lost nothing.
const endless = 0x7fffffff

var connectionColumns = []struct {
	name string
	get  func(c *connectionRow) value
}{
	{"network.persocket.netid", func(c *connectionRow) value { return ofText(c.Socket.Protocol.String()) }},
	{"network.persocket.state", func(c *connectionRow) value {
		if c.Socket.Closed {
			return ofText(socket.Closed.String())
		}
		return ofText(c.Socket.State.String())
	}},
	{"network.persocket.recvq", func(c *connectionRow) value { return said(&c.Socket, socket.HasQueues, ofNumber(c.Socket.Received)) }},
	{"network.persocket.sendq", func(c *connectionRow) value { return said(&c.Socket, socket.HasQueues, ofNumber(c.Socket.Unsent)) }},
	{"network.persocket.src", func(c *connectionRow) value { return ofText(c.local) }},
	{"network.persocket.dst", func(c *connectionRow) value {
		if c.peer == "" {
			return absent(notNamed)
		}
		return ofText(endpoint(c.peer, c.Socket.Peer.Port()))
	}},
	{"network.persocket.inode", func(c *connectionRow) value {
		if c.Socket.Inode == 0 {
			return absent(notSaid)
		}
		return ofNumber(c.Socket.Inode)
	}},
	{"network.persocket.uid", func(c *connectionRow) value { return said(&c.Socket, socket.HasUID, ofNumber(uint64(c.Socket.UID))) }},
	{"network.persocket.mss", func(c *connectionRow) value {
		return said(&c.Socket, socket.HasTCPInfo, ofNumber(uint64(c.Socket.TCP.MSS)))
	}},
	{"network.persocket.pmtu", func(c *connectionRow) value {
		return said(&c.Socket, socket.HasTCPInfo, ofNumber(uint64(c.Socket.TCP.PMTU)))
	}},
	{"network.persocket.cwnd", func(c *connectionRow) value {
		return said(&c.Socket, socket.HasTCPInfo, ofNumber(uint64(c.Socket.TCP.CwndSegments)))
	}},
	{"network.persocket.ssthresh", func(c *connectionRow) value {
		if c.Socket.Has&socket.HasTCPInfo != 0 && c.Socket.TCP.SsthreshSegments >= endless {
			return absent(noThreshold)
		}
		return said(&c.Socket, socket.HasTCPInfo, ofNumber(uint64(c.Socket.TCP.SsthreshSegments)))
	}},
	{"network.persocket.bytes_sent", func(c *connectionRow) value {
		if c.Socket.Has&socket.HasTCPInfo == 0 {
			return said(&c.Socket, socket.HasBytes, ofNumber(c.Socket.Bytes.Out))
		}
		return said(&c.Socket, socket.HasRetrans, ofNumber(c.Socket.TCP.BytesSent))
	}},
	{"network.persocket.bytes_retrans", func(c *connectionRow) value { return said(&c.Socket, socket.HasRetrans, ofNumber(c.Socket.Retrans)) }},
	{"network.persocket.bytes_acked", func(c *connectionRow) value {
		return said(&c.Socket, socket.HasTCPInfo, ofNumber(c.Socket.TCP.BytesAcked))
	}},
	{"network.persocket.bytes_received", func(c *connectionRow) value { return said(&c.Socket, socket.HasBytes, ofNumber(c.Socket.Bytes.In)) }},
	{"network.persocket.segs_out", func(c *connectionRow) value { return said(&c.Socket, socket.HasBytes, ofNumber(c.Socket.Packets.Out)) }},
	{"network.persocket.segs_in", func(c *connectionRow) value { return said(&c.Socket, socket.HasBytes, ofNumber(c.Socket.Packets.In)) }},
	{"network.persocket.lastsnd", func(c *connectionRow) value {
		return said(&c.Socket, socket.HasTCPInfo, ofNumber(uint64(c.Socket.TCP.LastSent)))
	}},
	{"network.persocket.lastrcv", func(c *connectionRow) value {
		return said(&c.Socket, socket.HasTCPInfo, ofNumber(uint64(c.Socket.TCP.LastReceived)))
	}},
	{"network.persocket.lastack", func(c *connectionRow) value {
		return said(&c.Socket, socket.HasTCPInfo, ofNumber(uint64(c.Socket.TCP.LastAck)))
	}},
	{"network.persocket.delivery_rate", func(c *connectionRow) value {
		return said(&c.Socket, socket.HasTCPInfo, ofReal(float64(c.Socket.TCP.DeliveryRate)))
	}},
	{"network.persocket.minrtt", func(c *connectionRow) value { return said(&c.Socket, socket.HasMinRTT, ofReal(c.Socket.MinRTT)) }},
	{"network.persocket.notsent", func(c *connectionRow) value {
		return said(&c.Socket, socket.HasTCPInfo, ofNumber(uint64(c.Socket.TCP.NotSent)))
	}},
	{"network.persocket.timer.retrans", func(c *connectionRow) value {
		return said(&c.Socket, socket.HasTCPInfo, ofNumber(uint64(c.Socket.Retries)))
	}},
	{"network.persocket.round_trip.rtt", func(c *connectionRow) value { return said(&c.Socket, socket.HasRTT, ofReal(c.Socket.RTT)) }},
	{"network.persocket.round_trip.rttvar", func(c *connectionRow) value { return said(&c.Socket, socket.HasRTT, ofReal(c.Socket.RTTVar)) }},
	{"network.persocket.process", func(c *connectionRow) value {
		if c.process == "" {
			return absent(nobodys)
		}
		return ofText(c.process)
	}},
	{"network.persocket.congestion", func(c *connectionRow) value {
		if c.Socket.Congestion == "" {
			return absent(notSaid)
		}
		return ofText(c.Socket.Congestion)
	}},
	{"network.persocket.cwnd_bytes", func(c *connectionRow) value { return said(&c.Socket, socket.HasWindow, ofNumber(c.Socket.Window)) }},
	{"network.persocket.age", func(c *connectionRow) value { return ofNumber(uint64(max(0, c.now-c.Began)) / 1e6) }},
	{"network.persocket.unacked", func(c *connectionRow) value { return said(&c.Socket, socket.HasWindow, ofNumber(c.Socket.Unacked)) }},
}

// fill gives each of the chosen connections a row.
func (s *connections[P]) fill(now metric.Stamp, chosen []socket.Connection, frames []*sample.Frame) {
	s.known, s.before = s.before, s.known
	clear(s.known)
	clear(s.interfaces)
	for i := range chosen {
		c := &chosen[i]
		r := connectionRow{Connection: c, now: now.Cont, local: s.address(c.Socket.Local.Addr(), c.Socket.Local.Port()), peer: s.names.Peer(&c.Socket)}
		p := holderOf[P](c.Holder)
		if p != nil {
			r.process = p.instance.Key
		}
		in := s.instance(c, p, &r)
		for _, f := range frames {
			row := f.Row(in)
			for col := range connectionColumns {
				if f.Wants(col) {
					connectionColumns[col].get(&r).fill(f, row, col)
				}
			}
		}
	}
	clear(s.before)
}

// holderOf returns the process that holds a socket, or nil if nobody is known.
func holderOf[P any](h *socket.Holder) *process[P] {
	if h == nil {
		return nil
	}
	return h.Of.(*process[P])
}

// address writes an address of this machine, as far as it is recorded, and a port.
func (s *connections[P]) address(addr netip.Addr, port uint16) string {
	return endpoint(s.names.Local(addr), port)
}

// endpoint writes the name or the address of a machine, and a port.
func endpoint(machine string, port uint16) string {
	if strings.Contains(machine, ":") {
		machine = "[" + machine + "]" // of IPv6
	}
	return machine + ":" + strconv.Itoa(int(port))
}

// instance returns the instance of a connection, with a name and labels that say whose it is.
func (s *connections[P]) instance(c *socket.Connection, p *process[P], r *connectionRow) *metric.Instance {
	id := c.Socket.ID
	in := s.before[id]
	if in == nil {
		in = &metric.Instance{ID: id, Key: fmt.Sprintf("%016x", id)}
	}
	s.known[id] = in
	l := labelsOf(p)
	l.add("protocol", c.Socket.Protocol.String())
	direction, who := "out", "?"
	if c.Accepted {
		direction = "in"
	}
	if p != nil {
		who = cmdline.Printable(p.name)
	}
	port := strconv.Itoa(int(c.Socket.Local.Port()))
	l.add("direction", direction)
	l.add("port", port)
	l.add("peer", r.peer)
	if c.Socket.Peer.Port() != 0 {
		l.add("peer_port", strconv.Itoa(int(c.Socket.Peer.Port())))
	}
	l.add("interface", s.interfaceName(&c.Socket))
	name := who + " → " + endpoint(r.peer, c.Socket.Peer.Port())
	if c.Accepted {
		name = strings.TrimSuffix(who+" :"+port+" ← "+r.peer, " ")
	}
	l.give(in, name)
	return in
}

// interfaceName returns the name of the interface that a socket uses, or "".
func (s *connections[P]) interfaceName(of *socket.Socket) string {
	if of.Interface == 0 || of.Namespace != 0 {
		return ""
	}
	name, ok := s.interfaces[of.Interface]
	if !ok {
		if i, err := net.InterfaceByIndex(int(of.Interface)); err == nil {
			name = i.Name
		}
		s.interfaces[of.Interface] = name
	}
	return name
}

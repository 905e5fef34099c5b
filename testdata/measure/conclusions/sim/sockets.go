package sim

import (
	"fmt"
	"strconv"

	"tachograph/sample/metric"
)

// netUse is what a process did with connections so far.
type netUse struct {
	bytes, home, resent               float64 // each way; of it within the machine; sent again
	opened, accepted, refused, failed float64
}

// transfer adds the bytes of a second to a process and to the machine.
func (u *netUse) transfer(m *Machine, bytes float64, home bool) {
	for _, of := range []*netUse{u, &m.traffic} {
		if of.bytes += bytes; home {
			of.home += bytes
		} else {
			of.resent += bytes * m.Resent
		}
	}
}

// A Listener is a port that a process listens on.
type Listener struct {
	Proc    *Proc
	Port    int
	Limit   float64
	Backlog float64 // connections that wait
	Drops   float64 // a second
	dropped float64
	inst    *metric.Instance
}

// Listen lets a process listen on a port.
func (m *Machine) Listen(p *Proc, port int, limit float64) *Listener {
	m.ids++
	l := &Listener{Proc: p, Port: port, Limit: limit}
	l.inst = &metric.Instance{ID: m.ids, Key: fmt.Sprintf("tcp :%d", port), Name: fmt.Sprintf("tcp :%d", port),
		Labels: append(p.ofSocket(), metric.Label{Name: "port", Value: strconv.Itoa(port)}, metric.Label{Name: "address", Value: "*"})}
	m.Listeners = append(m.Listeners, l)
	return l
}

// ofSocket are the labels that say whose a socket is.
func (p *Proc) ofSocket() []metric.Label {
	return []metric.Label{{Name: "process", Value: p.key}, {Name: "pid", Value: strconv.Itoa(p.PID)}, {Name: "name", Value: p.Comm()}, {Name: "protocol", Value: "tcp"}}
}

// A Conn is a connection of a process that lasts, or has just failed.
type Conn struct {
	Proc *Proc
	// Bytes is what it transfers each way in a second.
	Bytes float64
	// RTT and MinRTT are in milliseconds.
	RTT, MinRTT float64
	// Resent is the part sent again, in addition to the machine's.
	Resent float64
	// Silent says that the other side does not answer, Failed that it never did.
	Silent, Failed bool

	silent, age           int // seconds
	sent, resent, arrived float64
	inst                  *metric.Instance
}

// Connect gives a process a connection to a port of a peer; in says that the peer opened it.
func (m *Machine) Connect(p *Proc, peer string, port int, in bool, bytes float64) *Conn {
	m.ids++
	c := &Conn{Proc: p, Bytes: bytes, RTT: 9, MinRTT: 6}
	direction, arrow := "out", "→"
	if in {
		direction, arrow = "in", "←"
	}
	c.inst = &metric.Instance{ID: m.ids, Key: fmt.Sprintf("%016x", m.ids), Name: fmt.Sprintf("%s :%d %s %s:%d", p.Comm(), 30000+m.ids%30000, arrow, peer, port),
		Labels: append(p.ofSocket(), metric.Label{Name: "direction", Value: direction}, metric.Label{Name: "port", Value: strconv.Itoa(30000 + int(m.ids%30000))},
			metric.Label{Name: "peer", Value: peer}, metric.Label{Name: "peer_port", Value: strconv.Itoa(port)})}
	m.Conns = append(m.Conns, c)
	return c
}

// sockets counts what connections and listeners did in a second.
func (m *Machine) sockets() {
	for _, p := range m.Procs {
		u := &p.net
		u.opened, u.accepted, u.refused, u.failed = u.opened+p.Opened, u.accepted+p.Accepted, u.refused+p.Refused, u.failed+p.Failed
		m.traffic.opened += p.Opened
	}
	for _, l := range m.Listeners {
		l.dropped += l.Drops
	}
	for _, c := range m.Conns {
		if c.age++; c.Silent || c.Failed {
			c.silent++
			continue
		}
		c.silent = 0
		c.sent += c.Bytes * (1 + c.Resent + m.Resent)
		c.resent += c.Bytes * (c.Resent + m.Resent)
		c.arrived += c.Bytes
	}
}

// retries is how often a segment has been sent again after so many seconds without an answer.
func retries(seconds int) (n float64) {
	for wait := 1; wait <= seconds && n < 15; wait *= 2 {
		n++
	}
	return n
}

var (
	listenerGroup = groupOf("listener", "listener", []string{"network.listener.backlog", "network.listener.backlog_limit", "network.listener.drops"})
	socketGroup   = groupOf("connection", "connection", []string{"network.persocket.timer.retrans", "network.persocket.lastack", "network.persocket.age", "network.persocket.round_trip.rtt",
		"network.persocket.minrtt", "network.persocket.bytes_sent", "network.persocket.bytes_retrans", "network.persocket.bytes_received"})
)

// socketTick is a reading of the connections and of the ports that are listened on. Connections
// that failed are gone after it.
func (m *Machine) socketTick(at metric.Stamp) *metric.Tick {
	ports := &table{Block: metric.Block{Group: listenerGroup, At: at}}
	for _, l := range m.Listeners {
		if !l.Proc.Ended() {
			ports.row(l.inst, l.Backlog, l.Limit, l.dropped)
		}
	}
	talks := &table{Block: metric.Block{Group: socketGroup, At: at}}
	var last []*Conn
	for _, c := range m.Conns {
		if c.Proc.Ended() {
			continue
		}
		n := 0.0
		if c.Silent {
			n = retries(c.silent)
		}
		talks.row(c.inst, n, float64(c.silent)*1000+30, float64(c.age)*1000, c.RTT, c.MinRTT, c.sent, c.resent, c.arrived)
		if !c.Failed {
			last = append(last, c)
		}
	}
	m.Conns = last
	t := &metric.Tick{Class: metric.Network, At: at}
	for _, b := range []*table{ports, talks} {
		if len(b.Rows) > 0 {
			t.Blocks = append(t.Blocks, &b.Block)
		}
	}
	return t
}

// trafficBlock has what all connections transferred.
func (m *Machine) trafficBlock(at metric.Stamp) *metric.Block {
	b := &table{Block: metric.Block{Group: trafficGroup, At: at}}
	b.row(nil, m.traffic.bytes, m.traffic.bytes, m.traffic.resent, 0, 0, m.traffic.opened)
	return &b.Block
}

// A table is a block that is filled row by row.
type table struct{ metric.Block }

func (b *table) row(in *metric.Instance, values ...float64) {
	if b.Cols == nil {
		b.Cols = make([]metric.Column, len(values))
	}
	b.Rows = append(b.Rows, in)
	for i, x := range values {
		b.Cols[i].Bits = append(b.Cols[i].Bits, Bits(b.Group.Metrics[i].Type, x))
	}
}

package answer

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tachograph/cmd/replay/internal/out"
	"tachograph/store/query"
)

// A SocketRow is a row about a connection, a port that is listened on, or a peer.
type SocketRow struct {
	Of *query.Sockets // the host's
	// Row says what the row is about: RowSocket, RowUnnamed, or RowOthers for those that were left out.
	Row    string
	Socket *query.Socket // nil except for a connection or a port
	Peer   *query.Peer   // nil except for a peer
	// Number is of how many connections the row is; NaN if that is unknown.
	Number, In, Out, Retrans float64
}

// The rows of such an answer, besides RowOthers.
const (
	RowSocket = "connection"
	RowPort   = "listener"
	RowPeer   = "peer"
	// RowUnnamed is what connections transferred while they had no values of their own.
	RowUnnamed = "unnamed"
)

// ConnectionRows returns the rows of connections; n is 0 for all.
func ConnectionRows(list []*query.Sockets, n int) (rows []SocketRow) {
	for _, of := range list {
		var all []SocketRow
		for _, s := range of.List {
			all = append(all, SocketRow{Of: of, Row: RowSocket, Socket: s, Number: 1, In: s.Gains[query.SocketIn], Out: s.Out(), Retrans: s.Gains[query.SocketRetrans]})
		}
		rows = append(rows, cutRows(of, all, n)...)
	}
	return rows
}

// PeerRows returns the rows of peers; n is 0 for all.
func PeerRows(list []*query.Sockets, n int) (rows []SocketRow) {
	for _, of := range list {
		var all []SocketRow
		for _, p := range of.Peers() {
			all = append(all, SocketRow{Of: of, Row: RowPeer, Peer: p, Number: float64(len(p.Connections)), In: p.In, Out: p.Out, Retrans: p.Retrans})
		}
		rows = append(rows, cutRows(of, all, n)...)
	}
	return rows
}

// ListenerRows returns the rows of ports that are listened on; n is 0 for all.
func ListenerRows(list []*query.Sockets, n int) (rows []SocketRow) {
	for _, of := range list {
		for i, s := range of.List {
			if n == 0 || i < n {
				rows = append(rows, SocketRow{Of: of, Row: RowPort, Socket: s, Number: s.Last[query.PortConnections], In: math.NaN(), Out: math.NaN(), Retrans: math.NaN()})
			}
		}
	}
	return rows
}

// cutRows keeps the first n rows, adds up the others, and adds what has no values of its own.
func cutRows(of *query.Sockets, rows []SocketRow, n int) []SocketRow {
	if n > 0 && len(rows) > n {
		rest := SocketRow{Of: of, Row: RowOthers}
		for _, r := range rows[n:] {
			rest.Number += r.Number
			for _, add := range []struct {
				to *float64
				x  float64
			}{{&rest.In, r.In}, {&rest.Out, r.Out}, {&rest.Retrans, r.Retrans}} {
				if add.x == add.x {
					*add.to += add.x
				}
			}
		}
		rows = append(slices.Clip(rows[:n]), rest)
	}
	if of.In > 0 || of.Out > 0 || of.Unnamed > 0 {
		rows = append(rows, SocketRow{Of: of, Row: RowUnnamed, Number: of.Unnamed, In: of.In, Out: of.Out, Retrans: of.Retrans})
	}
	return rows
}

// socketLabel is a label of the row's connection or port.
func socketLabel(name string) func(SocketRow) string {
	return func(r SocketRow) string {
		if r.Socket == nil {
			return ""
		}
		return r.Socket.Instance.Label(name)
	}
}

// socketNumber is a number of the row's connection or port.
func socketNumber(of func(s *query.Socket) float64) func(SocketRow) float64 {
	return func(r SocketRow) float64 {
		if r.Socket == nil {
			return math.NaN()
		}
		return of(r.Socket)
	}
}

func lastOf(f query.SocketField) func(SocketRow) float64 {
	return socketNumber(func(s *query.Socket) float64 { return s.Last[f] })
}

// peerNumber is a number of the row's peer.
func peerNumber(of func(p *query.Peer) float64) func(SocketRow) float64 {
	return func(r SocketRow) float64 {
		if r.Peer == nil {
			return math.NaN()
		}
		return of(r.Peer)
	}
}

func byteRate(of func(SocketRow) float64) func(SocketRow) float64 {
	return func(r SocketRow) float64 { return of(r) / r.Of.Seconds() }
}

func bytesIn(r SocketRow) float64  { return r.In }
func bytesOut(r SocketRow) float64 { return r.Out }

var (
	socketFrom = []Field[SocketRow]{
		{Name: "from", Time: func(r SocketRow) int64 { return r.Of.From }},
		{Name: "to", Time: func(r SocketRow) int64 { return r.Of.To }},
		{Name: "row", Word: func(r SocketRow) string { return r.Row }},
	}
	socketBytes = []Field[SocketRow]{
		{Name: "in_bytes", Key: "in", Of: bytesIn, Unit: Bytes, Keep: out.Always},
		{Name: "in_bytes_per_sec", Key: "in_rate", Title: "in/s", Of: byteRate(bytesIn), Unit: Speed, Keep: 4},
		{Name: "out_bytes", Key: "out", Of: bytesOut, Unit: Bytes, Keep: out.Always},
		{Name: "out_bytes_per_sec", Key: "out_rate", Title: "out/s", Of: byteRate(bytesOut), Unit: Speed, Keep: 4},
		{Name: "retrans_bytes", Key: "retrans", Title: "resent", Of: func(r SocketRow) float64 { return r.Retrans }, Unit: Bytes, Keep: 3},
		{Name: "retrans_percent", Key: "resent", Title: "of sent", Of: func(r SocketRow) float64 { return Resent(r.Out, r.Retrans) }, Unit: Share, Keep: 6},
	}
	socketOwners = owners(func(r SocketRow, kind string) string { return socketLabel(kind)(r) })
	socketWhose  = []Field[SocketRow]{
		{Name: "pid", Key: "pid", Of: socketNumber(func(s *query.Socket) float64 { return positive(query.ProcessID(s.Instance)) }), Unit: Number, Keep: 5},
		{Name: "process", Key: "process", Word: socketLabel("name"), Flex: true, Keep: out.Always},
		{Name: "protocol", Key: "protocol", Title: "proto", Word: socketLabel("protocol"), Keep: 5},
	}
)

// Connections are the fields of a row about a connection.
var Connections = slices.Concat(socketFrom, socketWhose, []Field[SocketRow]{
	{Name: "direction", Word: socketLabel("direction")},
	{Name: "port", Of: socketNumber(func(s *query.Socket) float64 { return float64(s.Port()) }), Unit: Number},
	{Name: "peer", Word: socketLabel("peer")},
	{Name: "peer_port", Word: socketLabel("peer_port")},
	{Name: "interface", Word: socketLabel("interface")},
	{Key: "connection", Word: SocketRow.title, Flex: true, Keep: out.Always},
	{Name: "state", Key: "state", Word: func(r SocketRow) string {
		if r.Socket == nil {
			return ""
		}
		return r.Socket.State
	}, Keep: 8},
	{Name: "key", Word: func(r SocketRow) string {
		if r.Socket == nil {
			return ""
		}
		return r.Socket.Instance.Key
	}},
}, socketBytes, []Field[SocketRow]{
	{Name: "rtt_ms", Key: "rtt", Of: lastOf(query.SocketRTT), Unit: Milliseconds, Keep: 9},
	{Name: "rtt_worst_ms", Of: socketNumber(func(s *query.Socket) float64 { return s.Worst[query.SocketRTT] }), Unit: Milliseconds},
	{Name: "min_rtt_ms", Of: lastOf(query.SocketMinRTT), Unit: Milliseconds},
	{Name: "cwnd_bytes", Key: "cwnd", Of: lastOf(query.SocketWindow), Unit: Bytes, Keep: 4},
	{Name: "unacked_bytes", Of: lastOf(query.SocketUnacked), Unit: Bytes},
	{Name: "retries", Key: "retries", Title: "tries", Of: lastOf(query.SocketRetries), Unit: Number, Keep: 7},
	{Name: "age_seconds", Key: "age", Of: lastOf(query.SocketAge), Unit: Seconds, Keep: 6},
	{Name: "connections", Of: func(r SocketRow) float64 { return r.Number }, Unit: Number},
}, socketOwners)

// InConnections are the keys of the columns that people see of connections, InConnectionsAt those about a moment.
var (
	InConnections   = []string{"process", "pid", "state", "in", "out", "resent", "rtt", "cwnd", "retries", "age", "connection"}
	InConnectionsAt = []string{"process", "pid", "state", "in_rate", "out_rate", "resent", "rtt", "cwnd", "retries", "age", "connection"}
)

// Peers are the fields of a row about a peer.
var Peers = slices.Concat(socketFrom, []Field[SocketRow]{
	{Name: "peer", Word: func(r SocketRow) string {
		if r.Peer == nil {
			return ""
		}
		return r.Peer.Name
	}},
	{Key: "peer", Word: SocketRow.title, Flex: true, Keep: out.Always},
}, socketBytes, []Field[SocketRow]{
	{Name: "connections", Key: "connections", Title: "conns", Of: func(r SocketRow) float64 { return r.Number }, Unit: Number, Keep: 8},
	{Name: "open", Of: peerNumber(func(p *query.Peer) float64 { return float64(p.Open) }), Unit: Number},
	{Name: "rtt_ms", Key: "rtt", Of: peerNumber(func(p *query.Peer) float64 { return p.RTT }), Unit: Milliseconds, Keep: 9},
	{Name: "rtt_worst_ms", Key: "worst", Of: peerNumber(func(p *query.Peer) float64 { return p.Worst }), Unit: Milliseconds, Keep: 7},
	{Name: "min_rtt_ms", Key: "least", Of: peerNumber(func(p *query.Peer) float64 { return p.Least }), Unit: Milliseconds, Keep: 5},
	{Name: "ports", Key: "ports", Word: peerWords(peerPort), Keep: 6, Flex: true},
	{Name: "processes", Key: "processes", Word: peerWords(func(s *query.Socket) string { return s.Instance.Label("name") }), Keep: 6, Flex: true},
})

// InPeers are the keys of the columns that people see of peers.
var (
	InPeers   = []string{"peer", "in", "in_rate", "out", "out_rate", "retrans", "resent", "connections", "rtt", "worst", "least", "ports", "processes"}
	InPeersAt = []string{"peer", "in_rate", "out_rate", "resent", "connections", "rtt", "worst", "least", "ports", "processes"}
)

// peerPort is the port that a connection is about: the peer's, or our own if the peer opened it.
func peerPort(s *query.Socket) string {
	if s.Instance.Label("direction") == "in" {
		return "←" + s.Instance.Label("port")
	}
	return "→" + s.Instance.Label("peer_port")
}

// peerWords lists what the connections of a peer have, each once.
func peerWords(of func(*query.Socket) string) func(SocketRow) string {
	return func(r SocketRow) string {
		if r.Peer == nil {
			return ""
		}
		var words []string
		for _, s := range r.Peer.Connections {
			if w := of(s); w != "" && !slices.Contains(words, w) {
				words = append(words, w)
			}
		}
		const most = 3
		if n := len(words); n > most {
			words = append(words[:most], fmt.Sprintf("%d more", n-most))
		}
		return strings.Join(words, ", ")
	}
}

// Listeners are the fields of a row about a port that is listened on.
var Listeners = slices.Concat(socketFrom, []Field[SocketRow]{
	{Name: "name", Key: "port", Word: func(r SocketRow) string { return r.Socket.Instance.Name }, Keep: out.Always},
}, socketWhose[:2], []Field[SocketRow]{
	{Name: "protocol", Word: socketLabel("protocol")},
	{Name: "port", Of: socketNumber(func(s *query.Socket) float64 { return float64(s.Port()) }), Unit: Number},
	{Name: "address", Word: socketLabel("address")},
	{Name: "holders", Word: socketLabel("holders")},
	{Name: "backlog", Key: "backlog", Title: "waiting", Of: lastOf(query.Backlog), Unit: Number, Keep: 8},
	{Name: "backlog_worst", Key: "worst", Of: socketNumber(func(s *query.Socket) float64 { return s.Worst[query.Backlog] }), Unit: Number, Keep: 7},
	{Name: "backlog_limit", Key: "limit", Of: lastOf(query.BacklogLimit), Unit: Number, Keep: 9},
	{Name: "drops", Key: "dropped", Of: socketNumber(func(s *query.Socket) float64 { return s.Gains[query.Drops] }), Unit: Count, Keep: 9},
	{Name: "connections", Key: "connections", Title: "open", Of: func(r SocketRow) float64 { return r.Number }, Unit: Number, Keep: 8},
	{Name: "seen", Key: "seen", Word: func(r SocketRow) string {
		if r.Socket.Ended {
			return "ended"
		}
		return ""
	}, Keep: 6},
}, socketOwners)

// InListeners are the keys of the columns that people see of ports that are listened on.
var InListeners = []string{"port", "pid", "backlog", "worst", "limit", "dropped", "connections", "seen", "process"}

// title is what people see in the place of a peer or of a connection.
func (r SocketRow) title() string {
	switch {
	case r.Row == RowUnnamed && r.Number > 0:
		return fmt.Sprintf("not listed (%.0f now)", r.Number)
	case r.Row == RowUnnamed:
		return "not listed"
	case r.Row == RowOthers:
		return fmt.Sprintf("%.0f others", r.Number)
	case r.Peer != nil:
		return r.Peer.Name
	}
	in := r.Socket.Instance
	if in.Label("direction") == "in" {
		return ":" + in.Label("port") + " ← " + in.Label("peer")
	}
	return "→ " + in.Label("peer") + ":" + in.Label("peer_port")
}

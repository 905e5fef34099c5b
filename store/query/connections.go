package query

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"tachograph/sample/metric"
	"tachograph/store"
)

// Domains of connections and of ports that are listened on.
const (
	connectionIndom = "connection"
	listenerIndom   = "listener"
)

// closedState is the state of a connection that has closed.
const closedState = "CLOSED"

// SocketField is a number that was recorded of a connection or of a listener.
type SocketField uint8

const (
	SocketIn SocketField = iota
	SocketSent
	SocketRetrans
	SocketRTT
	SocketMinRTT
	SocketWindow
	SocketUnacked
	SocketRetries
	SocketSilence
	SocketAge
	Backlog
	BacklogLimit
	Drops
	PortConnections
	numSocketFields
)

var socketMetrics = map[string]SocketField{
	"network.persocket.bytes_received": SocketIn, "network.persocket.bytes_sent": SocketSent, "network.persocket.bytes_retrans": SocketRetrans,
	"network.persocket.round_trip.rtt": SocketRTT, "network.persocket.minrtt": SocketMinRTT, "network.persocket.cwnd_bytes": SocketWindow,
	"network.persocket.unacked": SocketUnacked, "network.persocket.timer.retrans": SocketRetries, "network.persocket.lastack": SocketSilence,
	"network.persocket.age": SocketAge,
}

var listenerMetrics = map[string]SocketField{
	"network.listener.backlog": Backlog, "network.listener.backlog_limit": BacklogLimit, "network.listener.drops": Drops,
	"network.listener.connections": PortConnections,
}

const (
	socketState = "network.persocket.state"
	// everyLook has a value whenever connections are read.
	everyLook = "network.persocket.others.in_bytes"
)

// A Socket is what was recorded of a connection, or of a port that is listened on, in a window.
type Socket struct {
	Archive  *store.ArchiveInfo
	Instance *metric.Instance
	// From and To are the first and the last reading in the window, Ended says that others came after it.
	From, To int64
	Ended    bool
	State    string
	// Gains are what counters grew by, Last the last values, Worst the largest; NaN where unknown.
	Gains, Last, Worst [numSocketFields]float64
	rtts               []float64
	first              [numSocketFields]float64
	bits               [numSocketFields]uint64
	known              [numSocketFields]bool
	aged               float64 // how old it was when it was first read
}

// Port is the port on this machine; 0 if it is unknown.
func (s *Socket) Port() int {
	n, _ := strconv.Atoi(s.Instance.Label("port"))
	return n
}

// Out is what a connection sent, without what it sent again.
func (s *Socket) Out() float64 { return s.Gains[SocketSent] - sum(s.Gains[SocketRetrans], 0) }

// Sockets are the connections, or the ports that are listened on, of one host in a window.
type Sockets struct {
	Archive *store.ArchiveInfo
	// From and To are the first and the last reading.
	From, To int64
	List     []*Socket
	// In, Out and Retrans are what connections transferred that have no values of their own; NaN if only some
	// processes count. Unnamed is how many these are at the end.
	In, Out, Retrans, Unnamed float64
	looks                     []int64
}

// Seconds is how long the readings cover.
func (s *Sockets) Seconds() float64 { return float64(s.To-s.From) / 1e9 }

// Connections returns the connections in a window of the processes that m chooses, those first that
// transferred most; with last, in the time between the last two readings in it.
func Connections(a Archive, w Window, m *Matcher, last bool) ([]*Sockets, error) {
	return sockets(a, w, m, last, connectionIndom, everyLook, socketMetrics)
}

// Listeners returns the ports in a window on which the processes listened that m chooses, in the order of ports.
func Listeners(a Archive, w Window, m *Matcher, last bool) ([]*Sockets, error) {
	return sockets(a, w, m, last, listenerIndom, "network.listener.sockets", listenerMetrics)
}

func sockets(a Archive, w Window, m *Matcher, last bool, indom, look string, metrics map[string]SocketField) ([]*Sockets, error) {
	if d := a.Lookup(look); d == nil || d.Unsupported != "" {
		return nil, ErrNoNet
	}
	var list []*Sockets
	for _, h := range a.Hosts() {
		one := Window{Hosts: []string{h.ID}, From: w.From, To: w.To}
		from, to, archives := Covered(a, one)
		if !w.Wants(h.ID) || len(archives) == 0 {
			continue
		}
		one.From = max(from, w.From)
		if w.To != 0 {
			to = min(to, w.To)
		}
		one.To = to
		s := &Sockets{Archive: archives[len(archives)-1], In: unknown, Out: unknown, Retrans: unknown, Unnamed: unknown}
		if !s.bounds(a, one, look, last) {
			continue
		}
		s.read(a, look, metrics, func(in *metric.Instance) bool { return m.All() || chosen(m, in, false) })
		if len(s.List) == 0 && m.loosens() {
			s.read(a, look, metrics, func(in *metric.Instance) bool { return chosen(m, in, true) })
		}
		if indom == connectionIndom && m.All() {
			s.rest(a)
		}
		list = append(list, s)
	}
	if len(list) == 0 {
		return nil, errNothing
	}
	return list, nil
}

// chosen reports whether m chooses the process of a connection or a port.
func chosen(m *Matcher, in *metric.Instance, loose bool) bool {
	return m.Owns(in, loose) || m.Accept(ProcessID(in), in.Label("name"), loose)
}

// bounds moves the beginning of the window to the reading before it. It returns false if there was none.
func (s *Sockets) bounds(a Archive, w Window, look string, last bool) bool {
	every := int64(metric.Network.Interval())
	if iv := interval(s.Archive, metric.Network); iv > 0 {
		every = iv
	}
	before := func(at int64) int64 {
		return a.LastRead(Window{Hosts: w.Hosts, From: at - missedTicks*every, To: at}.Selection(look))
	}
	s.From, s.To = w.From, w.To
	if last {
		tick := before(w.To)
		if tick == 0 {
			return false
		}
		s.From, s.To = tick-every/2, tick
	}
	if tick := before(s.From); tick != 0 {
		s.From = tick
	}
	return true
}

// read reads the sockets that are wanted.
func (s *Sockets) read(a Archive, look string, metrics map[string]SocketField, wanted func(*metric.Instance) bool) {
	names := []string{look}
	if look == everyLook {
		names = append(names, socketState)
	}
	for name := range metrics {
		names = append(names, name)
	}
	sel := Window{Hosts: []string{s.Archive.Host.ID}, From: s.From, To: s.To}.Selection(names...)
	sel.Instance = func(_ string, in *metric.Instance) bool { return in == nil || wanted(in) }
	type id struct{ boot, key string }
	all := make(map[id]*Socket)
	s.List, s.looks = nil, nil
	for run := range a.Select(sel) {
		if run.Metric.Name == look {
			s.looks = append(s.looks, run.Wall...)
		}
		f, numeric := metrics[run.Metric.Name]
		if run.Instance == nil || !numeric && run.Metric.Name != socketState {
			continue
		}
		k := id{run.Archive.BootID, run.Instance.Key}
		one := all[k]
		if one == nil {
			one = &Socket{Archive: run.Archive, Instance: run.Instance, From: run.Wall[0], aged: unknown}
			for f := range numSocketFields {
				one.Gains[f], one.Last[f], one.Worst[f] = unknown, unknown, unknown
			}
			all[k] = one
			s.List = append(s.List, one)
		}
		one.Instance = run.Instance
		one.From, one.To = min(one.From, run.Wall[0]), max(one.To, run.Wall[len(run.Wall)-1])
		if !numeric {
			one.State = run.Word(len(run.Wall) - 1)
			continue
		}
		one.take(f, run)
	}
	end := s.From
	for _, one := range s.List {
		end = max(end, one.To)
	}
	slices.Sort(s.looks)
	if n := len(s.looks); n > 0 {
		end = s.looks[n-1]
	}
	s.To = end
	for _, one := range s.List {
		one.Ended = one.To < end || one.State == closedState
		one.begin(s)
	}
	slices.SortFunc(s.List, func(x, y *Socket) int {
		return cmp.Or(cmp.Compare(orNothing(y.Gains[SocketIn]+y.Out()), orNothing(x.Gains[SocketIn]+x.Out())),
			cmp.Compare(x.Port(), y.Port()), strings.Compare(x.Instance.Name, y.Instance.Name),
			strings.Compare(x.Instance.Key, y.Instance.Key))
	})
}

// take takes in the values of one field.
func (s *Socket) take(f SocketField, run *store.Run) {
	for i := range run.Wall {
		x, ok := present(run, i)
		if !ok {
			continue
		}
		x *= base(run.Metric.Units)
		s.Last[f] = x
		if !(s.Worst[f] >= x) {
			s.Worst[f] = x
		}
		if f == SocketRTT {
			s.rtts = append(s.rtts, x)
		}
		if f == SocketAge && run.Wall[i] == s.From {
			s.aged = x
		}
		if run.Metric.Sem != metric.Counter {
			continue
		}
		if s.known[f] {
			inc, _ := metric.Increase(run.Metric, s.bits[f], run.Bits[i], 0)
			s.Gains[f] += float64(inc * base(run.Metric.Units))
		} else {
			s.first[f], s.known[f], s.Gains[f] = x, true, 0
		}
		s.bits[f] = run.Bits[i]
	}
}

// begin counts what a connection had transferred when it was first read, if it had begun after the look
// before. What it did earlier while it had no values of its own is with the others.
func (s *Socket) begin(of *Sockets) {
	i, _ := slices.BinarySearch(of.looks, s.From)
	if i == 0 || i > len(of.looks) || !(s.aged <= float64(s.From-of.looks[i-1])/1e9+slackAge) {
		return
	}
	for f := range s.known {
		if s.known[f] {
			s.Gains[f] += s.first[f]
		}
	}
}

// slackAge is how much older than it is a connection may seem, in seconds.
const slackAge = 0.5

// rest finds what connections transferred that have no values of their own.
func (s *Sockets) rest(a Archive) {
	w := Window{Hosts: []string{s.Archive.Host.ID}, From: s.From, To: s.To}
	if tick := lastProcessTick(a, w, s.From); tick != 0 {
		w.From = tick
	}
	gained := gainsOf(a, w, trafficMetrics[NetIn], trafficMetrics[NetOut], trafficMetrics[NetRetrans])
	rest := func(f ProcessCounter, of func(*Socket) float64) float64 {
		total, ok := gained[trafficMetrics[f]]
		if !ok {
			return unknown
		}
		for _, one := range s.List {
			total -= orNothing(of(one))
		}
		return max(0, total)
	}
	s.In = rest(NetIn, func(one *Socket) float64 { return one.Gains[SocketIn] })
	s.Out = rest(NetOut, (*Socket).Out)
	s.Retrans = rest(NetRetrans, func(one *Socket) float64 { return one.Gains[SocketRetrans] })
	s.Unnamed = lastOf(a, w, "network.traffic.unnamed")
}

// orNothing returns x, 0 if it is unknown.
func orNothing(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return x
}

// A Peer is who was on the other side of connections.
type Peer struct {
	Archive *store.ArchiveInfo
	Name    string
	// Connections are those that were seen in the window, Open those of them that are open at its end.
	Connections []*Socket
	Open        int
	// In, Out and Retrans are what they transferred.
	In, Out, Retrans float64
	// RTT is the median of all round trips that were read, in seconds, Worst the longest and Least the shortest; NaN
	// where none was read.
	RTT, Worst, Least float64
}

// Peers brings connections with the same other side together, those first that transferred most.
func (s *Sockets) Peers() []*Peer {
	all := make(map[string]*Peer)
	var list []*Peer
	for _, one := range s.List {
		name := one.Instance.Label("peer")
		p := all[name]
		if p == nil {
			p = &Peer{Archive: one.Archive, Name: name, RTT: unknown, Worst: unknown, Least: unknown}
			all[name] = p
			list = append(list, p)
		}
		p.Connections = append(p.Connections, one)
		if !one.Ended {
			p.Open++
		}
		p.In += orNothing(one.Gains[SocketIn])
		p.Out += orNothing(one.Out())
		p.Retrans += orNothing(one.Gains[SocketRetrans])
		if x := one.Worst[SocketRTT]; !(p.Worst >= x) && x == x {
			p.Worst = x
		}
		if x := one.Last[SocketMinRTT]; !(p.Least <= x) && x == x {
			p.Least = x
		}
	}
	for _, p := range list {
		var rtts []float64
		for _, one := range p.Connections {
			rtts = append(rtts, one.rtts...)
		}
		if slices.Sort(rtts); len(rtts) > 0 {
			p.RTT = rtts[len(rtts)/2]
		}
	}
	slices.SortStableFunc(list, func(x, y *Peer) int {
		return cmp.Or(cmp.Compare(y.In+y.Out, x.In+x.Out), strings.Compare(x.Name, y.Name))
	})
	return list
}

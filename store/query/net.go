package query

import (
	"errors"
	"fmt"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store"
)

// The quantities that the use of the network is ranked by. ByNet is the sum of the first two.
const (
	ByNetIn          By = "in"
	ByNetOut         By = "out"
	ByNetRetrans     By = "retrans"
	ByNetConnections By = "connections"
	ByNetOpened      By = "opened"
)

// NetBys are all rankings by the use of the network.
var NetBys = []By{ByNet, ByNetIn, ByNetOut, ByNetRetrans, ByNetConnections, ByNetOpened}

// netCounters are the counters of what processes do over the network.
var netCounters = []ProcessCounter{NetIn, NetOut, NetRetrans, NetOpened, NetAccepted, NetRefused, NetFailed}

// connectionsMetric is how many connections a process has.
const connectionsMetric = "proc.net.connections"

// Words names the quantity in sentences.
func (by By) Words() string {
	if slices.Contains(NetBys, by) {
		return "the network"
	}
	return string(by)
}

// Carriers are what the bytes of processes can be counted over alone: protocols, and media.
var (
	Protocols = []string{"tcp", "udp", "quic"}
	Media     = []string{"loopback", "wifi", "wired", "cellular"}
)

// A NetQuestion asks who used the network.
type NetQuestion struct {
	Matcher *Matcher
	By      By
	Group   Grouping
	N       int // how many; 0 for all
	// Over is the one of Protocols or Media that alone counts; "" for all.
	Over string
	// Last says that the question is about the time between the last two readings in the window.
	Last bool
}

// NetUse says who used the network.
type NetUse struct {
	*Ranking
	Over  string
	Hosts []*Traffic
}

// Traffic is what the connections of one host carried. The parts are exactly the whole:
//
//	Total = Processes + Ended + Unattributed
type Traffic struct {
	Archive *store.ArchiveInfo // the last of the host's in the window
	// From and To are the first and the last reading.
	From, To int64
	// Processes is what all processes that were asked for did together, N is how many there are.
	Processes *Consumer
	N         int
	// Total and Unattributed are by NetIn, NetOut and NetRetrans; NaN where they were not recorded, or
	// where the question is not about everything.
	Total, Unattributed [NumProcessCounters]float64
	// Connections are all that were open at the end; NaN like Total.
	Connections float64
	// Missing is what is known not to be in it.
	Missing
}

// Missing says what of a host's traffic was not counted.
type Missing struct {
	Lost       float64 // connections whose last bytes are unknown
	Namespaces float64 // of which no connection can be read; NaN if that is not known
	Datagrams  float64 // of UDP, where bytes of UDP are not counted
	Why        string  // they are not
}

// Ended is what processes did that had ended before it could be read.
func (t *Traffic) Ended(f ProcessCounter) float64 {
	return t.Total[f] - t.Unattributed[f] - sum(t.Processes.Gains[f], 0)
}

// Seconds is how long the readings cover.
func (t *Traffic) Seconds() float64 { return float64(t.To-t.From) / 1e9 }

var trafficMetrics = map[ProcessCounter]string{
	NetIn: "network.traffic.in_bytes", NetOut: "network.traffic.out_bytes", NetRetrans: "network.traffic.retrans_bytes",
}

var unattributedMetrics = map[ProcessCounter]string{
	NetIn: "network.traffic.unattributed.in_bytes", NetOut: "network.traffic.unattributed.out_bytes",
	NetRetrans: "network.traffic.unattributed.retrans_bytes",
}

// ErrNoNet says that a question is about the network, of which an archive does not say who used it.
var ErrNoNet = errors.New("who used the network is not recorded in this archive: it was made by a recorder that does not count the bytes of processes, or by another program")

// Net ranks processes, or groups of them, by their use of the network: Top with other counters.
func Net(a Archive, w Window, q NetQuestion) (*NetUse, error) {
	fields := mapFields(a, netCounters, nil)
	if len(fields.names) == 0 {
		return nil, ErrNoNet
	}
	if q.Over != "" {
		metrics := [NumProcessCounters][]string{NetIn: {"proc.net." + q.Over + ".in_bytes"}, NetOut: {"proc.net." + q.Over + ".out_bytes"}}
		if fields = mapFrom(a, &metrics, []ProcessCounter{NetIn, NetOut}, nil); len(fields.names) == 0 {
			why := ""
			if d := a.Lookup(metrics[NetIn][0]); d != nil && d.Unsupported != "" {
				why = ": " + d.Unsupported
			}
			return nil, fmt.Errorf("the bytes that processes sent and received over %s were not recorded%s", q.Over, why)
		}
	}
	asked := &question{m: q.Matcher, fields: fields, by: q.By, group: q.Group, n: q.N, net: true, open: q.Over == "", last: q.Last}
	r, hosts, err := asked.rank(a, w)
	if err != nil {
		return nil, err
	}
	u := &NetUse{Ranking: r, Over: q.Over}
	for _, h := range a.Hosts() {
		t := hosts[h.ID]
		if t == nil {
			continue
		}
		t.identify(r.of(h.ID))
		_, _, list := Covered(a, t.w)
		one := &Traffic{Archive: list[len(list)-1], From: t.w.From, To: t.w.To, Processes: t.all, N: t.count,
			Total: noCounters(), Unattributed: noCounters(), Connections: unknown}
		one.missing(a, t.w, q.Over)
		if q.Over == "" && q.Matcher.All() {
			one.totals(a, t.w)
		}
		u.Hosts = append(u.Hosts, one)
	}
	return u, nil
}

// totals fills in what all connections carried, and what of it is nobody's.
func (t *Traffic) totals(a Archive, w Window) {
	var names []string
	for f := range trafficMetrics {
		names = append(names, trafficMetrics[f], unattributedMetrics[f])
	}
	gained := gainsOf(a, w, names...)
	for f := range trafficMetrics {
		if total, ok := gained[trafficMetrics[f]]; ok {
			t.Total[f], t.Unattributed[f] = total, gained[unattributedMetrics[f]]
		}
	}
	t.Connections = lastOf(a, w, "network.traffic.connections")
}

// fewDatagrams is how many datagrams a second do not matter.
const fewDatagrams = 1

// missing finds what is not counted.
func (t *Traffic) missing(a Archive, w Window, over string) {
	const in, out, lost = "network.udp.indatagrams", "network.udp.outdatagrams", "network.traffic.lost"
	gained := gainsOf(a, w, in, out, lost)
	t.Lost = gained[lost]
	if d := a.LookupIn(t.Archive, "proc.net.udp.in_bytes"); d != nil && d.Unsupported != "" && over == "" {
		if n := gained[in] + gained[out]; n > fewDatagrams*t.Seconds() {
			t.Datagrams, t.Why = n, d.Unsupported
		}
	}
	t.Namespaces = lastOf(a, w, "network.traffic.namespaces_unread")
}

// lastOf returns the last value in a window of a metric of one host that has a single value; NaN if it has none.
func lastOf(a Archive, w Window, name string) float64 {
	last := unknown
	sel := w.Selection(name)
	sel.From, sel.Prior = w.To, true
	for run := range a.Select(sel) {
		if x, ok := present(run, len(run.Wall)-1); ok && run.Instance == nil {
			last = x
		}
	}
	return last
}

// gainsOf returns how much counters of one host that have a single value grew in a window: from the
// first reading in it to the last, without what grew between two boots.
func gainsOf(a Archive, w Window, names ...string) map[string]float64 {
	gained := make(map[string]float64)
	last := make(map[string]*store.Summary)
	for s := range a.Summarize(w.Selection(names...)) {
		if s.Instance != nil || s.Count == 0 || s.Metric.Sem != metric.Counter {
			continue
		}
		name := s.Metric.Name
		gain := s.Increase
		if before := last[name]; before != nil && before.Archive.BootID == s.Archive.BootID {
			inc, _ := metric.Increase(s.Metric, before.Last.Bits, s.First.Bits, float64(s.First.Cont-before.Last.Cont)/1e9)
			gain += inc
		}
		c := *s
		last[name] = &c
		gained[name] += float64(gain * base(s.Metric.Units))
	}
	return gained
}

// lastInterval returns the time between the last two readings of processes in a window.
func lastInterval(a Archive, w Window) Window {
	every := int64(metric.Process.Interval())
	_, to, list := Covered(a, w)
	for _, info := range list {
		if iv := interval(info, metric.Process); iv > 0 {
			every = iv
		}
	}
	if w.To != 0 {
		to = min(to, w.To)
	}
	if tick := lastProcessTick(a, w, to); tick != 0 {
		to = tick
	}
	return Window{Hosts: w.Hosts, From: to - every/2, To: to}
}

// connect finds how many connections each process has at the end of the window.
func (t *topper) connect() {
	if d := t.a.Lookup(connectionsMetric); d == nil || d.Unsupported != "" {
		return
	}
	t.open = make(map[[2]string]float64)
	end := Window{Hosts: t.w.Hosts, From: t.w.To - t.every - t.every/2, To: t.w.To}
	for run := range t.a.Select(end.Selection(connectionsMetric)) {
		i := len(run.Wall) - 1
		if x, ok := present(run, i); ok && run.Instance != nil && t.held(run.Wall[i]) {
			t.open[[2]string{run.Archive.BootID, run.Instance.Key}] = x
		}
	}
}

// connections adds the connections that the process had at the end.
func (l *life) connections(open map[[2]string]float64) {
	if n, ok := open[[2]string{l.boot, l.latest.Key}]; ok {
		l.Connections = sum(l.Connections, n)
	}
}

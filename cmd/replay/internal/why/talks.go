package why

import (
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"

	"tachograph/sample/metric"
)

// A talk is what a connection did in a piece of time. What was not read is NaN.
type talk struct {
	in       *metric.Instance
	piece    int
	at       int64 // of the last reading
	retries  float64
	lastAck  float64 // milliseconds
	age      float64 // milliseconds
	rtt      float64 // milliseconds
	least    float64 // shortest round trip
	unacked  float64
	sent     float64 // in the piece, as the next two
	resent   float64
	received float64
	total    [3]float64 // the same since the connection began
}

// talkMetrics are the metrics of a talk.
var talkMetrics = []string{"network.persocket.timer.retrans", "network.persocket.lastack", "network.persocket.age", "network.persocket.round_trip.rtt", "network.persocket.minrtt",
	"network.persocket.unacked", "network.persocket.bytes_sent", "network.persocket.bytes_retrans", "network.persocket.bytes_received"}

// newTalk returns a talk of which nothing has been read.
func newTalk(l *look) *talk {
	n := math.NaN()
	return &talk{in: l.in, piece: l.piece, retries: n, lastAck: n, age: n, rtt: n, least: n, unacked: n, sent: n, resent: n, received: n, total: [3]float64{n, n, n}}
}

// put enters what was read of a metric.
func (t *talk) put(l *look) {
	switch t.at = max(t.at, l.at); l.metric {
	case talkMetrics[0]:
		t.retries = l.most
	case talkMetrics[1]:
		t.lastAck = l.last
	case talkMetrics[2]:
		t.age = l.last
	case talkMetrics[3]:
		t.rtt = l.last
	case talkMetrics[4]:
		t.least = l.last
	case talkMetrics[5]:
		t.unacked = l.last
	case talkMetrics[6]:
		t.sent, t.total[0] = l.gain, l.last
	case talkMetrics[7]:
		t.resent, t.total[1] = l.gain, l.last
	case talkMetrics[8]:
		t.received, t.total[2] = l.gain, l.last
	}
}

// settle counts all that a connection ever transferred, if it is young and was not read before.
func (t *talk) settle() {
	for i, gain := range []*float64{&t.sent, &t.resent, &t.received} {
		if *gain != *gain && t.age <= float64(2*leastMinute/1e6) {
			*gain = t.total[i]
		}
	}
}

// stuck reports whether the other side has not answered for long. Where the system does not say
// how often a segment was sent again, it is so if something was, and nothing came back.
func (t *talk) stuck() bool {
	if t.retries == t.retries {
		return t.retries >= retriesLeast && !(t.silent() < 1000)
	}
	return t.resent > 0 && t.unacked > 0 && t.received == 0
}

// silent returns for how many milliseconds the other side has not answered; NaN where that is not
// known.
func (t *talk) silent() float64 {
	if t.age == t.age {
		return math.Min(t.lastAck, t.age) // Without any answer, the kernel counts from the start of the machine.
	}
	return t.lastAck
}

// since returns when a stuck connection had its last answer.
func (t *talk) since() int64 {
	if ms := t.silent(); ms == ms {
		return t.at - int64(ms*1e6)
	}
	return t.at - leastMinute
}

// mute reports whether the other side has never sent anything.
func (t *talk) mute() bool { return t.total[2] == 0 }

// party is another machine, or a service of it, by piece.
type party struct {
	name         string
	at           []int64 // of the last reading
	seen         []int   // connections
	stuck        [][]*talk
	talks        [][]*talk
	rtt          []float64 // mean of the connections that were used; NaN where none was
	sent, resent []float64
	best         float64 // shortest round trip ever
}

// parties returns the other machines that connections lead to, in the order of their names.
func (q *question) parties() []*party {
	if q.others != nil {
		return q.others
	}
	cuts := q.minutes()
	type place struct {
		key   string
		piece int
	}
	of := make(map[place]*talk)
	var all []*talk
	q.looks(cuts, func(l *look) {
		at := place{l.in.Key, l.piece}
		t := of[at]
		if t == nil {
			if len(all) >= mostTalks || homely(l.in) {
				return
			}
			t = newTalk(l)
			of[at], all = t, append(all, t)
		}
		t.put(l)
	}, talkMetrics...)
	by := make(map[string]*party)
	ports := make(map[*party]map[string]bool)
	for _, t := range all {
		t.settle()
		name := t.in.Label("peer")
		p := by[name]
		if p == nil {
			n := len(cuts)
			p = &party{name: name, at: make([]int64, n), seen: make([]int, n), stuck: make([][]*talk, n), talks: make([][]*talk, n), rtt: unread(n),
				sent: make([]float64, n), resent: make([]float64, n), best: math.Inf(1)}
			by[name], ports[p] = p, make(map[string]bool)
		}
		p.add(t)
		if t.in.Label("direction") != "in" {
			ports[p][t.in.Label("peer_port")] = true
		}
	}
	q.others = make([]*party, 0, len(by))
	for _, name := range slices.Sorted(maps.Keys(by)) {
		p := by[name]
		p.title(slices.Sorted(maps.Keys(ports[p])))
		p.finish()
		q.others = append(q.others, p)
	}
	return q.others
}

// mostTalks bounds what is kept of connections, whatever an archive holds.
const mostTalks = 1 << 18

// homely reports whether both ends of a connection are on this machine.
func homely(in *metric.Instance) bool {
	peer := in.Label("peer")
	at, err := netip.ParseAddr(peer)
	return peer == "localhost" || err == nil && at.IsLoopback() || loopback(in.Label("interface"))
}

func (p *party) add(t *talk) {
	k := t.piece
	p.at[k] = max(p.at[k], t.at)
	p.seen[k]++
	p.talks[k] = append(p.talks[k], t)
	if t.stuck() {
		p.stuck[k] = append(p.stuck[k], t)
	}
	p.sent[k] += orZero(t.sent)
	p.resent[k] += orZero(t.resent)
	if t.least > 0 {
		p.best = min(p.best, t.least)
	}
}

// title adds the port to the name of a peer, if there is only one.
func (p *party) title(ports []string) {
	one := len(ports) == 1 && ports[0] != ""
	switch {
	case p.name == "" && one:
		p.name = "the other side on port " + ports[0]
	case p.name == "":
		p.name = "the other side"
	case one:
		p.name += ":" + ports[0]
	}
}

// finish computes the round trips: of connections that were used and that did not send at full
// speed.
func (p *party) finish() {
	for k, list := range p.talks {
		sum, n := 0.0, 0.0
		for _, t := range list {
			if t.rtt > 0 && (t.sent > 0 || t.received > 0) && !(t.sent >= fullSpeed*float64(leastMinute)/1e9) {
				sum, n = sum+t.rtt, n+1
			}
		}
		p.rtt[k] = sum / n
	}
}

// ordinary returns the median of some values of the pieces outside the window or, where hardly any
// were read, what the lowest in it are; ok is false where that is not known either.
func (p *party) ordinary(q *question, x []float64) (usual float64, ok bool) {
	var list []float64
	for k := range x {
		if x[k] == x[k] && (p.at[k] <= q.shown.From || p.at[k] > q.shown.To+leastMinute) {
			list = append(list, x[k])
		}
	}
	const some = 3
	if len(list) >= some {
		return quantile(list, 0.5), true
	}
	return orZero(quantile(x, 0.3)), len(known(x)) >= 3*some
}

// rare returns what part of its weight a finding about some pieces keeps: less where it is as bad
// in many others.
func (p *party) rare(lo, hi int, bad func(k int) bool) float64 {
	n, m := 0.0, 0.0
	for k := range p.at {
		if p.at[k] == 0 || k >= lo-1 && k <= hi {
			continue
		}
		if n++; bad(k) {
			m++
		}
	}
	return 1 - float64(0.9*min(2*m/max(n, 1), 1))
}

// talksIn returns the first of the talks in some pieces that are wanted, and how many connections
// they belong to, and enters their processes into of.
func (p *party) talksIn(lo, hi int, of processes, wanted func(*talk) bool) (first *talk, count int) {
	keys := make(map[string]bool)
	for k := lo; k < hi; k++ {
		for _, t := range p.talks[k] {
			if wanted(t) {
				if keys[t.in.Key] = true; first == nil {
					first = t
				}
				of.add(t.in)
			}
		}
	}
	return first, len(keys)
}

// processes are those that have some connections: their names by how sentences name them.
type processes map[string]string

func (of processes) add(in *metric.Instance) {
	if title := holder(in); title != "" {
		if in.Label("direction") == "in" && in.Label("port") != "" {
			title += " on port " + in.Label("port")
		}
		of[title] = in.Label("name")
	}
}

// String names them.
func (of processes) String() string {
	if len(of) == 0 {
		return "processes that are not known"
	}
	return names(slices.Sorted(maps.Keys(of)))
}

// names returns their names.
func (of processes) names() []string {
	return slices.Compact(slices.Sorted(maps.Values(of)))
}

// connections says how many connections they have.
func (of processes) connections(n int) string {
	if n == 1 {
		return fmt.Sprintf("1 connection of %s", of)
	}
	return fmt.Sprintf("%d connections of %s", n, of)
}

package proc

import (
	"slices"
	"strings"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/sample/socket"
)

// traffic follows the sweeps with what all connections of the machine transferred, with those
// that have values of their own, and with the ports that are listened on.
type traffic[P any] struct {
	*census[P]
	of          *metric.Group
	connections *connections[P]
	listeners   *listeners[P]
	// chosen are the columns that are known only after connections have been chosen.
	chosen []int
}

func newTraffic[P any](on catalog.Platform, c *census[P]) *traffic[P] {
	names := make([]string, len(trafficColumns))
	for i := range trafficColumns {
		names[i] = trafficColumns[i].name
	}
	t := &traffic[P]{census: c, of: catalog.Group(on, "network.traffic", names...), connections: newConnections(on, c)}
	for i, name := range names {
		if name == "network.traffic.unnamed" || strings.HasPrefix(name, "network.persocket.") {
			t.chosen = append(t.chosen, i)
		}
	}
	t.listeners = newListeners(on, t.connections)
	t.setOptions()
	return t
}

var trafficColumns = []struct {
	name string
	get  func(n *network) uint64
}{
	{"network.traffic.in_bytes", func(n *network) uint64 { return n.book.All.All().In }},
	{"network.traffic.out_bytes", func(n *network) uint64 { return n.book.All.All().Out }},
	{"network.traffic.retrans_bytes", func(n *network) uint64 { return n.book.All.Retrans }},
	{"network.traffic.connections", func(n *network) uint64 { return uint64(n.book.Open) }},
	{"network.traffic.closed", func(n *network) uint64 { return n.book.All.Closed }},
	{"network.traffic.short", func(n *network) uint64 { return n.book.Short }},
	{"network.traffic.unattributed.in_bytes", func(n *network) uint64 { return n.book.Nobody.All().In }},
	{"network.traffic.unattributed.out_bytes", func(n *network) uint64 { return n.book.Nobody.All().Out }},
	{"network.traffic.unattributed.retrans_bytes", func(n *network) uint64 { return n.book.Nobody.Retrans }},
	{"network.traffic.unattributed.closed", func(n *network) uint64 { return n.book.Nobody.Closed }},
	{"network.traffic.lost", func(n *network) uint64 { return n.book.Lost + n.lister.Lost() }},
	{"network.traffic.unnamed", func(n *network) uint64 { return uint64(n.unnamed) }},
	{"network.persocket.others.in_bytes", func(n *network) uint64 { return n.others.In }},
	{"network.persocket.others.out_bytes", func(n *network) uint64 { return n.others.Out }},
	{"network.traffic.namespaces", func(n *network) uint64 { return uint64(n.namespaces) }},
	{"network.traffic.namespaces_unread", func(n *network) uint64 { return uint64(n.unread) }},
}

func (t *traffic[P]) follows() []*metric.Group {
	return []*metric.Group{t.of, t.connections.of, t.listeners.of}
}

func (t *traffic[P]) setOptions() {
	t.connections.names = socket.NewNames(t.opt.Network.Peers, t.opt.Network.Key)
}

// chooses reports whether any of the frames asks for connections of their own.
func (t *traffic[P]) chooses(frames []*sample.Frame) bool {
	return slices.ContainsFunc(frames, func(f *sample.Frame) bool {
		return f.Full() == t.connections.of || f.Full() == t.of && f.Wants(t.chosen...)
	})
}

// notice implements follower.
func (t *traffic[P]) notice() string {
	if t.net.lister == nil {
		return ""
	}
	return t.net.lister.Notice()
}

// read implements follower. The frames have the time of the processes, with whose totals theirs
// add up.
func (t *traffic[P]) read(c *sample.Context, frames []*sample.Frame) {
	for _, f := range frames {
		f.Reset(t.stamped)
		if t.net.why != metric.Present {
			f.Miss(t.stamped, t.net.why)
		}
	}
	if t.net.why != metric.Present {
		return
	}
	of := func(g *metric.Group) []*sample.Frame {
		return slices.DeleteFunc(slices.Clone(frames), func(f *sample.Frame) bool { return f.Full() != g })
	}
	if t.chooses(frames) {
		t.connections.fill(t.stamped, t.net.book.Named(), of(t.connections.of))
		t.net.others, t.net.unnamed = t.net.book.Others()
	}
	if frames := of(t.listeners.of); len(frames) > 0 {
		t.listeners.fill(t.net.book.Ports(), frames)
	}
	for _, f := range of(t.of) {
		row := f.Row(nil)
		if l, ok := t.net.lister.(interface{ Namespaces() (read, missing int) }); ok {
			t.net.namespaces, t.net.unread = l.Namespaces()
		}
		for i := range trafficColumns {
			f.SetUint(row, i, trafficColumns[i].get(&t.net))
		}
	}
}

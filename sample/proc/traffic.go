package proc

import (
	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// traffic follows the sweeps with what all connections of the machine transferred.
type traffic[P any] struct {
	*census[P]
	of *metric.Group
}

func newTraffic[P any](on catalog.Platform, c *census[P]) *traffic[P] {
	names := make([]string, len(trafficColumns))
	for i := range trafficColumns {
		names[i] = trafficColumns[i].name
	}
	return &traffic[P]{c, catalog.Group(on, "network.traffic", names...)}
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
	{"network.traffic.namespaces", func(n *network) uint64 { return uint64(n.namespaces) }},
	{"network.traffic.namespaces_unread", func(n *network) uint64 { return uint64(n.unread) }},
}

func (t *traffic[P]) follows() []*metric.Group { return []*metric.Group{t.of} }

// notice implements follower.
func (t *traffic[P]) notice() string {
	if t.net.lister == nil {
		return ""
	}
	return t.net.lister.Notice()
}

// read implements follower.
func (t *traffic[P]) read(c *sample.Context, frames []*sample.Frame) {
	for _, f := range frames {
		f.Reset(c.Now())
		row := f.Row(nil)
		if t.net.why != metric.Present {
			f.MissRow(row, t.net.why)
			continue
		}
		if l, ok := t.net.lister.(interface{ Namespaces() (read, missing int) }); ok {
			t.net.namespaces, t.net.unread = l.Namespaces()
		}
		for i := range trafficColumns {
			f.SetUint(row, i, trafficColumns[i].get(&t.net))
		}
	}
}

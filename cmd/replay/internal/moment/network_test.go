package moment

import (
	"math"
	"testing"
	"time"

	"tachograph/store/query"
	"tachograph/store/query/querytest"
)

// Who used the network at a moment is what processes did, and nobody, between two readings.
func TestNetwork(t *testing.T) {
	open := func(path string) *Recording {
		parts, err := querytest.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Open(querytest.New(parts...), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if n, err := open("../../testdata/owners.txt").Network(time.Date(2026, 11, 20, 3, 1, 0, 0, time.UTC).UnixNano()); n != nil || err != nil {
		t.Errorf("a recording without connections says %+v, %v", n, err)
	}
	r := open("../../testdata/net.txt")
	n, err := r.Network(time.Date(2026, 11, 20, 3, 7, 2, 0, time.UTC).UnixNano())
	if err != nil {
		t.Fatal(err)
	}
	for _, use := range []*query.NetUse{n.Processes, n.Owners} {
		of := use.Hosts[0]
		if seconds := of.Seconds(); seconds != 5 {
			t.Errorf("it is about %v s", seconds)
		}
		sum := of.Unattributed[query.NetOut] + of.Ended(query.NetOut)
		for _, c := range use.Consumers {
			sum += c.Gains[query.NetOut]
		}
		if total := of.Total[query.NetOut]; !(math.Abs(sum-total) < 1) {
			t.Errorf("the parts are %v bytes, the whole %v", sum, total)
		}
	}
	if len(n.Owners.Consumers) >= len(n.Processes.Consumers) || n.Processes.Consumers[0].Name != "restic" || n.Owners.Consumers[0].Name != "backup.service" {
		t.Errorf("%d owners, %d processes", len(n.Owners.Consumers), len(n.Processes.Consumers))
	}
	if len(n.Connections.List) != 13 || len(n.Ports.List) != 5 || n.Connections.To != time.Date(2026, 11, 20, 3, 7, 0, 0, time.UTC).UnixNano() {
		t.Errorf("%d connections of %s, %d ports", len(n.Connections.List), time.Unix(0, n.Connections.To), len(n.Ports.List))
	}
}

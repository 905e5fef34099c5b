package proc

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"tachograph/sample/metric"
	"tachograph/sample/socket"
)

// fakeLister lists the sockets that a test has put into it.
type fakeLister struct {
	open, closed []*socket.Socket
	fails        error
	takes        time.Duration // processor time
	took         time.Duration
	lists        int
}

func (l *fakeLister) List(h socket.Hearer) error {
	l.lists++
	l.took += l.takes
	if l.fails != nil {
		return l.fails
	}
	for _, s := range slices.Concat(l.closed, l.open) {
		h.Hear(s)
	}
	l.closed = nil
	return nil
}

func (l *fakeLister) Lost() uint64   { return 5 }
func (l *fakeLister) Notice() string { return "2 network namespaces were not asked" }
func (l *fakeLister) Close() error   { return nil }

// connection makes a connection of a process, by the number of both.
func connection(id, process uint64, in, out uint64) *socket.Socket {
	return &socket.Socket{ID: id, PID: int32(process), Unique: process, State: socket.Established,
		Local: netip.MustParseAddrPort("10.0.0.1:50000"), Peer: netip.MustParseAddrPort("10.0.0.2:443"),
		Has: socket.HasBytes, Bytes: socket.Bytes{In: in, Out: out}}
}

// networked runs a test on a kernel of each kind that lists sockets.
func networked(t *testing.T, people int, test func(t *testing.T, k *fakeKernel, r *fakeRun, l *fakeLister)) {
	shapes(t, people, func(t *testing.T, k *fakeKernel, r *fakeRun) {
		l := &fakeLister{}
		k.net.lister, k.net.cpu = l, func() time.Duration { return l.took }
		test(t, k, r, l)
	})
}

func TestWhatProcessesTransfer(t *testing.T) {
	networked(t, 3, func(t *testing.T, k *fakeKernel, r *fakeRun, l *fakeLister) {
		columns := []string{"proc.net.in_bytes", "proc.net.out_bytes", "proc.net.connections", "proc.net.opened"}
		traffic := []string{"network.traffic.in_bytes", "network.traffic.connections", "network.traffic.closed",
			"network.traffic.unattributed.in_bytes", "network.traffic.lost"}
		// Who has them is known in the first sweep already.
		s := connection(1, 2, 100, 10)
		l.open = append(l.open, s, connection(2, 99, 7, 0))
		r.expect(metric.Process)
		expectRows(t, r.rows(columns...), map[string]string{"1/1": "0 0 0 0", "2/2": "100 10 1 1", "3/3": "0 0 0 0"})
		expectRows(t, r.rows(traffic...), map[string]string{"": "107 2 0 7 5"})

		// The process ends, and its socket is reported closed.
		last := *s
		last.Closed, last.Bytes.In = true, 130
		l.open, l.closed = l.open[1:], append(l.closed, &last)
		k.people = slices.DeleteFunc(k.people, func(who *person) bool { return who.pid == 2 })
		r.expect(metric.Process, "000002 p2 ended")
		expectRows(t, r.rows(columns...), map[string]string{"1/1": "0 0 0 0", "2/2": "130 10 !vanished 1", "3/3": "0 0 0 0"})
		expectRows(t, r.rows(traffic...), map[string]string{"": "137 1 1 7 5"})
		r.expect(metric.Process)
		expectRows(t, r.rows(columns...), map[string]string{"1/1": "0 0 0 0", "3/3": "0 0 0 0"})
		if got := r.source.Notice(); got != "2 network namespaces were not asked" {
			t.Errorf("notice %q", got)
		}
	})
}

// A process that was born since the last sweep has what it transferred in its first row.
func TestNewProcessesAreMetBeforeSockets(t *testing.T) {
	networked(t, 1, func(t *testing.T, k *fakeKernel, r *fakeRun, l *fakeLister) {
		r.expect(metric.Process)
		k.people = append(k.people, &person{pid: 7, start: 7})
		l.open = append(l.open, connection(1, 7, 3, 4))
		k.order = nil
		r.expect(metric.Process, "000007 p7 started")
		expectRows(t, r.rows("proc.net.in_bytes"), map[string]string{"1/1": "0", "7/7": "3"})
		if len(k.order) != 2 {
			t.Errorf("%v were met", k.order)
		}
	})
}

// Where there are very many sockets, some sweeps list none. Their rows do not look as if nothing
// had been transferred.
func TestListsHaveTheirShare(t *testing.T) {
	networked(t, 1, func(t *testing.T, k *fakeKernel, r *fakeRun, l *fakeLister) {
		l.open = append(l.open, connection(1, 1, 100, 10))
		l.takes = 150 * time.Millisecond // sweeps are five seconds apart, and 100 ms are saved
		var got []string
		for range 8 {
			r.expect(metric.Process)
			got = append(got, r.rows("proc.net.in_bytes")["1/1"])
			l.open[0].Bytes.In++
		}
		const less = "!connections are listed less often, because there are many"
		want := []string{"100", less, less, "103", less, less, less, less}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		expectRows(t, r.rows("network.traffic.in_bytes"), map[string]string{"": less})
	})
}

func TestFailedListOfSockets(t *testing.T) {
	networked(t, 1, func(t *testing.T, k *fakeKernel, r *fakeRun, l *fakeLister) {
		l.fails = errors.New("no room")
		r.expect(metric.Process)
		expectRows(t, r.rows("proc.net.in_bytes"), map[string]string{"1/1": "!no room"})
		expectRows(t, r.rows("network.traffic.in_bytes"), map[string]string{"": "!no room"})
	})
}

// Nobody pays for a list that no metric needs.
func TestSocketsAreListedForThoseWhoAsk(t *testing.T) {
	networked(t, 1, func(t *testing.T, k *fakeKernel, r *fakeRun, l *fakeLister) {
		r.expect(metric.Costly)
		if l.lists != 0 {
			t.Error("the costly class needs no list")
		}
		r.expect(metric.Process)
		if l.lists != 1 {
			t.Errorf("%d lists", l.lists)
		}
	})
}

// labelled returns the names and labels of the rows of a group, by key.
func (r *fakeRun) labelled(group string) map[string]string {
	rows := make(map[string]string)
	for _, f := range r.frames {
		if f.Full().Name != group {
			continue
		}
		for _, in := range f.Block().Rows {
			text := in.Name
			for _, l := range in.Labels {
				text += ", " + l.Name + "=" + l.Value
			}
			rows[in.Key] = text
		}
	}
	return rows
}

func (r *fakeRun) first(group string) *metric.Instance {
	for _, f := range r.frames {
		if f.Full().Name == group && len(f.Block().Rows) > 0 {
			return f.Block().Rows[0]
		}
	}
	r.t.Fatalf("%s has no rows", group)
	return nil
}

// A port is written so that it cannot be taken for a part of the address before it.
func TestEndpoint(t *testing.T) {
	for machine, want := range map[string]string{"net-3f2a9c81": "net-3f2a9c81:443", "203.0.113.7": "203.0.113.7:443", "2001:db8::7": "[2001:db8::7]:443", "fe80::1%en0": "[fe80::1%en0]:443", "": ":443"} {
		if got := endpoint(machine, 443); got != want {
			t.Errorf("%s is written %s, not %s", machine, got, want)
		}
	}
}

func TestConnectionsOfTheirOwn(t *testing.T) {
	networked(t, 3, func(t *testing.T, k *fakeKernel, r *fakeRun, l *fakeLister) {
		if err := r.source.SetOptions(Options{Network: socket.Options{Named: 2, Key: []byte("a key")}}); err != nil {
			t.Fatal(err)
		}
		out, in := connection(1, 2, 100, 10), connection(0xabc, 3, 50, 5)
		in.Local = netip.MustParseAddrPort("10.0.0.1:443")
		in.Loopback = true
		in.Has |= socket.HasRTT
		in.RTT = 1.5
		listens := connection(7, 3, 0, 0)
		listens.State, listens.Local, listens.Peer = socket.Listen, netip.MustParseAddrPort("[::]:443"), netip.AddrPort{}
		listens.Has, listens.Received, listens.Unsent = socket.HasQueues, 3, 128
		other := connection(8, 1, 0, 0)
		other.State, other.Local, other.Peer, other.Has = socket.Listen, netip.MustParseAddrPort("10.0.0.1:22"), netip.AddrPort{}, socket.HasQueues
		l.open = []*socket.Socket{out, in, listens, other, connection(9, 99, 1, 0)}
		// The class of processes has its own looks.
		r.expect(metric.Process)
		r.expect(metric.Network)
		peer := socket.NewNames(socket.Pseudonyms, []byte("a key")).Peer(out)
		expectRows(t, r.labelled("connections"), map[string]string{
			"0000000000000001": "p2 → " + peer + ":443, process=2/2, pid=2, name=p2, protocol=tcp, direction=out, port=50000, peer=" + peer + ", peer_port=443",
			"0000000000000abc": "p3 :443 ← localhost, process=3/3, pid=3, name=p3, protocol=tcp, direction=in, port=443, peer=localhost, peer_port=443",
		})
		local := socket.NewNames(socket.Pseudonyms, []byte("a key")).Local(other.Local.Addr())
		expectRows(t, r.labelled("listeners"), map[string]string{
			"tcp " + local + ":22": "tcp " + local + ":22, process=1/1, pid=1, name=p1, protocol=tcp, port=22, address=" + local,
			"tcp :443":             "tcp :443, process=3/3, pid=3, name=p3, protocol=tcp, port=443",
		})
		expectRows(t, r.rows("network.persocket.state", "network.persocket.bytes_received", "network.persocket.round_trip.rtt", "network.persocket.process"), map[string]string{
			"0000000000000001": "ESTAB 100 !" + notSaid.String() + " 2/2", "0000000000000abc": "ESTAB 50 1.5 3/3"})
		expectRows(t, r.rows("network.listener.backlog", "network.listener.backlog_limit", "network.listener.connections"), map[string]string{
			"tcp " + local + ":22": "0 0 0", "tcp :443": "3 128 1"})
		expectRows(t, r.rows("network.traffic.unnamed", "network.persocket.others.in_bytes"), map[string]string{"": "1 1"})

		// Its process calls exec: the connection is the same, with another name.
		instance := r.first("connections")
		k.execs[2] = "q"
		out.Bytes.In++
		if _, err := r.read(r.source, metric.Network, 0); err != nil {
			t.Fatal(err)
		}
		got := r.labelled("connections")
		if len(got) != 1 || !strings.HasPrefix(got["0000000000000001"], "q → ") {
			t.Errorf("%q", got)
		}
		if now := r.first("connections"); now.ID != instance.ID {
			t.Error("it is another instance")
		}
		last := *out
		last.Closed, last.State = true, socket.Closed
		l.open, l.closed = l.open[1:], append(l.closed, &last)
		r.expect(metric.Network)
		expectRows(t, r.rows("network.persocket.state"), map[string]string{"0000000000000001": "CLOSED"})
		r.expect(metric.Network)
		expectRows(t, r.rows("network.persocket.state"), nil)
	})
}

// What the machine transferred has the time of what the processes did: only then do their rates
// and differences over any window add up.
func TestTotalsHaveTheTimeOfTheProcesses(t *testing.T) {
	networked(t, 2, func(t *testing.T, k *fakeKernel, r *fakeRun, l *fakeLister) {
		l.open = append(l.open, connection(1, 2, 100, 10))
		for range 3 {
			r.expect(metric.Process)
			at := make(map[string]metric.Stamp)
			for _, f := range r.frames {
				at[f.Full().Name] = f.Block().At
			}
			if at["proc"] == (metric.Stamp{}) || at["network.traffic"] != at["proc"] {
				t.Errorf("processes at %+v, totals at %+v", at["proc"], at["network.traffic"])
			}
		}
	})
}

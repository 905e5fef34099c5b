package proc

import (
	"errors"
	"net/netip"
	"slices"
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

package proc

import (
	"net/netip"
	"testing"
	"time"

	"tachograph/sample"
	"tachograph/sample/metric"
	"tachograph/sample/socket"
)

// TestShortConnectionsHaveAProcess closes connections before any list had them: the kernel may
// have named the process that began them.
func TestShortConnectionsHaveAProcess(t *testing.T) {
	f := newFakeTree(t)
	f.put(fakeProcess{pid: 1, comm: "init", start: 5})
	f.put(fakeProcess{pid: 1234, comm: "probe", start: 700})
	r := openReader(t, Options{Root: f.root}, everything)
	s := r.sources[0].(*processes[linuxProcess, reading])
	l := &fakeLister{}
	s.net.lister, s.net.cpu = l, func() time.Duration { return 0 }
	for _, g := range s.Groups() { // without a lister they are not supported
		for _, d := range g.Metrics {
			if d.Unsupported == s.net.lacks {
				d.Unsupported = ""
			}
		}
		r.frames[g.Name] = sample.NewFrame(g, everything)
	}
	for i, pid := range []int32{1234, 0, 99} {
		l.closed = append(l.closed, &socket.Socket{ID: uint64(i + 1), Closed: true, State: socket.Closed, PID: pid, Has: socket.HasBytes,
			Local: netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), uint16(50000+i)), Peer: netip.MustParseAddrPort("10.0.0.2:443"),
			Bytes: socket.Bytes{In: 10, Out: 1 << i}})
	}
	r.now = metric.Stamp{Wall: 1_700_000_100e9, Awake: 100e9, Cont: 100e9}
	r.read("proc")
	book := s.net.book
	p := s.table.lookup(1234)
	if p == nil || p.held == nil || p.held.Shown.All() != (socket.Bytes{In: 10, Out: 1}) {
		t.Fatalf("%+v", p)
	}
	if got := book.Nobody.All(); got != (socket.Bytes{In: 20, Out: 6}) || book.Short != 3 {
		t.Errorf("nobody has %+v; %d were short", got, book.Short)
	}
}

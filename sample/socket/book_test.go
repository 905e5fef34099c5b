package socket

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"
)

// machine is a Lister of sockets that a test has put into it.
type machine struct {
	sockets []*Socket
	closed  []*Socket // since the last list
	during  []*Socket // close after they have been listed
}

func (m *machine) List(h Hearer) error {
	for _, s := range m.closed {
		h.Hear(s)
	}
	for _, s := range m.sockets {
		h.Hear(s)
	}
	for _, s := range m.during {
		h.Hear(s)
	}
	m.closed, m.during = nil, nil
	return nil
}
func (m *machine) Lost() uint64   { return 0 }
func (m *machine) Notice() string { return "" }
func (m *machine) Close() error   { return nil }

func (m *machine) add(s *Socket) *Socket {
	if s.Local == (netip.AddrPort{}) {
		s.Local = netip.MustParseAddrPort("10.0.0.1:50000")
	}
	if s.State != Listen && s.Peer == (netip.AddrPort{}) {
		s.Peer = netip.MustParseAddrPort("10.0.0.2:443")
	}
	m.sockets = append(m.sockets, s)
	return s
}

// remove takes a socket from those that are open.
func (m *machine) remove(s *Socket) *Socket {
	m.sockets = slices.DeleteFunc(m.sockets, func(o *Socket) bool { return o == s })
	return s
}

func (m *machine) close(s *Socket) {
	last := *m.remove(s)
	last.Closed, last.Inode = true, 0
	m.closed = append(m.closed, &last)
}

func at(port uint16) netip.AddrPort { return netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), port) }

// run is a Book with holders that are found by inode.
type run struct {
	t       *testing.T
	m       machine
	b       *Book
	holders map[uint64]*Holder
	all     []*Holder
	late    map[uint64]bool // inodes whose holder is not found yet
	n       uint64
}

func newRun(t *testing.T) *run {
	return &run{t: t, b: NewBook(), holders: make(map[uint64]*Holder), late: make(map[uint64]bool)}
}

// hold makes a new holder of the sockets with these inodes.
func (r *run) hold(inodes ...uint64) *Holder {
	h := r.b.NewHolder(nil)
	r.all = append(r.all, h)
	for _, i := range inodes {
		r.holders[i] = h
	}
	return h
}

func (r *run) look() {
	r.t.Helper()
	r.n++
	if err := r.b.Look(&r.m, int64(r.n)*int64(time.Second)); err != nil {
		r.t.Fatal(err)
	}
	r.b.Find(func(t Trace) (*Holder, bool) { return r.holders[t.Inode], r.late[t.Inode] })
	r.b.Settle(r.n)
	r.sums()
}

// sums checks that nothing is missing and nothing is in two.
func (r *run) sums() {
	r.t.Helper()
	sum, open := r.b.Nobody, 0
	for _, h := range r.all {
		sum.add(&h.Shown)
		open += h.Open
		if h.Open < 0 {
			r.t.Errorf("a holder has %d connections", h.Open)
		}
	}
	if sum != r.b.All {
		r.t.Fatalf("the parts have %+v, all %+v", sum, r.b.All)
	}
	if open > r.b.Open {
		r.t.Errorf("holders have %d connections, all %d", open, r.b.Open)
	}
}

// expect compares bytes in and out, and connections opened, accepted and closed.
func expect(t *testing.T, what string, got *Totals, in, out, opened, accepted, closed uint64) {
	t.Helper()
	b := got.All()
	if b != (Bytes{in, out}) || got.Opened != opened || got.Accepted != accepted || got.Closed != closed {
		t.Errorf("%s has %v bytes, opened %d, accepted %d, closed %d; want {%d %d}, %d, %d, %d",
			what, b, got.Opened, got.Accepted, got.Closed, in, out, opened, accepted, closed)
	}
}

func TestBytesOfALife(t *testing.T) {
	r := newRun(t)
	h := r.hold(7)
	s := r.m.add(&Socket{ID: 1, Inode: 7, Bytes: Bytes{100, 10}, Retrans: 3, Loopback: true, Has: HasBytes})
	r.look()
	expect(t, "the process", &h.Shown, 100, 10, 1, 0, 0)
	if h.Open != 1 || h.Changed != 1 || h.Shown.Loopback != (Bytes{100, 10}) || h.Shown.Retrans != 3 {
		t.Errorf("%+v", h)
	}
	r.look()
	if h.Changed != 1 {
		t.Error("a process is said to have changed")
	}
	s.Bytes = Bytes{150, 20}
	r.look()
	expect(t, "the process", &h.Shown, 150, 20, 1, 0, 0)
	s.Bytes = Bytes{151, 19} // not what a kernel does
	r.look()
	expect(t, "the process", &h.Shown, 151, 20, 1, 0, 0)
	s.Bytes = Bytes{200, 30}
	r.m.close(s)
	r.look()
	expect(t, "the process", &h.Shown, 200, 30, 1, 0, 1)
	if h.Open != 0 || r.b.Open != 0 || r.b.Short != 0 || h.Changed != 5 {
		t.Errorf("%+v", h)
	}
}

func TestNobodyKnown(t *testing.T) {
	r := newRun(t)
	s := r.m.add(&Socket{ID: 1, Inode: 7, Bytes: Bytes{100, 10}})
	r.late[7] = true
	r.look()
	expect(t, "everything", &r.b.All, 0, 0, 0, 0, 0) // it waits
	h := r.hold(7)
	r.look()
	expect(t, "the process", &h.Shown, 100, 10, 1, 0, 0)
	expect(t, "nobody", &r.b.Nobody, 0, 0, 0, 0, 0)

	// One that is looked for in vain, and found later.
	r.m.add(&Socket{ID: 2, Inode: 8, Bytes: Bytes{1, 2}})
	r.look()
	expect(t, "nobody", &r.b.Nobody, 1, 2, 1, 0, 0)
	r.m.sockets[1].Bytes = Bytes{11, 12}
	r.holders[8] = h
	r.look()
	expect(t, "nobody", &r.b.Nobody, 11, 12, 1, 0, 0)
	r.m.sockets[1].Bytes = Bytes{12, 12}
	r.look()
	expect(t, "the process", &h.Shown, 101, 10, 1, 0, 0)

	// A process that has ended does not get what its sockets transfer afterwards.
	r.b.End(h)
	delete(r.holders, 7)
	delete(r.late, 7)
	s.Bytes.In += 1000
	r.look()
	expect(t, "the process", &h.Shown, 101, 10, 1, 0, 0)
	expect(t, "nobody", &r.b.Nobody, 1011, 12, 1, 0, 0)
	// Another inherits one of its sockets.
	heir := r.hold(8)
	r.m.sockets[1].Bytes.In += 5
	r.look()
	expect(t, "the heir", &heir.Shown, 5, 0, 0, 0, 0)
	if heir.Open != 1 || h.Open != 0 {
		t.Errorf("the heir has %d connections, the process %d", heir.Open, h.Open)
	}
}

func TestAccepted(t *testing.T) {
	r := newRun(t)
	server := r.hold(1, 3)
	// The list has the connection before the socket that listens.
	r.m.add(&Socket{ID: 3, Inode: 3, Local: at(80), Bytes: Bytes{5, 6}, State: Established})
	r.m.add(&Socket{ID: 1, Inode: 1, Local: netip.MustParseAddrPort("[::]:80"), State: Listen, Received: 2, Unsent: 128})
	r.look()
	expect(t, "the server", &server.Shown, 5, 6, 0, 1, 0)
	if server.Open != 1 || r.b.Open != 1 {
		t.Errorf("open: %d of %d", server.Open, r.b.Open)
	}
	// A short connection, one that waits to be accepted when it closes, one in another namespace.
	r.m.closed = append(r.m.closed, &Socket{ID: 4, Local: at(80), Peer: at(999), Bytes: Bytes{7, 8}, Closed: true})
	waits := r.m.add(&Socket{ID: 5, Local: at(80), Bytes: Bytes{30, 0}, State: Established})
	r.m.closed = append(r.m.closed, &Socket{ID: 6, Local: at(80), Peer: at(999), Namespace: 9, Bytes: Bytes{1000, 1}, Closed: true})
	r.look()
	expect(t, "the server", &server.Shown, 12, 14, 0, 2, 1)
	expect(t, "nobody", &r.b.Nobody, 1000, 1, 1, 0, 1)
	if r.b.Short != 2 {
		t.Errorf("%d were short", r.b.Short)
	}
	r.m.close(waits)
	r.look()
	expect(t, "the server", &server.Shown, 42, 14, 0, 3, 2)
	// The server ends its port, and what was accepted before closes.
	r.m.close(r.m.sockets[1])
	r.m.closed = append(r.m.closed, &Socket{ID: 7, Local: at(80), Peer: at(999), Bytes: Bytes{1, 0}, Closed: true})
	r.look()
	expect(t, "nobody", &r.b.Nobody, 1001, 1, 1, 1, 2)
	for range 3 {
		r.look()
	}
	if len(r.b.ports) != 0 || r.b.left != 0 {
		t.Errorf("%d ports are kept, %d left", len(r.b.ports), r.b.left)
	}
}

func TestProcessIsNamedByTheKernel(t *testing.T) {
	r := newRun(t)
	one, other := r.hold(), r.hold()
	by := map[uint64]*Holder{11: one, 12: other}
	look := func() {
		t.Helper()
		r.n++
		if err := r.b.Look(&r.m, int64(r.n)*int64(time.Second)); err != nil {
			t.Fatal(err)
		}
		r.b.Find(func(t Trace) (*Holder, bool) { return by[t.Unique], false })
		r.b.Settle(r.n)
		r.sums()
	}
	s := r.m.add(&Socket{ID: 1, Protocol: QUIC, PID: 1, Unique: 11, Has: HasBytes | HasMedia, Bytes: Bytes{10, 1}, Media: [NumMedia]Bytes{Wifi: {10, 1}}})
	look()
	s.Bytes, s.Media[Wifi] = Bytes{15, 1}, Bytes{14, 1}
	look()
	if one.Shown.Bytes[QUIC] != (Bytes{15, 1}) || one.Shown.Media[Wifi] != (Bytes{14, 1}) {
		t.Errorf("%+v", one.Shown)
	}
	s.PID, s.Unique, s.Bytes.In = 2, 12, 25 // handed on
	look()
	expect(t, "the first", &one.Shown, 15, 1, 1, 0, 0)
	expect(t, "the second", &other.Shown, 10, 0, 0, 0, 0)
	r.m.closed = append(r.m.closed, &Socket{ID: 2, Peer: at(1), PID: 1, Unique: 11, Bytes: Bytes{3, 3}, Closed: true, Ended: Refused})
	look()
	expect(t, "the first", &one.Shown, 18, 4, 2, 0, 1)
	if one.Shown.Refused != 1 {
		t.Error("nobody refused")
	}
}

func TestLost(t *testing.T) {
	r := newRun(t)
	h := r.hold(7)
	s := r.m.add(&Socket{ID: 1, Inode: 7, Bytes: Bytes{100, 10}})
	r.look()
	r.m.remove(s)
	r.look()
	if r.b.Lost != 0 || r.b.Open != 1 {
		t.Error("lost after one list without it")
	}
	late := *r.m.add(&Socket{ID: 11, Inode: 7, Bytes: Bytes{1000, 100}})
	for range mostLate - 1 {
		r.look()
		if r.b.Lost != 0 {
			t.Error("lost while its report may come")
		}
	}
	r.m.sockets = nil
	r.look()
	if r.b.Lost != 1 || h.Open != 1 || h.Owing != 0 {
		t.Errorf("lost %d", r.b.Lost)
	}
	r.look()
	if h.Owing != 1 {
		t.Errorf("%d reports are to come, want 1", h.Owing)
	}
	expect(t, "the process", &h.Shown, 1100, 110, 2, 0, 2)
	// A report that comes late says what was transferred in between.
	late.Closed, late.Inode, late.Bytes = true, 0, Bytes{1003, 102}
	r.m.closed = append(r.m.closed, &late)
	for range mostLate + 2 {
		r.look()
	}
	expect(t, "the process", &h.Shown, 1103, 112, 2, 0, 2)
	if r.b.Lost != 1 || r.b.Short != 0 || h.Owing != 0 {
		t.Errorf("lost %d, short %d, to come %d", r.b.Lost, r.b.Short, h.Owing)
	}
	// One that closes during the list, which still has it as open; the other order as well.
	r.m.during = append(r.m.during, &Socket{ID: 2, Closed: true, Local: at(1), Peer: at(2), Bytes: Bytes{1, 1}})
	s = r.m.add(&Socket{ID: 2, Bytes: Bytes{1, 0}, Local: at(1)})
	r.look()
	r.m.remove(s)
	last := *r.m.add(&Socket{ID: 3, Bytes: Bytes{1, 0}})
	last.Closed = true
	r.b.mu.Lock()
	r.b.listing = true
	r.b.mu.Unlock()
	r.b.Hear(&last)
	r.b.Hear(r.m.sockets[0])
	r.m.sockets = nil
	r.look()
	expect(t, "nobody", &r.b.Nobody, 2, 1, 2, 0, 2)
}

// Whatever happens, the parts add up to everything, nothing falls, and nothing is counted twice.
func TestSums(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		r := newRun(t)
		pick := func() *Socket { return r.m.sockets[rng.IntN(len(r.m.sockets))] }
		var id, inode uint64
		var sent Bytes // by all
		var before []Totals
		transfer := func(s *Socket) {
			if s.State == Listen {
				return
			}
			d := Bytes{rng.Uint64N(1000), rng.Uint64N(1000)}
			s.Bytes.add(d)
			sent.add(d)
		}
		for range 400 {
			for range rng.IntN(8) {
				switch op := rng.IntN(10); {
				case op < 3 || len(r.m.sockets) == 0:
					id, inode = id+1, inode+1
					s := &Socket{ID: id, Inode: inode, Local: at(uint16(1 + rng.IntN(5))), State: Established, Loopback: rng.IntN(2) == 0}
					switch rng.IntN(5) {
					case 0:
						s.State = Listen
					case 1:
						s.Inode = 0
					}
					transfer(r.m.add(s))
				case op < 6:
					transfer(pick())
				case op == 6:
					s := pick()
					transfer(s)
					r.m.close(s)
				case op == 7:
					id++
					s := &Socket{ID: id, Local: at(uint16(1 + rng.IntN(5))), Peer: at(9), Closed: true, Ended: Ending(rng.IntN(3))}
					transfer(s)
					r.m.closed = append(r.m.closed, s)
				case op == 8:
					h := r.hold()
					for range rng.IntN(20) {
						r.holders[rng.Uint64N(inode+1)] = h
						delete(r.late, rng.Uint64N(inode+1))
					}
					r.late[inode] = true
				case len(r.all) > 0:
					dead := r.all[rng.IntN(len(r.all))]
					r.b.End(dead)
					for i, h := range r.holders {
						if h == dead {
							delete(r.holders, i)
						}
					}
				}
			}
			if rng.IntN(4) == 0 {
				r.b.Check(func(h *Holder, inode uint64) bool { return r.holders[inode] == h })
			}
			r.look()
			for i := range before {
				now := r.all[i].Shown
				for p := range now.Bytes {
					if now.Bytes[p].In < before[i].Bytes[p].In || now.Accepted < before[i].Accepted {
						t.Fatalf("seed %d: a total fell", seed)
					}
				}
			}
			before = before[:0]
			for _, h := range r.all {
				before = append(before, h.Shown)
			}
		}
		// What still waits comes to light when everything closes.
		for len(r.m.sockets) > 0 {
			r.m.close(r.m.sockets[0])
		}
		r.look()
		if r.b.All.All() != sent || r.b.Open != 0 {
			t.Errorf("seed %d: %v bytes were sent, %v heard of; %d are open", seed, sent, r.b.All.All(), r.b.Open)
		}
	}
}

func TestNoAllocations(t *testing.T) {
	r := newRun(t)
	h := r.hold()
	for i := range uint64(1000) {
		r.m.add(&Socket{ID: i, Inode: i + 1})
		r.holders[i+1] = h
	}
	r.look()
	if n := testing.AllocsPerRun(10, func() {
		for _, s := range r.m.sockets {
			s.Bytes.In += 3
		}
		r.look()
	}); n > 1 {
		t.Errorf("%v allocations", n)
	}
}

package socket

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// choose looks and returns the numbers of the connections that were chosen, with "closed" behind
// those that have closed.
func (r *run) choose(most int) (chosen []string) {
	r.t.Helper()
	r.b.Name(most)
	r.look()
	for _, c := range r.b.Named() {
		text := fmt.Sprint(c.Socket.ID)
		if c.Socket.Closed {
			text += " closed"
		}
		chosen = append(chosen, text)
	}
	return chosen
}

func (r *run) expect(most int, want ...string) {
	r.t.Helper()
	if got := r.choose(most); !slices.Equal(got, want) {
		r.t.Errorf("chosen are %q, want %q", got, want)
	}
}

func TestNamed(t *testing.T) {
	r := newRun(t)
	h := r.hold(1, 2, 3)
	var s []*Socket
	for i := range uint64(5) {
		s = append(s, r.m.add(&Socket{ID: i + 1, Inode: i + 1, Has: HasBytes, State: Established, Bytes: Bytes{100 * i, 0}, Retrans: 50}))
	}
	r.expect(2, "4", "5")
	if c := r.b.Named(); c[0].Holder != nil || c[0].Accepted {
		t.Errorf("%+v", c[0])
	}
	if others, unnamed := r.b.Others(); others != (Bytes{300, 0}) || unnamed != 3 {
		t.Errorf("%v and %d others", others, unnamed)
	}
	// One transfers more than the others, one sends again, one has transferred nothing since.
	s[0].Bytes = Bytes{7, 7}
	s[1].Retrans += 5
	s[2].Bytes.In++
	r.expect(2, "1", "2", "3")
	if c := r.b.Named(); c[0].Holder != h {
		t.Errorf("%+v", c[0])
	}
	if others, unnamed := r.b.Others(); others != (Bytes{308, 7}) || unnamed != 2 {
		t.Errorf("%v and %d others: what they transferred before they had values", others, unnamed)
	}
	r.expect(2)

	// Nobody acknowledges; nobody answers.
	s[3].Has |= HasTCPInfo
	s[3].Unacked, s[3].TCP.LastAck = 1000, 10_001
	s[4].Retries = 2
	r.expect(2, "4", "5")
	s[3].Unacked, s[4].Retries = 0, 0
	s[4].State = SynSent
	r.n += uint64(time.Minute)
	r.expect(2, "5")

	// One that had values closes, and one that had none; a large and a small one that no list had.
	s[4].Bytes.In += 3
	r.m.close(s[4])
	s[3].Bytes.In += large - 1
	r.m.close(s[3])
	for i, size := range []uint64{large, large - 1} {
		r.m.closed = append(r.m.closed, &Socket{ID: 10 + uint64(i), Local: at(1), Peer: at(2), Closed: true, Bytes: Bytes{0, size}})
	}
	before, _ := r.b.Others()
	r.expect(2, "5 closed", "10 closed")
	if others, unnamed := r.b.Others(); others.since(before) != (Bytes{large - 1, large - 1}) || unnamed != 3 {
		t.Errorf("%v and %d others", others.since(before), unnamed)
	}
	r.expect(2)
	// One closes while the list is made that had it.
	s[0].Bytes.In += 10
	r.m.during = append(r.m.during, &Socket{ID: 1, Closed: true, Bytes: Bytes{18, 7}, Has: HasBytes})
	r.b.Name(2)
	r.look()
	r.m.remove(s[0])
	if c := r.b.Named(); len(c) != 1 || !c[0].Socket.Closed || c[0].Socket.Bytes != (Bytes{18, 7}) {
		t.Errorf("%+v", c)
	}
}

func TestRanking(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 2))
		var r ranking
		var want []uint64
		most := rng.IntN(20)
		for i := range rng.IntN(100) {
			p := pick{rank: uint64(i)<<8 | rng.Uint64N(50)<<20}
			if p.rank != 0 {
				want = append(want, p.rank)
			}
			r.offer(p, most)
		}
		slices.Sort(want)
		want = want[max(0, len(want)-most):]
		var got []uint64
		for _, p := range r {
			got = append(got, p.rank)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("seed %d: %v, want %v", seed, got, want)
		}
	}
}

// What connections have while they have values, and what others has, is everything.
func TestNamedAndOthersAreAll(t *testing.T) {
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 3))
		r := newRun(t)
		id := uint64(0)
		before := make(map[uint64]Bytes) // of those that had values
		began := make(map[uint64]bool)   // since the last look
		var shown Bytes
		for n := range 60 {
			for range rng.IntN(60) {
				if id++; rng.IntN(3) == 0 || len(r.m.sockets) == 0 {
					began[id] = true
					r.m.add(&Socket{ID: id, Has: HasBytes, State: Established})
				}
				s := r.m.sockets[rng.IntN(len(r.m.sockets))]
				s.Bytes.add(Bytes{rng.Uint64N(1 << 19), rng.Uint64N(1000)})
				if rng.IntN(8) == 0 {
					r.m.close(s)
				}
			}
			if n%4 != 0 {
				r.look()
				continue
			}
			r.choose(4)
			now := make(map[uint64]Bytes)
			for _, c := range r.b.Named() {
				last, had := before[c.Socket.ID]
				if n == 0 || had || began[c.Socket.ID] {
					shown.add(c.Socket.Bytes.since(last))
				}
				if !c.Socket.Closed {
					now[c.Socket.ID] = c.Socket.Bytes
				}
			}
			before = now
			clear(began)
			others, _ := r.b.Others()
			others.add(shown)
			if others != r.b.chooser.heard {
				t.Fatalf("seed %d, look %d: together %v, all %v", seed, n, others, r.b.chooser.heard)
			}
		}
	}
}

func TestPorts(t *testing.T) {
	r := newRun(t)
	one, two := r.hold(1), r.hold(2)
	for i := range uint64(3) {
		r.m.add(&Socket{ID: i + 1, Inode: i%2 + 1, Local: at(80), State: Listen, Has: HasQueues | HasDrops, Received: i, Unsent: 10, Drops: 5})
	}
	r.m.add(&Socket{ID: 9, Local: at(80), State: Established})
	r.m.add(&Socket{ID: 10, Local: at(22), State: Listen, Namespace: 4})
	check := func(waiting, drops uint64, sockets int) {
		t.Helper()
		r.look()
		ports := r.b.Ports()
		if len(ports) != 2 || ports[0].At.Port() != 22 || ports[0].Namespace != 4 || ports[0].Has != 0 {
			t.Fatalf("%+v", ports)
		}
		p := ports[1]
		if p.Waiting != waiting || p.Limit != uint64(10*sockets) || p.Drops != drops || p.Open != 1 || p.Sockets != sockets ||
			p.Has != HasQueues|HasDrops || !slices.Equal(p.Holders, []*Holder{one, two}) {
			t.Errorf("%+v", p)
		}
	}
	check(3, 15, 3)
	r.m.sockets[0].Received, r.m.sockets[0].Drops = 7, 6
	check(10, 16, 3)
	r.m.close(r.m.sockets[2])
	check(8, 16, 2) // what it dropped is not forgotten
}

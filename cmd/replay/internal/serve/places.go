package serve

import (
	"net"
	"slices"
	"sync"
	"time"

	"tachograph/cmd/internal/listen"
)

// whoIs asks the kernel for the peer.
func (g *gatekeeper) whoIs(c net.Conn) (*listen.Who, error) {
	return listen.WhoIs(c, g.peerOf, g.owner)
}

// unknown is how many guests may hold a place without having asked for anything. Above it, a
// client whose user is not known takes the place of one of them.
const unknown = 128

// places are the connections to a server. No client has more than its share of them, and the
// last are kept for root. If there is no room, a guest that has not asked for anything yet is
// dropped.
type places struct {
	most   int
	within time.Duration // how long a guest may take to ask for something

	mu sync.Mutex
	in []*guest // in the order in which they connected
}

// let gives a connection a place, and calls left when it leaves that; it returns nil if there is
// no place.
func (p *places) let(c net.Conn, w *listen.Who, left func()) *guest {
	g := &guest{Conn: c, line: c, who: w, sends: make(chan struct{}, 1)}
	g.leave = sync.OnceFunc(func() {
		p.forget(g)
		g.settle()
		g.requests.leave()
		left()
	})
	p.mu.Lock()
	ok, shared := w.Room(p.most, len(p.in), p.held(w.Name))
	of := ""
	if shared {
		of = w.Name
	}
	var gone *guest
	if !ok || w.Peer == nil && p.unasked() >= unknown {
		if gone = p.silent(of); gone == nil {
			p.mu.Unlock()
			return nil
		}
		p.in = slices.DeleteFunc(p.in, func(x *guest) bool { return x == gone })
	}
	p.in = append(p.in, g)
	g.late = time.AfterFunc(p.within, func() {
		if !g.asked.Load() {
			g.drop()
		}
	})
	p.mu.Unlock()
	if gone != nil {
		gone.drop()
	}
	return g
}

// held returns how many places a client has.
func (p *places) held(name string) int {
	n := 0
	for _, g := range p.in {
		if g.who.Name == name {
			n++
		}
	}
	return n
}

// unasked returns how many guests have not asked for anything yet.
func (p *places) unasked() int {
	n := 0
	for _, g := range p.in {
		if !g.asked.Load() {
			n++
		}
	}
	return n
}

// silent returns the guest that has been there longest without having asked for anything, of a
// client or, if name is "", of all. Guests whose requests were refused come first.
func (p *places) silent(name string) *guest {
	var first *guest
	for _, g := range p.in {
		if g.asked.Load() || name != "" && g.who.Name != name {
			continue
		}
		if g.turned.Load() {
			return g
		}
		if first == nil {
			first = g
		}
	}
	return first
}

func (p *places) forget(g *guest) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g.late.Stop()
	p.in = slices.DeleteFunc(p.in, func(x *guest) bool { return x == g })
}

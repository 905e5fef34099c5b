package serve

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"tachograph/cmd/replay/internal/budget"
)

// Who is at the other end of a connection: a user of this machine, or an address.
type who struct {
	name  string
	peer  *Peer // nil: it is an address
	owner bool  // who runs the server
}

// root reports whether it is who has to be answered whatever others do.
func (w *who) root() bool { return w.peer != nil && w.peer.UID == 0 }

// whoIs asks the kernel who has connected.
func (g *gatekeeper) whoIs(c net.Conn) (*who, error) {
	if u, ok := c.(*net.UnixConn); ok {
		peer, err := g.peerOf(u)
		if err != nil {
			return nil, err
		}
		return &who{name: "user " + strconv.Itoa(peer.UID), peer: peer, owner: peer.UID == g.owner}, nil
	}
	name := c.RemoteAddr().String()
	if at, err := netip.ParseAddrPort(name); err == nil {
		ip := at.Addr().Unmap()
		name = ip.String()
		if ip.Is6() { // of which everybody has as many as he likes
			if p, err := ip.Prefix(64); err == nil {
				name = p.String()
			}
		}
	}
	return &who{name: name}, nil
}

// Parts of the places, and of the memory, that are somebody's.
const (
	share    = 0.5   // one client's, unless he runs the server
	forRoot  = 0.125 // of memory
	rootOnly = 16    // places; fewer where there are few
	unknown  = 128   // places of those who have asked for nothing yet and are no known user
)

// places are those of the connections to a server. No client has more than a share of
// them, and the last are root's. Who has asked for nothing yet makes room for the next.
type places struct {
	most   int
	within time.Duration // for a guest to ask for something

	mu sync.Mutex
	in []*guest // in the order in which they came
}

// A guest is a connection that has a place.
type guest struct {
	net.Conn
	who     *who
	asked   atomic.Bool  // it has asked for something that it may ask for
	turned  atomic.Bool  // it has asked for something that it may not ask for
	refused atomic.Int32 // requests that are being refused
	late    *time.Timer  // ends it if it has asked for nothing by then
	leave   func()
	sends   chan struct{} // has one while something is written

	mu   sync.Mutex
	owed []*budget.Account // of requests that are answered, perhaps behind what is written
}

// let gives a connection a place, and calls left when it has left that; nil if there is
// none.
func (p *places) let(c net.Conn, w *who, left func()) *guest {
	g := &guest{Conn: c, who: w, sends: make(chan struct{}, 1)}
	g.leave = sync.OnceFunc(func() {
		p.forget(g)
		g.settle()
		left()
	})
	p.mu.Lock()
	limit, of := p.most, ""
	if !w.root() {
		limit -= min(rootOnly, p.most/4)
	}
	full := len(p.in) >= limit
	if !w.root() && !w.owner && p.held(w.name) >= max(1, int(float64(p.most)*share)) {
		full, of = true, w.name
	}
	var gone *guest
	if w.peer == nil && !full && p.unasked() >= unknown {
		full = true
	}
	if full {
		if gone = p.silent(of); gone == nil {
			p.mu.Unlock()
			return nil
		}
		p.in = slices.DeleteFunc(p.in, func(x *guest) bool { return x == gone })
	}
	p.in = append(p.in, g)
	g.late = time.AfterFunc(p.within, func() {
		if !g.asked.Load() {
			g.Close()
		}
	})
	p.mu.Unlock()
	if gone != nil {
		gone.Close()
	}
	return g
}

// held is how many places a client has.
func (p *places) held(name string) int {
	n := 0
	for _, g := range p.in {
		if g.who.name == name {
			n++
		}
	}
	return n
}

// unasked is how many have asked for nothing yet.
func (p *places) unasked() int {
	n := 0
	for _, g := range p.in {
		if !g.asked.Load() {
			n++
		}
	}
	return n
}

// silent is the one that has been there longest, of those of a client, or of everybody
// where name is "", who have asked for nothing yet; first those who asked for what they
// may not.
func (p *places) silent(name string) *guest {
	var first *guest
	for _, g := range p.in {
		if g.asked.Load() || name != "" && g.who.name != name {
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

// NetConn is the connection itself, of which the kernel knows who is at the other end.
func (g *guest) NetConn() net.Conn { return g.Conn }

// Read waits for what is being written: who takes nothing is not listened to, or the
// answers to what he goes on to say would gather here.
func (g *guest) Read(b []byte) (int, error) {
	g.sends <- struct{}{}
	<-g.sends
	g.settle()
	return g.Conn.Read(b)
}

func (g *guest) Write(b []byte) (int, error) {
	g.sends <- struct{}{}
	n, err := g.Conn.Write(b)
	<-g.sends
	g.settle()
	return n, err
}

// close closes the account of a request that has been answered, once nothing that might
// be before the answer waits to be taken.
func (g *guest) close(a *budget.Account) {
	g.mu.Lock()
	g.owed = append(g.owed, a)
	g.mu.Unlock()
	select {
	case g.sends <- struct{}{}:
		<-g.sends
		g.settle()
	default: // whoever has it settles them
	}
}

// settle closes the accounts that were left open.
func (g *guest) settle() {
	g.mu.Lock()
	owed := g.owed
	g.owed = nil
	g.mu.Unlock()
	for _, a := range owed {
		a.Close()
	}
}

func (g *guest) Close() error {
	defer g.leave()
	return g.Conn.Close()
}

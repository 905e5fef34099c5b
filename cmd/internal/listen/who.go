package listen

import (
	"net"
	"net/netip"
	"strconv"
	"sync"
)

// Who is at the other end of a connection: a user of this machine, or an address.
type Who struct {
	Name  string
	Peer  *Peer // nil: it is an address
	Owner bool  // who runs the server
}

// WhoIs is who has connected: by a unix socket peerOf knows it.
func WhoIs(c net.Conn, peerOf func(*net.UnixConn) (*Peer, error), owner int) (*Who, error) {
	if u, ok := c.(*net.UnixConn); ok {
		peer, err := peerOf(u)
		if err != nil {
			return nil, err
		}
		return &Who{Name: "user " + strconv.Itoa(peer.UID), Peer: peer, Owner: peer.UID == owner}, nil
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
	return &Who{Name: name}, nil
}

// Root reports whether it is who has to be answered whatever others do.
func (w *Who) Root() bool { return w.Peer != nil && w.Peer.UID == 0 }

// Share is the part of everything that clients take that one of them may have, unless he
// runs the server.
const Share = 0.5

// rootOnly is how many of something are root's; fewer where there are few.
const rootOnly = 16

// Room reports whether there is one more for him of what there is so much of, when so
// many are taken; and whether he has his share of them.
func (w *Who) Room(most, taken, his int) (ok, shared bool) {
	if w.Root() {
		return taken < most, false
	}
	shared = !w.Owner && his >= max(1, int(float64(most)*Share))
	return taken < most-min(rootOnly, most/4) && !shared, shared
}

// Seats are so many of something that clients take at a time. No client has more than his
// share of them, and the last are root's.
type Seats struct {
	most int

	mu    sync.Mutex
	taken int
	by    map[string]int
}

// NewSeats are so many.
func NewSeats(most int) *Seats { return &Seats{most: most, by: make(map[string]int)} }

// Take takes one, if there is one for who asks, until leave is called.
func (s *Seats) Take(w *Who) (leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ok, _ := w.Room(s.most, s.taken, s.by[w.Name]); !ok {
		return nil, false
	}
	s.taken++
	s.by[w.Name]++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.taken--
		if s.by[w.Name]--; s.by[w.Name] == 0 {
			delete(s.by, w.Name)
		}
	}), true
}

package listen

import (
	"net"
	"net/netip"
	"strconv"
	"sync"
)

// Who is the peer of a connection: a user of this machine, or an address.
type Who struct {
	Name  string
	Peer  *Peer // nil: an address
	Owner bool  // the user who runs the server
}

// WhoIs returns the peer of a connection. For a unix socket, peerOf asks the kernel for the
// user.
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
		if ip.Is6() { // one client has as many of these as it likes
			if p, err := ip.Prefix(64); err == nil {
				name = p.String()
			}
		}
	}
	return &Who{Name: name}, nil
}

// Root reports whether the client is root, who must be answered whatever others do.
func (w *Who) Root() bool { return w.Peer != nil && w.Peer.UID == 0 }

// Share is the part of any resource that one client may have, unless it is the user who runs the
// server.
const Share = 0.5

// rootOnly is how many places of a resource are kept for root; fewer if there are few.
const rootOnly = 16

// Room reports whether a client may take one more of a resource that holds most, when all clients
// together hold taken and the client itself holds his. shared says that the client has reached
// its share.
func (w *Who) Room(most, taken, his int) (ok, shared bool) {
	if w.Root() {
		return taken < most, false
	}
	shared = !w.Owner && his >= max(1, int(float64(most)*Share))
	return taken < most-min(rootOnly, most/4) && !shared, shared
}

// Seats counts what clients hold at a time, such as connections. No client holds more than its
// share, and the last seats are kept for root.
type Seats struct {
	most int

	mu    sync.Mutex
	taken int
	by    map[string]int
}

// NewSeats returns Seats for most clients at a time.
func NewSeats(most int) *Seats { return &Seats{most: most, by: make(map[string]int)} }

// Take gives the client w a seat until leave is called. ok is false if there is none for it.
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

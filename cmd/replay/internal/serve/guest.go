package serve

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"tachograph/cmd/internal/listen"
	"tachograph/cmd/replay/internal/serve/budget"
)

// A guest is a connection that has a place.
type guest struct {
	net.Conn
	line    net.Conn // the connection below any encryption
	who     *listen.Who
	asked   atomic.Bool  // it has made a request that was allowed
	turned  atomic.Bool  // it has made a request that was not allowed
	refused atomic.Int32 // requests that are being refused
	late    *time.Timer  // ends the connection if it has asked for nothing by then
	leave   func()
	sends   chan struct{} // has one element while something is written
	// requests are the guest's requests; nil if its protocol has none.
	requests *requests

	mu   sync.Mutex
	owed []*budget.Account // of answered requests, whose answers may still be queued for writing
}

// Read waits until what is being written has been taken. It does not read from a client that
// takes no answers, or the answers to its further requests would pile up in memory.
func (g *guest) Read(b []byte) (int, error) {
	g.sends <- struct{}{}
	<-g.sends
	g.settle()
	n, err := g.Conn.Read(b)
	if g.requests.hear(b[:n]) != nil {
		g.drop()
		return 0, net.ErrClosed
	}
	return n, err
}

func (g *guest) Write(b []byte) (int, error) {
	g.sends <- struct{}{}
	n, err := g.Conn.Write(b)
	<-g.sends
	g.settle()
	return n, err
}

// close returns the memory of an answered request, as soon as the client has taken everything
// that was written before the end of the answer.
func (g *guest) close(a *budget.Account) {
	g.mu.Lock()
	g.owed = append(g.owed, a)
	g.mu.Unlock()
	select {
	case g.sends <- struct{}{}:
		<-g.sends
		g.settle()
	default: // the present writer settles them
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

// Close ends the connection in the way of its protocol.
func (g *guest) Close() error {
	defer g.leave()
	return g.Conn.Close()
}

// drop ends the connection at once, without a farewell.
func (g *guest) drop() {
	defer g.leave()
	g.line.Close()
}

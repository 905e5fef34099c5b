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
	line    net.Conn // below whatever encrypts
	who     *listen.Who
	asked   atomic.Bool  // it has asked for something that it may ask for
	turned  atomic.Bool  // it has asked for something that it may not ask for
	refused atomic.Int32 // requests that are being refused
	late    *time.Timer  // ends it if it has asked for nothing by then
	leave   func()
	sends   chan struct{} // has one while something is written
	// requests are those that the guest begins; nil where the protocol has none.
	requests *requests

	mu   sync.Mutex
	owed []*budget.Account // of requests that are answered, perhaps behind what is written
}

// Read waits until what is being written has been taken. A client that takes no answers
// is not read from, or answers to his further requests would pile up in memory.
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

// close gives back the memory of a request that has been answered, as soon as the client
// has taken everything that was written before the end of the answer.
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

// Close ends the connection as its protocol has it.
func (g *guest) Close() error {
	defer g.leave()
	return g.Conn.Close()
}

// drop ends it without a word, which nobody waits for.
func (g *guest) drop() {
	defer g.leave()
	g.line.Close()
}

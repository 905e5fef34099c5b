package pcpserve

import (
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"tachograph/sample/metric"
	"tachograph/sample/pcp"
)

// Options say how it is answered.
type Options struct {
	// Names is where metrics are: the plain layout is for Clients.
	Names pcp.Layout
	// Ready is closed when there is something to answer with; nil is at once. Until
	// then pmcd is told that the agent is not ready.
	Ready <-chan struct{}
	// AllAccess gives everybody what Private holds back. Storing is for root and who
	// runs this, all the same.
	AllAccess bool
	// Private reports whether the values of a metric are only for root, who runs this,
	// and, where an instance has an owner, its owner. Nil is Private of this package.
	Private func(*metric.Desc) bool
	// Announce is for an agent of which pmcd.conf says that it is not ready when it
	// starts: pmcd waits to be told that it is.
	Announce bool
	// Who says which user a client is, if that can be known; nil knows nobody.
	Who func(net.Conn) (uid uint32, known bool)
	// Timeout is what a fetch may take: 2 s if it is 0. A pmcd waits for 5.
	Timeout time.Duration
	// MaxClients is how many there may be at once: 256 if it is 0. Half of them may be of
	// one user or address, and the last are root's.
	MaxClients int
	// Log is told who comes and goes and what went wrong; nil is nobody.
	Log *slog.Logger
}

// Server answers. One may have any number of connections at a time.
type Server struct {
	m         Metrics
	opt       Options
	strangers *slog.Logger // what those who connect cause
	self      uint32       // the user who runs this

	now     atomic.Pointer[world]
	mu      sync.Mutex // for what is below
	space   *pcp.Space
	rosters map[string]*roster

	flight atomic.Int64 // bytes of answers that are being made or sent
}

// NewServer answers from m.
func NewServer(m Metrics, opt Options) *Server {
	if opt.Private == nil {
		opt.Private = Private
	}
	if opt.Timeout == 0 {
		opt.Timeout = 2 * time.Second
	}
	if opt.MaxClients == 0 {
		opt.MaxClients = 256
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{m: m, opt: opt, strangers: Sparing(opt.Log), self: uint32(os.Geteuid()), space: pcp.NewSpaceOf(opt.Names), rosters: make(map[string]*roster)}
	s.now.Store(nothing)
	return s
}

// Metric is a metric of the present catalog as PCP has it; nil if there is none of that
// name of its own.
func (s *Server) Metric(name string) *pcp.Metric {
	if it := s.world().byOwn[name]; it != nil {
		return it.Metric
	}
	return nil
}

// world is that of the present catalog.
func (s *Server) world() *world {
	cat := s.m.Catalog()
	w := s.now.Load()
	if cat == w.cat || cat == nil {
		return w
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if w = s.now.Load(); cat == w.cat {
		return w
	}
	next := newWorld(cat, s.space, s.opt.Private)
	for _, it := range w.items {
		if next.byDesc[it.desc] == nil {
			s.space.Forget(it.desc)
		}
	}
	s.now.Store(next)
	return next
}

// roster is that of the instance domain of a name.
func (s *Server) roster(indom string) *roster {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rosters[indom]
	if r == nil {
		r = newRoster(indom)
		s.rosters[indom] = r
	}
	return r
}

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

// Options say how a Server answers.
type Options struct {
	// Names is the layout of the metric names. Clients needs the plain layout.
	Names pcp.Layout
	// Ready is closed when the server can answer; nil: at once. Until then pmcd gets the error
	// "not ready".
	Ready <-chan struct{}
	// AllAccess shows all clients the values that Private withholds. Storing is still only for
	// root and the user who runs this.
	AllAccess bool
	// Private reports whether a metric's values are only for root, for the user who runs this
	// and, if an instance has an owner, for its owner. Nil: the Private of this package.
	Private func(*metric.Desc) bool
	// Announce is for an agent that pmcd.conf marks as not ready when it starts: pmcd waits for
	// its message that it is.
	Announce bool
	// Who returns the user of a client, if known; nil: no client's user is known.
	Who func(net.Conn) (uid uint32, known bool)
	// Timeout is how long a fetch may take; 0: 2 s. pmcd waits 5 s.
	Timeout time.Duration
	// MaxClients is the most clients at once; 0: 256. Half of them may belong to one user or
	// address, and the last places are for root.
	MaxClients int
	// Log gets connections, disconnections and errors; nil: no log.
	Log *slog.Logger
}

// Server answers PCP requests, on any number of connections at a time.
type Server struct {
	m         Metrics
	opt       Options
	strangers *slog.Logger // for warnings that clients cause
	self      uint32       // the user who runs this program

	now     atomic.Pointer[world]
	mu      sync.Mutex // guards the fields below
	space   *pcp.Space
	rosters map[string]*roster

	flight atomic.Int64 // bytes of answers that are being made or sent
}

// NewServer returns a Server for the metrics of m.
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

// Metric returns the metric with this name of ours in the present catalog, in PCP's terms; nil
// if there is none.
func (s *Server) Metric(name string) *pcp.Metric {
	if it := s.world().byOwn[name]; it != nil {
		return it.Metric
	}
	return nil
}

// world returns the world of the present catalog.
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

// roster returns the roster of the instance domain with this name.
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

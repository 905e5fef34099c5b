package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"tachograph/cmd/internal/listen"
	"tachograph/cmd/replay/internal/serve/budget"
)

// Options say how to serve.
type Options struct {
	// Listen is "unix:PATH", "tcp:HOST:PORT" or, for a socket that it opened,
	// "systemd" or "launchd".
	Listen string
	// Mode and Group are those of the unix socket. With a Mode of 0 all users can connect, and
	// the server refuses those that Access does not allow.
	Mode  os.FileMode
	Group string
	// Access says which users may ask on the socket.
	Access Access
	// TLSCert and TLSKey are files; TokenFile holds the token that clients must send.
	TLSCert, TLSKey, TokenFile string
	// Token is a token that is made for this run, in place of a file.
	Token string
	// Names are the host names, besides localhost, that a TCP request may use for the server.
	Names []string
	// Version is the version of this program.
	Version string
	Limits  Limits
	Log     *slog.Logger
	// Ready is called with the server's address; nil: not called.
	Ready func(address string)
}

// A Part is something that is served.
type Part struct {
	// Path is a pattern of http.ServeMux.
	Path    string
	Handler http.Handler
	// Service is the full name of a gRPC service, for health and reflection.
	Service string
	// About is a line for the text at "/".
	About string
	// Timeout bounds a request; 0 is for streams without an end.
	Timeout time.Duration
	// AtOnce is how many requests are answered at a time; 0: Limits.Requests.
	AtOnce int
}

// A Server serves its parts behind all checks.
type Server struct {
	opt    Options
	parts  []Part
	home   http.Handler // the page of "/"; nil for none
	health *health
	access *gatekeeper
	budget *budget.Budget
	places *places
	told   chan struct{} // has one element for each request that is being refused

	listener net.Listener
	listen   listen.Address
	tls      *tls.Config
	// stopping ends when the server is to stop, and streams end with it.
	stopping context.Context
	stop     context.CancelCauseFunc
	tokens   tokenFile
	panics   atomic.Int64
}

// New opens the listener: once it returns, clients may connect, and wait until Run serves them.
func New(opt Options) (*Server, error) {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	opt.Limits = opt.Limits.orDefaults()
	s := &Server{
		opt: opt, health: newHealth(), budget: budget.New(int64(opt.Limits.Memory)), told: make(chan struct{}, mostTold),
		places: &places{most: opt.Limits.Connections, within: opt.Limits.Header},
	}
	s.stopping, s.stop = context.WithCancelCause(context.Background())
	var err error
	if hand := handedBy[opt.Listen]; hand != nil {
		if s.listener, err = hand(); err != nil {
			return nil, err
		}
		s.listen, err = addressOf(s.listener)
	} else {
		s.listen, err = listen.Parse("--listen", opt.Listen)
	}
	if err != nil {
		return nil, err
	}
	if err := s.secure(); err != nil {
		return nil, err
	}
	if s.access, err = newGatekeeper(opt.Access); err != nil {
		return nil, err
	}
	if s.listener == nil {
		if s.listener, err = s.open(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Add adds a part, before Run.
func (s *Server) Add(p Part) { s.parts = append(s.parts, p) }

// Home adds the page that browsers get at "/", before Run. It is served to all, so it must not
// hold anything that was recorded. Other clients get a text.
func (s *Server) Home(page http.Handler) { s.home = page }

// Stopping is done when the server is to stop: streams end with it, with the cause as their
// error.
func (s *Server) Stopping() context.Context { return s.stopping }

// RPC returns the options for every connect handler.
func (s *Server) RPC() []connect.HandlerOption {
	options := []connect.HandlerOption{
		connect.WithReadMaxBytes(s.opt.Limits.Request),
		connect.WithSendMaxBytes(s.opt.Limits.Response),
	}
	if s.listen.Unix {
		options = append(options, connect.WithCompression("gzip", nil, nil))
	} else {
		options = append(options, connect.WithCompressMinBytes(1<<10))
	}
	return options
}

// errStopping is the error that streams end with when the server stops.
var errStopping = connect.NewError(connect.CodeUnavailable, errors.New("the server is being stopped: try again"))

// Run serves until ctx is done, and then ends gracefully: it accepts no more connections, ends
// streams, and gives other requests Limits.Grace to finish.
func (s *Server) Run(ctx context.Context) error {
	s.addOwn()
	porter := newPorter(s.opt.Limits.Header)
	go porter.serve()
	defer porter.stop()
	var l net.Listener = &hall{Listener: s.listener, access: s.access, places: s.places, porter: porter, budget: s.budget, tls: s.tls, log: s.opt.Log}
	srv := &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: s.opt.Limits.Header,
		ReadTimeout:       0, // because of streams; each request sets its own once its part is known
		IdleTimeout:       s.opt.Limits.Idle,
		MaxHeaderBytes:    16 << 10,
		ConnContext:       withGuest,
		ErrorLog:          slog.NewLogLogger(s.opt.Log.Handler(), slog.LevelDebug),
		Protocols:         new(http.Protocols),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          s.opt.Limits.Streams,
			MaxReceiveBufferPerConnection: 1 << 17,
			MaxReceiveBufferPerStream:     1 << 16,
			SendPingTimeout:               s.opt.Limits.Idle,
			PingTimeout:                   s.opt.Limits.Stall,
			WriteByteTimeout:              s.opt.Limits.Stall,
		},
	}
	srv.Protocols.SetHTTP1(true)
	srv.Protocols.SetUnencryptedHTTP2(true) // to the http.Server everything is unencrypted: guests decrypt
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	if s.opt.Ready != nil {
		s.opt.Ready(s.Address())
	}
	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
	}
	s.health.stop()
	s.stop(errStopping)
	grace, cancel := context.WithTimeout(context.Background(), s.opt.Limits.Grace)
	defer cancel()
	if srv.Shutdown(grace) != nil {
		srv.Close()
	}
	s.close()
	if n := s.panics.Load(); n > 0 && err == nil {
		err = fmt.Errorf("this program failed in %d requests, which is a mistake of the program; please report it (the log says where)", n)
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// Close closes the listener of a server that was not run.
func (s *Server) Close() {
	s.stop(errStopping)
	s.close()
}

func (s *Server) close() {
	s.listener.Close()
	s.removeSocket()
}

// Address returns where the server listens, in the form that clients use.
func (s *Server) Address() string {
	if s.listen.Unix {
		return "unix:" + s.listen.Path
	}
	scheme := "http://"
	if s.tls != nil {
		scheme = "https://"
	}
	return scheme + s.listener.Addr().String()
}

// about serves the text of "/".
func (s *Server) about(w http.ResponseWriter, r *http.Request) {
	var b strings.Builder
	fmt.Fprintf(&b, "replay serve, Tachograph %s\n\n", s.opt.Version)
	width := 0
	for _, p := range s.parts {
		width = max(width, len(p.Path))
	}
	parts := slices.Clone(s.parts)
	slices.SortFunc(parts, func(a, b Part) int { return strings.Compare(a.Path, b.Path) })
	for _, p := range parts {
		if p.About != "" {
			fmt.Fprintf(&b, "%-*s  %s\n", width, p.Path, p.About)
		}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Write([]byte(b.String()))
}

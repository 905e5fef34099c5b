package serve

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"connectrpc.com/connect"

	"tachograph/cmd/replay/internal/serve/budget"
	"tachograph/cmd/replay/internal/serve/status"
)

// A hall is where connections come in. Who may not ask is sent to the porter before he
// has cost anything, and who is let in gets a place.
type hall struct {
	net.Listener
	access *gatekeeper
	places *places
	porter *porter
	budget *budget.Budget
	tls    *tls.Config // nil: guests are heard as they speak
	log    *slog.Logger
	told   time.Time
}

// Accept is the next guest. What is too much is closed at once: a client that is refused
// knows, one that waits in the kernel's queue does not.
func (h *hall) Accept() (net.Conn, error) {
	for {
		c, err := h.Listener.Accept()
		if err != nil {
			return nil, err
		}
		w, err := h.access.whoIs(c)
		switch {
		case err != nil:
			h.porter.sendOff(c, status.Errorf(connect.CodePermissionDenied, "PEER_UNKNOWN", "the kernel does not say who asks: %v", err))
			continue
		case w.Peer != nil && !h.access.admits(w.Peer):
			h.porter.sendOff(c, status.Errorf(connect.CodePermissionDenied, "PEER_REFUSED", "user %d may not read these archives: ask as their owner or as a member of their group, or let the server be started with --allow-user or --allow-group", w.Peer.UID))
			continue
		}
		if g := h.places.let(c, w, func() {}); g != nil {
			g.requests = &requests{budget: h.budget, client: shareOf(w)}
			if h.tls != nil {
				g.Conn = tls.Server(c, h.tls)
			}
			return g, nil
		}
		c.Close()
		if time.Since(h.told) > time.Minute {
			h.told = time.Now()
			h.log.Warn("too many connections: further ones are closed", "limit", h.places.most, "who", w.Name)
		}
	}
}

// guestKey is the key of the guest in the context of his requests.
type guestKey struct{}

func withGuest(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, guestKey{}, c)
}

// guestOf is the guest who sent a request. All connections of a server come through its hall.
func guestOf(r *http.Request) *guest {
	g, _ := r.Context().Value(guestKey{}).(*guest)
	return g
}

// mostStrangers is how many connections that are not let in are told why at a time.
const mostStrangers = 16

// A porter tells strangers why they are not let in, in the language that each asks in. He
// has time for few, and little for each: whoever else comes is told nothing.
type porter struct {
	strangers chan net.Conn
	free      chan struct{} // has one for each stranger who is being told
	within    time.Duration
	closed    chan struct{}
	close     func()
	server    *http.Server
}

// A stranger is a connection that is not let in, and why.
type stranger struct {
	net.Conn
	why   *connect.Error
	leave func()
}

func (s *stranger) Close() error {
	defer s.leave()
	return s.Conn.Close()
}

// strangerKey finds in the context of a request whose it is, a *stranger.
type strangerKey struct{}

func newPorter(within time.Duration) *porter {
	p := &porter{strangers: make(chan net.Conn, mostStrangers), free: make(chan struct{}, mostStrangers), within: within, closed: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	p.server = &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor == 1 {
				w.Header().Set("Connection", "close")
			}
			fail(w, r, r.Context().Value(strangerKey{}).(*stranger).why)
		}),
		ReadTimeout: within, IdleTimeout: time.Second, MaxHeaderBytes: 4 << 10,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, strangerKey{}, c)
		},
		ErrorLog:  log.New(io.Discard, "", 0),
		Protocols: new(http.Protocols),
		HTTP2:     &http.HTTP2Config{MaxConcurrentStreams: 1, MaxReceiveBufferPerConnection: 1 << 16, MaxReceiveBufferPerStream: 1 << 16},
	}
	p.server.Protocols.SetHTTP1(true)
	p.server.Protocols.SetUnencryptedHTTP2(true)
	return p
}

// sendOff has a stranger told, if the porter has time for him.
func (p *porter) sendOff(c net.Conn, why *connect.Error) {
	select {
	case p.free <- struct{}{}:
	default:
		c.Close()
		return
	}
	late := time.AfterFunc(p.within, func() { c.Close() })
	p.strangers <- &stranger{c, why, sync.OnceFunc(func() {
		late.Stop()
		<-p.free
	})}
}

// serve tells strangers until stop is called.
func (p *porter) serve() { _ = p.server.Serve(p) }

// stop ends it, with whoever is being told.
func (p *porter) stop() {
	_ = p.server.Close()
	for {
		select {
		case c := <-p.strangers:
			c.Close()
		default:
			return
		}
	}
}

// Accept is the next stranger.
func (p *porter) Accept() (net.Conn, error) {
	select {
	case c := <-p.strangers:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close is for the server that tells them.
func (p *porter) Close() error {
	p.close()
	return nil
}

// Addr is of no use to anybody.
func (p *porter) Addr() net.Addr { return &net.UnixAddr{} }

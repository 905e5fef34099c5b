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

// A hall is the server's listener. It sends connections that may not ask to the porter, before
// they have cost anything, and gives the others a place.
type hall struct {
	net.Listener
	access *gatekeeper
	places *places
	porter *porter
	budget *budget.Budget
	tls    *tls.Config // nil: no encryption
	log    *slog.Logger
	told   time.Time
}

// Accept returns the next guest. Connections beyond the limit are closed at once: a client that
// is refused knows it, a client that waits in the kernel's queue does not.
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

// guestKey is the key of the guest in the context of its requests.
type guestKey struct{}

func withGuest(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, guestKey{}, c)
}

// guestOf returns the guest that sent a request. All connections of a server come through its
// hall.
func guestOf(r *http.Request) *guest {
	g, _ := r.Context().Value(guestKey{}).(*guest)
	return g
}

// mostStrangers is how many refused connections the porter answers at a time.
const mostStrangers = 16

// A porter tells refused connections the reason, in the protocol that each one speaks. It
// answers few at a time and gives each little time; the others are closed without an answer.
type porter struct {
	strangers chan net.Conn
	free      chan struct{} // has one element for each stranger that is being answered
	within    time.Duration
	closed    chan struct{}
	close     func()
	server    *http.Server
}

// A stranger is a refused connection, with the reason.
type stranger struct {
	net.Conn
	why   *connect.Error
	leave func()
}

func (s *stranger) Close() error {
	defer s.leave()
	return s.Conn.Close()
}

// strangerKey finds the *stranger in the context of its request.
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

// sendOff passes a connection to the porter, or closes it if the porter is busy.
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

// serve answers strangers until stop is called.
func (p *porter) serve() { _ = p.server.Serve(p) }

// stop ends serve and closes the strangers that are being answered.
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

// Accept returns the next stranger.
func (p *porter) Accept() (net.Conn, error) {
	select {
	case c := <-p.strangers:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close is for the porter's http.Server.
func (p *porter) Close() error {
	p.close()
	return nil
}

// Addr is needed only for net.Listener.
func (p *porter) Addr() net.Addr { return &net.UnixAddr{} }

package serve

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"tachograph/cmd/replay/internal/status"
)

// A hall is where connections come in. Who may not ask is sent to the porter before he
// has cost anything, and who is let in gets a place.
type hall struct {
	net.Listener
	access *gatekeeper
	places *places
	porter *porter
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
		case w.peer != nil && !h.access.admits(w.peer):
			h.porter.sendOff(c, status.Errorf(connect.CodePermissionDenied, "PEER_REFUSED", "user %d may not read these archives: ask as their owner or as a member of their group, or let the server be started with --allow-user or --allow-group", w.peer.UID))
			continue
		}
		if g := h.places.let(c, w, func() {}); g != nil {
			return g, nil
		}
		c.Close()
		if time.Since(h.told) > time.Minute {
			h.told = time.Now()
			h.log.Warn("too many connections: further ones are closed", "limit", h.places.most, "who", w.name)
		}
	}
}

// guestKey finds in the context of a request who asks, a *guest.
type guestKey struct{}

func withGuest(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	return context.WithValue(ctx, guestKey{}, c)
}

// guestOf is who asks. All connections of a server come through its hall.
func guestOf(r *http.Request) *guest {
	g, _ := r.Context().Value(guestKey{}).(*guest)
	return g
}

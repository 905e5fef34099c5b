package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"

	"tachograph/cmd/internal/listen"
	"tachograph/cmd/internal/visible"
	"tachograph/cmd/replay/internal/serve/budget"
	"tachograph/cmd/replay/internal/serve/status"
)

// handler serves everything, behind all the checks.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	if s.home != nil {
		mux.Handle("GET /{$}", s.front())
	} else {
		mux.HandleFunc("GET /{$}", s.about)
	}
	for _, p := range s.parts {
		mux.Handle(p.Path, s.bounded(p))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// No answer may be used by a page of another site, whatever type it takes it for.
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		g := guestOf(r)
		account, err := g.requests.begin()
		defer g.close(account)
		if err != nil || account.Take(headOf(r)) != nil {
			g.hangUp()
		}
		r = r.WithContext(listen.With(account.In(r.Context()), g.who))
		paced := &pacedWriter{ResponseWriter: w, control: http.NewResponseController(w), stall: s.opt.Limits.Stall}
		paced.control.SetWriteDeadline(time.Time{})
		defer paced.close()
		defer context.AfterFunc(s.stopping, paced.hurry)()
		// Don't wait for the rest of a request that the handler did not read.
		defer func() { paced.control.SetReadDeadline(time.Now().Add(time.Second)) }()
		defer paced.end(r)
		defer s.contain(paced, r)
		if err := s.refusal(r); err != nil {
			s.opt.Log.Debug("refused", "path", visible.Text(r.URL.Path), "from", r.RemoteAddr, "why", err.Message())
			g.turned.Store(true)
			if r.ProtoMajor == 1 {
				w.Header().Set("Connection", "close")
			}
			s.refuse(paced, r, err)
			return
		}
		g.asked.Store(true)
		mux.ServeHTTP(paced, r)
	})
}

// headOf returns the memory that the head of a request takes, both as sent and as parsed.
func headOf(r *http.Request) int64 {
	head := len(r.RequestURI) + len(r.Host)
	for name, values := range r.Header {
		head += len(name) + 64
		for _, v := range values {
			head += len(v) + 16
		}
	}
	return 2 * int64(head)
}

// hangUp ends the connection of a request that cannot even be refused.
func (g *guest) hangUp() {
	g.drop()
	panic(http.ErrAbortHandler)
}

// How many requests at a time get an answer that refuses them, in all and on one connection. The
// connection of any other refused request just ends.
const (
	mostTold         = 64
	mostToldOfOne    = 4
	longestToRefusal = time.Second // for the client to take the answer
)

// refuse answers with an error. It does not wait for clients that take it slowly.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err *connect.Error) {
	g := guestOf(r)
	defer g.refused.Add(-1)
	if g.refused.Add(1) > mostToldOfOne {
		g.hangUp()
	}
	select {
	case s.told <- struct{}{}:
		defer func() { <-s.told }()
	default:
		g.hangUp()
	}
	if p, ok := w.(*pacedWriter); ok {
		p.shorten(longestToRefusal)
		defer p.end(r)
	}
	fail(w, r, err)
}

// contain limits a panic to the request that caused it.
func (s *Server) contain(w *pacedWriter, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler {
		panic(p)
	}
	s.panics.Add(1)
	s.opt.Log.Error("this program failed in a request, which is a mistake of the program; please report it",
		"path", visible.Text(r.URL.Path), "cause", fmt.Sprint(p), "stack", string(debug.Stack()))
	if w.began {
		panic(http.ErrAbortHandler) // a partial answer must not look complete
	}
	fail(w, r, connect.NewError(connect.CodeInternal, errors.New("the server failed in this request; its log says where")))
}

// refusal returns why a request is not answered, whatever it asks for; nil if it is.
func (s *Server) refusal(r *http.Request) *connect.Error {
	if s.listen.Unix {
		return nil // Accept has refused users who may not ask
	}
	if !s.isOurName(r.Host) {
		return status.Errorf(connect.CodePermissionDenied, "HOST_REFUSED", "this server is not called %q: ask for localhost, or let it be started with --name", shortened(r.Host))
	}
	if origin := r.Header.Get("Origin"); origin != "" && !s.isOurOrigin(origin, r.Host) {
		return status.Errorf(connect.CodePermissionDenied, "ORIGIN_REFUSED", "requests from pages of %q are not answered", shortened(origin))
	}
	// A page of another site that only wants to cause a request sends no Origin.
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" && !s.leadsToPage(r) {
		return status.Errorf(connect.CodePermissionDenied, "ORIGIN_REFUSED", "requests from pages of others are not answered")
	}
	// The page itself asks for the token, and holds nothing that was recorded.
	if s.tokens.wanted() && !(s.home != nil && r.URL.Path == "/" && wantsPage(r)) {
		return s.tokens.check(r.Header.Get("Authorization"))
	}
	return nil
}

// front serves "/": the page for browsers, and text for all others.
func (s *Server) front() http.Handler {
	page := s.bounded(Part{Path: "/", Handler: s.home, Timeout: s.opt.Limits.Header})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Accept")
		if wantsPage(r) {
			page.ServeHTTP(w, r)
			return
		}
		s.about(w, r)
	})
}

// wantsPage reports whether a browser asks, that is a client that accepts HTML.
func wantsPage(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	for _, accept := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(accept, ",") {
			kind, parameters, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(kind), "text/html") && strings.TrimSpace(parameters) != "q=0" {
				return true
			}
		}
	}
	return false
}

// isOurName reports whether a Host header names this server. A foreign page whose own host name
// was made to resolve to this machine (DNS rebinding) sends that name.
func (s *Server) isOurName(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	for _, own := range append([]string{"localhost", s.listen.Host}, s.opt.Names...) {
		if own != "" && strings.EqualFold(name, own) {
			return true
		}
	}
	ip := net.ParseIP(name)
	return ip != nil && (ip.IsLoopback() || s.isEverywhere())
}

// isEverywhere reports whether the server listens at all addresses. An address of its own,
// written as a number, cannot be given another meaning the way a name can.
func (s *Server) isEverywhere() bool {
	ip := net.ParseIP(s.listen.Host)
	return s.listen.Host == "" || ip != nil && ip.IsUnspecified()
}

// leadsToPage reports whether a request follows a link, of whatever page, to the page at "/",
// which holds nothing that was recorded.
func (s *Server) leadsToPage(r *http.Request) bool {
	return s.home != nil && r.URL.Path == "/" && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" && wantsPage(r)
}

// isOurOrigin reports whether a request comes from the server's own page.
func (s *Server) isOurOrigin(origin, host string) bool {
	scheme := "http://"
	if s.tls != nil {
		scheme = "https://"
	}
	return strings.EqualFold(origin, scheme+host)
}

// bounded limits the requests of a part, together and each.
func (s *Server) bounded(p Part) http.Handler {
	atOnce := p.AtOnce
	if atOnce == 0 {
		atOnce = s.opt.Limits.Requests
	}
	seats := listen.NewSeats(atOnce)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leave, ok := seats.Take(guestOf(r).who)
		if !ok {
			s.refuse(w, r, status.TooMany(time.Second, "as many requests of %s are being answered as there may be at a time, %d of all and half as many of one client: try again in a second", p.Path, atOnce))
			return
		}
		defer leave()
		account := budget.Of(r.Context())
		if p.Timeout > 0 {
			ctx, cancel := context.WithTimeout(r.Context(), p.Timeout)
			defer cancel()
			r = r.WithContext(ctx)
		}
		body := &pacedBody{r.Body, http.NewResponseController(w), time.Now().Add(s.opt.Limits.Body), account}
		r.Body = http.MaxBytesReader(w, body, int64(s.opt.Limits.Request)+64)
		p.Handler.ServeHTTP(w, r)
	})
}

// fail answers with an error in the client's protocol.
func fail(w http.ResponseWriter, r *http.Request, err *connect.Error) {
	if writer := connect.NewErrorWriter(); writer.IsSupported(r) {
		writer.Write(w, r, err)
		return
	}
	code := map[connect.Code]int{
		connect.CodePermissionDenied:  http.StatusForbidden,
		connect.CodeUnauthenticated:   http.StatusUnauthorized,
		connect.CodeResourceExhausted: http.StatusTooManyRequests,
	}[err.Code()]
	switch code {
	case 0:
		code = http.StatusInternalServerError
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="replay serve"`)
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "1")
	}
	http.Error(w, err.Message(), code)
}

// shortened bounds a client's text for use in a message.
func shortened(s string) string {
	if len(s) > 100 {
		s = s[:100] + "…"
	}
	return s
}

// A pacedBody ends a request whose client sends it too slowly. The deadline holds while the body
// is read, not while the answer is made.
type pacedBody struct {
	io.ReadCloser
	control *http.ResponseController
	by      time.Time
	account *budget.Account
}

// decoded is how many bytes of memory a byte of a request takes at most.
const decoded = 8

func (b *pacedBody) Read(p []byte) (int, error) {
	b.control.SetReadDeadline(b.by)
	n, err := b.ReadCloser.Read(p)
	b.control.SetReadDeadline(time.Time{})
	if short := b.account.Take(int64(n) * decoded); short != nil {
		return 0, short
	}
	return n, err
}

// A pacedWriter ends a connection whose client stops taking what is written for a while, however
// long the whole response may take.
type pacedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	began   bool
	wrote   bool // part of a body was written

	mu     sync.Mutex
	stall  time.Duration // how long the client may take nothing
	closed bool          // the request has ended, and control with it
}

// lastStall is how long the client may take nothing once the server is to end.
const lastStall = time.Second

// allow sets the deadline for the client to take something.
func (w *pacedWriter) allow() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.control.SetWriteDeadline(time.Now().Add(w.stall))
}

// shorten lowers the time within which the client must take something.
func (w *pacedWriter) shorten(stall time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stall = min(w.stall, stall)
}

// hurry shortens the deadline of a write under way too, because the server is to end.
func (w *pacedWriter) hurry() {
	w.shorten(lastStall)
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.control.SetWriteDeadline(time.Now().Add(w.stall))
	}
}

func (w *pacedWriter) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
}

func (w *pacedWriter) WriteHeader(code int) {
	w.began = true
	w.ResponseWriter.WriteHeader(code)
}

func (w *pacedWriter) Write(b []byte) (int, error) {
	w.began, w.wrote = true, w.wrote || len(b) > 0
	w.allow()
	n, err := w.ResponseWriter.Write(b)
	w.control.SetWriteDeadline(time.Time{})
	return n, err
}

// FlushError is Flush for http.ResponseController.
func (w *pacedWriter) FlushError() error {
	w.allow()
	err := w.control.Flush()
	w.control.SetWriteDeadline(time.Time{})
	return err
}

// Flush is for callers without http.ResponseController.
func (w *pacedWriter) Flush() { w.FlushError() }

// end sets a deadline for the client to take what has been written, because the request counts
// as being answered until then. An answer without a body has nothing to wait for, and its head
// is complete only when the request has ended.
func (w *pacedWriter) end(r *http.Request) {
	if w.wrote && r.ProtoMajor >= 2 {
		w.FlushError()
	}
	w.allow()
}

// Unwrap is for http.ResponseController.
func (w *pacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

package serve

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"

	"tachograph/cmd/replay/internal/serve/status"
	"tachograph/testdata/patience"
)

// shortDir is a directory whose name leaves room for that of a socket.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// A running server and how to end it.
type running struct {
	*Server
	client *http.Client
	ready  chan string
	stop   func() error
}

// purposes counts how often a part of a server for tests was about to fail on purpose.
var purposes atomic.Int64

func failOnPurpose() {
	purposes.Add(1)
	panic("on purpose")
}

// parts of a server for tests.
func testParts(s *Server) []Part {
	return []Part{
		{Path: "/echo", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) }), About: "says what it is told", Timeout: time.Minute},
		{Path: "/panic", Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { failOnPurpose() })},
		{Path: "/late", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Write([]byte("begun"))
			http.NewResponseController(w).Flush()
			failOnPurpose()
		})},
		{Path: "/wait", AtOnce: 1, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body) // until then nobody sees that the client has left
			w.WriteHeader(http.StatusOK)
			http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
			case <-s.Stopping().Done():
				w.Write([]byte(context.Cause(s.Stopping()).Error()))
			}
		})},
		{Path: "/large", AtOnce: 8, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b := make([]byte, 1<<20)
			for range 4 {
				if _, err := w.Write(b); err != nil {
					return
				}
			}
		})},
		{Path: "/test.v1.Test/", Service: "test.v1.Test", Handler: http.NotFoundHandler()},
	}
}

// start runs a server with test parts, and a page if one is given, until the test ends.
func start(t testing.TB, opt Options, home ...http.Handler) *running {
	t.Helper()
	r := prepared(t, opt, home...)
	r.begin(t)
	return r
}

// prepared is a server that is not run yet.
func prepared(t testing.TB, opt Options, home ...http.Handler) *running {
	t.Helper()
	if opt.Listen == "" {
		opt.Listen = "unix:" + filepath.Join(shortDir(t), "s")
	}
	ready := make(chan string, 1)
	opt.Ready = func(a string) { ready <- a }
	s, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range testParts(s) {
		s.Add(p)
	}
	for _, h := range home {
		s.Home(h)
	}
	return &running{Server: s, client: clientOf(s), ready: ready}
}

// begin runs it until the test ends.
func (r *running) begin(t testing.TB) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	<-r.ready
	r.stop = sync.OnceValue(func() error { // whoever else stops it waits for the first
		cancel()
		return <-ended
	})
	t.Cleanup(func() { r.stop() })
}

// clientOf speaks HTTP/1.1 to a server.
func clientOf(s *Server) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, s.listener.Addr().Network(), s.listener.Addr().String())
		},
		DisableKeepAlives: true,
	}}
}

// h2cOf speaks HTTP/2 in the clear to a server.
func h2cOf(s *Server) *http.Client {
	c := clientOf(s)
	t := c.Transport.(*http.Transport)
	t.Protocols = new(http.Protocols)
	t.Protocols.SetUnencryptedHTTP2(true)
	t.DisableKeepAlives = false
	// As it is set by default, 4 MB are taken of an answer that nobody reads.
	t.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10}
	return c
}

func (r *running) get(t testing.TB, path string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequest("GET", "http://localhost"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		} else {
			req.Header.Set(header[i], header[i+1])
		}
	}
	res, err := r.client.Do(req)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer res.Body.Close()
	b, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(b)
}

func TestAbout(t *testing.T) {
	s := start(t, Options{Version: "1.2.3"})
	code, text := s.get(t, "/")
	for _, want := range []string{"1.2.3", "/echo ", "says what it is told", "/grpc.health.v1.Health/"} {
		if code != 200 || !strings.Contains(text, want) {
			t.Errorf("%d, no %q in\n%s", code, want, text)
		}
	}
	if code, _ := s.get(t, "/nothing"); code != http.StatusNotFound {
		t.Errorf("/nothing: %d", code)
	}
}

// What fails in a request is that request's, and is said at the end.
func TestPanicsStayInTheirRequest(t *testing.T) {
	var log strings.Builder
	s := start(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if code, text := s.get(t, "/panic"); code != 500 || strings.Contains(text, "purpose") {
		t.Errorf("%d %s", code, text)
	}
	res, err := s.client.Get("http://localhost/late")
	if err == nil {
		_, err = io.ReadAll(res.Body)
		res.Body.Close()
	}
	if err == nil {
		t.Error("an answer that was cut short looks complete")
	}
	if code, _ := s.get(t, "/"); code != 200 {
		t.Errorf("afterwards: %d", code)
	}
	if err := s.stop(); err == nil || !strings.Contains(err.Error(), "2 requests") {
		t.Errorf("at the end: %v", err)
	}
	if !strings.Contains(log.String(), "on purpose") || !strings.Contains(log.String(), "testParts") {
		t.Errorf("log: %s", log.String())
	}
}

// When the server is to end, what waits is told, what is being answered is
// finished, and nobody is let in.
func TestGracefulEnd(t *testing.T) {
	s := start(t, Options{})
	res, err := s.client.Get("http://localhost/wait")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	before := s.budget.Free()
	r, w := io.Pipe()
	answered := make(chan string)
	go func() {
		req, _ := http.NewRequest("POST", "http://localhost/echo", r)
		res, err := s.client.Do(req)
		if err != nil {
			answered <- err.Error()
			return
		}
		b, _ := io.ReadAll(res.Body)
		answered <- string(b)
	}()
	w.Write([]byte("to be "))
	patience.Until(t, "the request is being answered", func() bool { return s.budget.Free() < before })
	ended := make(chan error)
	go func() { ended <- s.stop() }()
	if b, _ := io.ReadAll(res.Body); !strings.Contains(string(b), "stopped") {
		t.Errorf("a stream ends with %q", b)
	}
	w.Write([]byte("continued"))
	w.Close()
	if got := <-answered; got != "to be continued" {
		t.Errorf("what was being answered: %q", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := s.client.Get("http://localhost/"); err == nil {
		t.Error("somebody is let in afterwards")
	}
}

// A server that is to end waits for nobody who takes nothing of an answer.
func TestEndBesideClientsThatNeverRead(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2"} {
		t.Run(protocol, func(t *testing.T) {
			s := start(t, Options{Limits: Limits{Stall: time.Hour, Grace: time.Hour}})
			client := s.client
			if protocol == "HTTP/2" {
				client = h2cOf(s.Server)
			}
			res, err := client.Get("http://localhost/large")
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			ended := make(chan error, 1)
			go func() { ended <- s.stop() }()
			patience.Until(t, "the server has ended", func() bool {
				select {
				case err := <-ended:
					if err != nil {
						t.Error(err)
					}
					return true
				default:
					return false
				}
			})
		})
	}
}

// fail speaks the language of who asks.
func TestFail(t *testing.T) {
	for _, c := range []struct {
		err    *connect.Error
		header string
		want   int
	}{
		{status.TooMany(time.Second, "x"), "Retry-After", 429},
		{status.Errorf(connect.CodeUnauthenticated, "X", "x"), "WWW-Authenticate", 401},
		{status.Errorf(connect.CodePermissionDenied, "X", "x"), "", 403},
		{status.Errorf(connect.CodeInternal, "X", "x"), "", 500},
	} {
		s := start(t, Options{})
		w := recorded{header: make(http.Header)}
		r, _ := http.NewRequest("DELETE", "http://localhost/", nil)
		fail(&w, r, c.err)
		if w.code != c.want || c.header != "" && w.header.Get(c.header) == "" {
			t.Errorf("%v: %d, %v", c.err, w.code, w.header)
		}
		s.stop()
	}
}

type recorded struct {
	header http.Header
	code   int
}

func (r *recorded) Header() http.Header         { return r.header }
func (r *recorded) Write(b []byte) (int, error) { return len(b), nil }
func (r *recorded) WriteHeader(code int)        { r.code = code }

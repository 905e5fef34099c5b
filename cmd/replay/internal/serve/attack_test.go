package serve

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tachograph/cmd/internal/listen"
	"tachograph/cmd/replay/internal/serve/budget"
	"tachograph/testdata/patience"
)

// frame is one of HTTP/2.
func frame(kind, flags byte, stream uint32, payload string) string {
	b := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	return string(binary.BigEndian.AppendUint32(b, stream)) + payload
}

// streams are so many requests by HTTP/2 of a client that has no room for an answer.
func streams(n int, path string) string {
	var b strings.Builder
	b.WriteString("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, "\x00\x04\x00\x00\x00\x00"))
	head := ""
	for _, h := range []string{":method", "GET", ":scheme", "http", ":authority", "localhost", ":path", path} {
		if strings.HasPrefix(h, ":") {
			head += "\x00"
		}
		head += string(rune(len(h))) + h
	}
	for i := range n {
		b.WriteString(frame(1, 5, uint32(2*i+1), head))
	}
	return b.String()
}

// from connects as a user, -1 for whom the kernel names. A server that was told of users
// knows by the address which one it is.
func from(t *testing.T, s *Server, user int) net.Conn {
	t.Helper()
	if !s.listen.Unix {
		c, err := net.Dial("tcp", s.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	own := &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("%s/%d.%d", filepath.Dir(s.listen.Path), user, number.Add(1))}
	var c net.Conn
	patience.Until(t, "the server has room for one more to be let in or not", func() bool {
		var err error
		c, err = net.DialUnix("unix", own, s.listener.Addr().(*net.UnixAddr))
		os.Remove(own.Name)
		return err == nil
	})
	return c
}

var number atomic.Int64

// users has a server believe who says which user it is, and let root and two others ask.
func users(s *Server) {
	s.access.owner = -2
	s.access.users = []int{0, 1001, 1002}
	s.access.peerOf = func(c *net.UnixConn) (*Peer, error) {
		name, _, _ := strings.Cut(filepath.Base(c.RemoteAddr().String()), ".")
		uid, err := strconv.Atoi(name)
		return &Peer{UID: uid}, err
	}
}

// besiege connects so often and sends a text each time, and reads nothing. The
// connections that it returns end with the test.
func besiege(t *testing.T, s *Server, user, times int, text string) (all []net.Conn) {
	t.Helper()
	for range times {
		c := from(t, s, user)
		t.Cleanup(func() { c.Close() })
		c.SetWriteDeadline(time.Now().Add(patience.Stretch(10 * time.Second)))
		io.WriteString(c, text) // or it has been closed already
		all = append(all, c)
	}
	return all
}

// ask has a user ask for something.
func ask(t *testing.T, s *running, user int, path string) (int, error) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return from(t, s.Server, user), nil },
		DisableKeepAlives: true,
	}}
	res, err := client.Get("http://localhost" + path)
	if err != nil {
		return 0, err
	}
	io.Copy(io.Discard, res.Body)
	return res.StatusCode, res.Body.Close()
}

// A stranger's connections and requests take no place and no memory, and few of them at a
// time are told so.
func TestStrangersCostNothing(t *testing.T) {
	t.Parallel()
	s := prepared(t, Options{Limits: Limits{Header: time.Hour}})
	users(s.Server)
	s.begin(t)
	for _, text := range []string{streams(100, "/"), "GET / HTTP/1.1\r\nX-", "GET / HTTP/1.1\r\nHost: x\r\n\r\n"} {
		besiege(t, s.Server, 4711, 200, text)
	}
	if n, free := s.places.taken(), s.budget.Free(); n != 0 || free != int64(s.opt.Limits.Memory) {
		t.Errorf("strangers have %d places, and %d bytes are free", n, free)
	}
	if code, err := ask(t, s, 1001, "/"); code != 200 {
		t.Errorf("a user who may ask: %d, %v", code, err)
	}
}

// What is sent by halves takes nobody's place but the sender's own.
func TestHalfSentRequests(t *testing.T) {
	t.Parallel()
	s := prepared(t, Options{Limits: Limits{Connections: 100, Header: time.Hour}})
	users(s.Server)
	s.begin(t)
	for _, text := range []string{"GET / HTTP/1.1\r\nX-", "", "PRI * HTTP/2.0\r\n", streams(0, ""), streams(0, "") + frame(1, 0, 1, "")} {
		besiege(t, s.Server, 1001, 150, text)
		if n := s.places.taken(); n > 60 {
			t.Errorf("%.20q: one user has %d of 100 places", text, n)
		}
		for _, user := range []int{1001, 1002, 0} {
			for range 4 {
				if code, err := ask(t, s, user, "/"); code != 200 {
					t.Errorf("%.20q: user %d is told %d, %v", text, user, code, err)
				}
			}
		}
	}
}

// Users who are answered and stay fill their places, and root is answered nevertheless.
func TestPlacesOfUsers(t *testing.T) {
	t.Parallel()
	s := prepared(t, Options{Limits: Limits{Connections: 40, Header: time.Hour}})
	users(s.Server)
	s.begin(t)
	for _, user := range []int{1001, 1002} {
		for range 40 {
			c := from(t, s.Server, user)
			t.Cleanup(func() { c.Close() })
			io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			c.Read(make([]byte, 1)) // of the answer, or the end
		}
		if user == 1001 && s.places.taken() != 20 {
			t.Errorf("one user has %d of 40 places", s.places.taken())
		}
	}
	if n := s.places.taken(); n != 30 {
		t.Errorf("%d places are taken, and 10 of 40 are root's", n)
	}
	if code, err := ask(t, s, 0, "/"); code != 200 {
		t.Errorf("root: %d, %v", code, err)
	}
	if _, err := ask(t, s, 1001, "/"); err == nil {
		t.Error("a user has more than there is")
	}
}

// A user whose requests of a part last has his share of that part: others and root are
// answered.
func TestRequestsOfAPart(t *testing.T) {
	t.Parallel()
	s := prepared(t, Options{Limits: Limits{Header: time.Hour}})
	users(s.Server)
	var held atomic.Int32
	s.Add(Part{Path: "/held", AtOnce: 8, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if guestOf(r).who.Name == "user 1001" {
			held.Add(1)
			<-r.Context().Done()
		}
	})})
	s.begin(t)
	besiege(t, s.Server, 1001, 30, "GET /held HTTP/1.1\r\nHost: x\r\n\r\n")
	patience.Until(t, "he has all that he can have", func() bool { return held.Load() == 4 })
	for _, user := range []int{1002, 0} {
		if code, err := ask(t, s, user, "/held"); code != 200 {
			t.Errorf("user %d is told %d, %v", user, code, err)
		}
	}
	if code, _ := ask(t, s, 1001, "/held"); code != http.StatusTooManyRequests || held.Load() != 4 {
		t.Errorf("he has %d of 8, and is told %d", held.Load(), code)
	}
}

// A connection that asks for nothing ends, by whatever it takes its time.
func TestHeaderHasItsTime(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "GET / HTTP/1.1\r\nX-", streams(0, ""), streams(0, "") + frame(1, 0, 1, "")} {
		s := start(t, Options{Limits: Limits{Header: 50 * time.Millisecond, Idle: time.Hour}})
		besiege(t, s.Server, os.Getuid(), 3, text)
		patience.Until(t, fmt.Sprintf("those end who have sent %.30q", text), func() bool { return s.places.taken() == 0 })
	}
}

// Of those who never read, by whatever they ask, so many requests are held as the budget
// has room for, and who has to be answered is.
func TestRequestsOverTheWholeServer(t *testing.T) {
	t.Parallel()
	const memory = 2 << 20
	for _, path := range []string{"/", "/nothing", "/wait", "/large"} {
		s := prepared(t, Options{Limits: Limits{Memory: memory, Stall: time.Hour}})
		users(s.Server)
		s.begin(t)
		besiege(t, s.Server, 1001, 60, streams(100, path))
		if taken := memory - s.budget.Free(); taken > memory/2 {
			t.Errorf("%s: one user has taken %d of %d", path, taken, memory)
		}
		if code, err := ask(t, s, 0, "/"); code != 200 {
			t.Errorf("%s: root is told %d, %v", path, code, err)
		}
		if code, err := ask(t, s, 1002, "/"); code != 200 {
			t.Errorf("%s: another user is told %d, %v", path, code, err)
		}
		if n := len(s.told); n > mostTold {
			t.Errorf("%s: %d are being refused", path, n)
		}
	}
}

// Who has no token is refused few requests at a time, and his connections end. Then who has
// it is answered, though he asks from the same address, whose share was taken for a moment.
func TestWithoutTheToken(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Listen: "tcp:127.0.0.1:0", TokenFile: writeToken(t, token, 0o600), Limits: Limits{Connections: 50, Header: time.Hour, Stall: time.Hour}})
	all := besiege(t, s.Server, -1, 100, streams(100, "/"))
	// For a moment each request takes memory before it is refused.
	if taken := int64(s.opt.Limits.Memory) - s.budget.Free(); float64(taken) > listen.Share*float64(s.opt.Limits.Memory) {
		t.Errorf("who has no token has taken %d, more than the share of one address", taken)
	}
	givenBack := func() bool { return s.budget.Free() == int64(s.opt.Limits.Memory) }
	for _, c := range all {
		c.SetReadDeadline(time.Now().Add(patience.Stretch(10 * time.Second)))
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal("who has no token stays connected")
		}
	}
	patience.Until(t, "all that was taken is given back", givenBack)
	for range 5 {
		if code, text := s.get(t, "/", "Authorization", "Bearer "+token); code != http.StatusOK {
			t.Errorf("whoever has the token: %d %s", code, text)
		}
	}
	patience.Until(t, "all that was taken is given back", givenBack)
}

// A client that takes nothing is not listened to: what it says does not gather.
func TestWhoTakesNothingIsNotHeard(t *testing.T) {
	there, here := net.Pipe()
	defer there.Close()
	p := &places{most: 1, within: time.Hour}
	g := p.let(here, &listen.Who{Name: "x"}, func() {})
	defer g.Close()
	var wrote, read sync.WaitGroup
	wrote.Go(func() { g.Write([]byte("answer")) })
	patience.Until(t, "it is being written", func() bool { return len(g.sends) == 1 })
	heard := make(chan string, 1)
	read.Go(func() {
		b := make([]byte, 10)
		n, _ := g.Read(b)
		heard <- string(b[:n])
	})
	go there.Write([]byte("more"))
	select {
	case got := <-heard:
		t.Errorf("%q was heard", got)
	case <-time.After(20 * time.Millisecond):
	}
	b := make([]byte, 6)
	if _, err := io.ReadFull(there, b); err != nil || string(b) != "answer" {
		t.Errorf("%q, %v", b, err)
	}
	if got := <-heard; got != "more" {
		t.Errorf("%q", got)
	}
	wrote.Wait()
	read.Wait()
}

// A request by HTTP/2 is paid for before it is begun, however its bytes come; what only
// looks like one is not, and what never began is given back.
func TestRequestsArePaidForBeforeTheyBegin(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 9, 24, 1000} {
		b := budget.New(5 * asking)
		there, here := net.Pipe()
		p := &places{most: 1, within: time.Hour}
		g := p.let(here, &listen.Who{Name: "x", Owner: true}, func() {})
		g.requests = &requests{budget: b, client: budget.Client{Name: "x"}}
		like := frame(1, 5, 3, "") // the head of a request
		text := streams(1, "/") + frame(0, 0, 1, like) + frame(1, 5, 1, like) + frame(9, 4, 1, like)
		go io.WriteString(there, text)
		if _, err := io.ReadFull(&chunked{g, size}, make([]byte, len(text))); err != nil || b.Free() != 4*asking {
			t.Errorf("by %d: %v; one request, and %d are free of %d", size, err, b.Free(), 5*asking)
		}
		go io.WriteString(there, frame(1, 5, 3, "")+frame(1, 5, 5, "")+frame(1, 5, 7, "")+frame(1, 5, 9, "")+frame(1, 5, 11, ""))
		if said, err := io.ReadAll(&chunked{g, size}); err == nil || len(said) >= 5*9 || b.Free() != 5*asking {
			t.Errorf("by %d: of five requests more, of which one is too many, %d bytes are heard, then %v; %d are free", size, len(said), err, b.Free())
		}
		there.Close()
	}
}

// chunked reads so many bytes at a time.
type chunked struct {
	io.Reader
	size int
}

func (c *chunked) Read(b []byte) (int, error) { return c.Reader.Read(b[:min(len(b), c.size)]) }

// taken is how many places are.
func (p *places) taken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.in)
}

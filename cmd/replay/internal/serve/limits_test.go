package serve

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tachograph/testdata/patience"
)

// A part that is busy says so, and when to come again.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	res, err := s.client.Get("http://localhost/wait")
	if err != nil {
		t.Fatal(err)
	}
	if code, text := s.get(t, "/wait"); code != 429 || !strings.Contains(text, "try again") {
		t.Errorf("%d %s", code, text)
	}
	res.Body.Close()
	patience.Until(t, "there is room again", func() bool {
		res, err := s.client.Get("http://localhost/wait")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode == 200
	})
}

func TestConnections(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Limits: Limits{Connections: 3}})
	var open []net.Conn
	for range 3 {
		c, err := net.Dial("unix", s.listen.Path)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	c, err := net.Dial("unix", s.listen.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Errorf("a fourth one reads %d bytes", n)
	}
	open[0].Close()
	patience.Until(t, "there is room again", func() bool {
		res, err := s.client.Get("http://localhost/")
		if err != nil {
			return false
		}
		res.Body.Close()
		return true
	})
	for _, c := range open[1:] {
		c.Close()
	}
}

func TestRequestsAreBounded(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Limits: Limits{Request: 1000}})
	res, err := s.client.Post("http://localhost/echo", "text/plain", bytes.NewReader(make([]byte, 1000)))
	if err != nil || res.StatusCode != 200 {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(res.Body); len(b) != 1000 {
		t.Errorf("%d bytes of 1000, %v", len(b), err)
	}
	res, err = s.client.Post("http://localhost/echo", "text/plain", bytes.NewReader(make([]byte, 1<<20)))
	if err == nil {
		if b, _ := io.ReadAll(res.Body); len(b) > 1064 {
			t.Errorf("%d bytes are taken", len(b))
		}
	}
	// Who does not say what he asks is not waited for: by another server, for on a busy
	// machine these moments pass for who does as well.
	s = start(t, Options{Limits: Limits{Body: 50 * time.Millisecond, Header: 50 * time.Millisecond}})
	for _, text := range []string{"", "POST /echo HTTP/1.1\r\nHos", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc"} {
		c, err := net.Dial("unix", s.listen.Path)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, text)
		c.SetReadDeadline(time.Now().Add(patience.Stretch(time.Minute)))
		if _, err := io.ReadAll(c); err != nil && err.(net.Error).Timeout() {
			t.Errorf("%q: the server waits", text)
		}
		c.Close()
	}
}

// Clients that never read what they ask for hold a bounded amount of memory, and
// are let go of.
func TestClientsThatNeverRead(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2"} {
		t.Run(protocol, func(t *testing.T) {
			var bodies []io.Closer
			// A server that is patient has no room for more; one that is not makes some, on a
			// busy machine even before all of them are there.
			fill := func(stall time.Duration) *running {
				s := start(t, Options{Limits: Limits{Stall: stall}})
				client := s.client
				if protocol == "HTTP/2" {
					client = h2cOf(s.Server)
				}
				for range 8 {
					res, err := client.Get("http://localhost/large")
					if err == nil {
						bodies = append(bodies, res.Body)
					} else if stall == time.Hour {
						t.Fatal(err)
					}
				}
				return s
			}
			if code, _ := fill(time.Hour).get(t, "/large"); code != 429 {
				t.Errorf("one more: %d", code)
			}
			s := fill(time.Second)
			patience.Until(t, "they are let go of", func() bool {
				res, err := s.client.Get("http://localhost/large")
				if err != nil {
					return false
				}
				defer res.Body.Close()
				n, _ := io.Copy(io.Discard, res.Body)
				return res.StatusCode == 200 && n == 4<<20
			})
			for _, b := range bodies {
				b.Close()
			}
		})
	}
}

// flooded names the socket of the server that TestFlood starts as a program of its own.
const flooded = "TACHO_FLOODED"

// A flood of requests, many of them on connections that are never read from,
// leaves the memory of the server where the limits have it.
func TestFlood(t *testing.T) {
	if path := os.Getenv(flooded); path != "" {
		serveFlood(t, path)
		return
	}
	if testing.Short() {
		t.Skip("a flood takes a while")
	}
	t.Parallel()
	path := filepath.Join(shortDir(t), "s")
	server := exec.Command(os.Args[0], "-test.run=^TestFlood$", "-test.v")
	server.Env = append(os.Environ(), flooded+"="+path)
	var said bytes.Buffer
	server.Stdout, server.Stderr = &said, &said
	stdin, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	end := sync.OnceValue(func() error {
		stdin.Close()
		return server.Wait()
	})
	defer end()
	patience.Until(t, "the server listens", func() bool {
		c, err := net.Dial("unix", path)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	var flood sync.WaitGroup
	body := strings.Repeat("x", 200<<10)
	var requests [][]byte
	for _, path := range []string{"/large", "/echo", "/wait", "/grpc.health.v1.Health/Watch"} {
		requests = append(requests, fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body))
	}
	var taken atomic.Int64
	for i := range 400 {
		flood.Go(func() {
			c, err := net.Dial("unix", path)
			if err != nil {
				return
			}
			defer c.Close()
			c.SetDeadline(time.Now().Add(3 * time.Second)) // some would be kept for ever
			for k := range 50 {
				if k > 0 && i%len(requests) == 2 {
					time.Sleep(10 * time.Millisecond)
					continue // behind another request nobody sees that who waits has left
				}
				n, err := c.Write(requests[i%len(requests)])
				taken.Add(int64(n))
				if err != nil {
					return
				}
			}
		})
	}
	flood.Wait()
	err = end()
	t.Logf("it was sent %d MB\n%s", taken.Load()>>20, said.String())
	if err != nil {
		t.Error(err)
	}
}

// serveFlood serves at path until the input ends, and judges what that took.
func serveFlood(t *testing.T, path string) {
	const bound = 128 << 20
	// What is asked is what the server holds, not what the collector has not come to yet.
	debug.SetGCPercent(20)
	s := start(t, Options{Listen: "unix:" + path, Limits: Limits{Stall: time.Second}})
	var most uint64
	stop := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse+m.StackInuse)
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	io.Copy(io.Discard, os.Stdin)
	close(stop)
	watch.Wait()
	if t.Logf("at most %d MB", most>>20); most > bound {
		t.Error("that is too much")
	}
	patience.Until(t, "all is given back", func() bool { return s.budget.Free() == int64(s.opt.Limits.Memory) })
	if code, _ := s.get(t, "/"); code != http.StatusOK {
		t.Errorf("afterwards: %d", code)
	}
}

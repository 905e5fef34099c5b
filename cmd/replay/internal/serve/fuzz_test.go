package serve

import (
	"io"
	"net"
	"testing"
	"time"

	"tachograph/testdata/patience"
)

// Whatever a stranger sends, the server answers or closes the connection, goes on
// with others, and gives everything back.
func FuzzConnection(f *testing.F) {
	for _, s := range []string{
		"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"POST /grpc.health.v1.Health/Check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
		"POST /grpc.health.v1.Health/Check HTTP/1.1\r\nHost: x\r\nContent-Type: application/grpc\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n\x00\x00\x00\x00\x00\r\n0\r\n\r\n",
		"POST /grpc.health.v1.Health/Watch HTTP/1.1\r\nHost: x\r\nContent-Type: application/connect+json\r\nContent-Length: 7\r\n\r\n\x00\x00\x00\x00\x02{}",
		"POST /grpc.reflection.v1.ServerReflection/ServerReflectionInfo HTTP/1.1\r\nHost: x\r\nContent-Type: application/grpc-web+proto\r\nContent-Length: 9\r\n\r\n\x00\x00\x00\x00\x04\x3a\x02ab",
		"GET /echo HTTP/1.1\r\nHost: [::1]:\r\nOrigin: null\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x05\x01\x05\x00\x00\x00\x01\x82\x86\x84\x41\x00",
	} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	limits := Limits{Header: 5 * time.Second, Body: 100 * time.Millisecond, Idle: 5 * time.Second, Stall: time.Second}
	local := start(f, Options{Limits: limits})
	far := start(f, Options{Listen: "tcp:127.0.0.1:0", Limits: limits})
	f.Fuzz(func(t *testing.T, b []byte, byTCP bool) {
		s := local
		if byTCP {
			s = far
		}
		c, err := net.Dial(s.listener.Addr().Network(), s.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(patience.Stretch(time.Minute)))
		c.Write(b)
		if u, ok := c.(interface{ CloseWrite() error }); ok {
			u.CloseWrite()
		}
		if _, err := io.Copy(io.Discard, c); err != nil {
			if e, ok := err.(net.Error); ok && e.Timeout() {
				t.Fatal("the server keeps a connection that says nothing")
			}
		}
		if code, text := s.get(t, "/"); code != 200 {
			t.Fatalf("%d %s", code, text)
		}
		if n := local.panics.Load() + far.panics.Load(); int64(n) > purposes.Load() {
			t.Fatalf("%d panics, of which %d are on purpose", n, purposes.Load())
		}
		patience.Until(t, "all is given back", func() bool { return s.budget.Free() == int64(s.opt.Limits.Memory) })
	})
}

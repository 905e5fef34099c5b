package serve

import (
	"log/slog"
	"net"
	"sync"
	"time"
)

// Limits bound what clients can take. The zero value of each means its default.
type Limits struct {
	// Connections is how many there may be at a time; one more is closed at once.
	Connections int
	// Streams is how many requests one connection may have open.
	Streams int
	// Requests is how many requests of a part are answered at a time, where the
	// part does not say; one more is refused.
	Requests int
	// Request and Response are bytes of one message.
	Request, Response int
	// Memory is what requests and answers may take together, in bytes.
	Memory int
	// Header is the time for the head of a request, Body that for the rest of a
	// question, Idle that without any.
	Header, Body, Idle time.Duration
	// Stall is how long a client may take nothing of what is written to it.
	Stall time.Duration
	// Grace is how long requests may take to finish when the server is stopped.
	Grace time.Duration
}

func (l Limits) orDefaults() Limits {
	number := func(p *int, v int) {
		if *p <= 0 {
			*p = v
		}
	}
	span := func(p *time.Duration, v time.Duration) {
		if *p <= 0 {
			*p = v
		}
	}
	number(&l.Connections, 512)
	number(&l.Streams, 100)
	number(&l.Requests, 32)
	number(&l.Request, 256<<10)
	number(&l.Response, 4<<20) // what clients of gRPC take
	number(&l.Memory, 64<<20)
	span(&l.Header, 10*time.Second)
	span(&l.Body, 10*time.Second)
	span(&l.Idle, 2*time.Minute)
	span(&l.Stall, 30*time.Second)
	span(&l.Grace, 5*time.Second)
	return l
}

// A limitListener has no more than so many connections open.
type limitListener struct {
	net.Listener
	free chan struct{}
	log  *slog.Logger
	told time.Time
}

// Accept closes at once what is too much: a client that is refused knows, one
// that waits in the kernel's queue does not.
func (l *limitListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.free <- struct{}{}:
			return &limitedConn{Conn: c, release: sync.OnceFunc(func() { <-l.free })}, nil
		default:
			c.Close()
			if time.Since(l.told) > time.Minute {
				l.told = time.Now()
				l.log.Warn("too many connections: further ones are closed", "limit", cap(l.free))
			}
		}
	}
}

type limitedConn struct {
	net.Conn
	release func()
}

func (c *limitedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

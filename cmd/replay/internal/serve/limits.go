package serve

import "time"

// Limits bound what clients can use. A zero field means its default.
type Limits struct {
	// Connections is the most connections at a time; one more is closed at once. No client has
	// more than half of them, and the last are kept for root.
	Connections int
	// Streams is how many requests one connection may have open.
	Streams int
	// Requests is how many requests of a part are answered at a time, if the part does not set
	// it; one more is refused.
	Requests int
	// Request and Response are the largest messages, in bytes.
	Request, Response int
	// Memory is how many bytes requests and answers may take together.
	Memory int
	// Header is the time for the head of a request, and for a connection until its first allowed
	// request. Body is the time for the rest of a request. Idle is how long a connection may
	// have no request.
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
	number(&l.Response, 4<<20) // the default limit of gRPC clients
	number(&l.Memory, 64<<20)
	span(&l.Header, 10*time.Second)
	span(&l.Body, 10*time.Second)
	span(&l.Idle, 2*time.Minute)
	span(&l.Stall, 30*time.Second)
	span(&l.Grace, 5*time.Second)
	return l
}

package serve

import (
	"encoding/binary"
	"sync"

	"tachograph/cmd/internal/listen"
	"tachograph/cmd/replay/internal/serve/budget"
)

// forRoot is the part of the memory that is reserved for root.
const forRoot = 0.125

// shareOf returns the part of the budget that a client may use.
func shareOf(w *listen.Who) budget.Client {
	c := budget.Client{Name: w.Name, Share: listen.Share, Leave: forRoot}
	switch {
	case w.Root():
		c.Share, c.Leave = 0, 0
	case w.Owner:
		c.Share = 0
	}
	return c
}

// asking is the memory that every request takes: a goroutine, and buffers for reading and
// writing.
const asking = 32 << 10

// requests takes memory from the budget for the requests of one connection. It pays for a
// request of HTTP/2 when it reads the request's head, before the server starts a handler
// for it. One packet can start a hundred handlers, and thousands of handlers that only find
// out that there is no room would take more memory than the budget has.
type requests struct {
	budget *budget.Budget
	client budget.Client
	heads  heads

	mu   sync.Mutex
	paid []*budget.Account // for requests that have not begun yet
	left bool
}

// hear pays for the requests whose heads are in b, bytes that the client has sent.
func (r *requests) hear(b []byte) error {
	if r == nil {
		return nil
	}
	for range r.heads.count(b) {
		a, err := r.pay()
		if err != nil {
			return err
		}
		r.mu.Lock()
		r.paid = append(r.paid, a)
		gone := r.left
		r.mu.Unlock()
		if gone {
			r.leave()
		}
	}
	return nil
}

func (r *requests) pay() (*budget.Account, error) {
	a := r.budget.Open(r.client)
	return a, a.Take(asking)
}

// begin returns the account of a request that begins.
func (r *requests) begin() (*budget.Account, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.paid) > 0 {
		a := r.paid[0]
		r.paid = r.paid[1:]
		return a, nil
	}
	return r.pay()
}

// leave returns what was paid for requests that never began.
func (r *requests) leave() {
	if r == nil {
		return
	}
	r.mu.Lock()
	paid := r.paid
	r.paid, r.left = nil, true
	r.mu.Unlock()
	for _, a := range paid {
		a.Close()
	}
}

// preface is what an HTTP/2 client sends first.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// heads counts the requests that an HTTP/2 client begins, from the bytes that it sends: each is
// a frame with the head of a stream later than all before it. It need not know more of the
// protocol, because the server ends connections that break it.
type heads struct {
	said  int  // bytes of the preface so far
	other bool // it is not an HTTP/2 client
	head  [9]byte
	have  int    // bytes of a frame's head so far
	skip  int    // bytes left of a frame's payload
	last  uint32 // the last stream
}

// count continues with the next bytes from the client.
func (h *heads) count(b []byte) (begun int) {
	for len(b) > 0 && !h.other {
		switch {
		case h.said < len(preface):
			n := min(len(b), len(preface)-h.said)
			h.other = string(b[:n]) != preface[h.said:h.said+n]
			h.said += n
			b = b[n:]
		case h.skip > 0:
			n := min(len(b), h.skip)
			h.skip -= n
			b = b[n:]
		default:
			n := copy(h.head[h.have:], b)
			b = b[n:]
			if h.have += n; h.have < len(h.head) {
				break
			}
			h.have = 0
			h.skip = int(h.head[0])<<16 | int(h.head[1])<<8 | int(h.head[2])
			const headers = 1
			if id := binary.BigEndian.Uint32(h.head[5:]) &^ (1 << 31); h.head[3] == headers && id > h.last {
				h.last = id
				begun++
			}
		}
	}
	return begun
}

// Package budget bounds the memory that all requests take together. A request
// takes from the budget what it is about to need, and has given it all back when
// its answer has been written or given up. What is not there is refused: a client
// can come again, and a server that has run out of memory cannot.
package budget

import (
	"context"
	"sync"
	"time"

	"tachograph/cmd/replay/internal/status"
)

// A Budget is some bytes.
type Budget struct {
	mu          sync.Mutex
	total, free int64
	by          map[string]int64 // what the requests of each client have taken
	freed       chan struct{}    // closed when something is given back
}

// New is a budget of so many bytes.
func New(bytes int64) *Budget {
	return &Budget{total: bytes, free: bytes, by: make(map[string]int64), freed: make(chan struct{})}
}

// Free is what is left.
func (b *Budget) Free() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.free
}

// A Client is whom an account is for. All requests of one name have one share.
type Client struct {
	Name string
	// Share is how much of the budget all requests of the client may take together,
	// and Leave how much they leave for those who need not leave as much; both are
	// parts of 1, and a Share of 0 is all.
	Share, Leave float64
	// HangUp ends the connection of the request; nil where there is none.
	HangUp func()
}

// An Account is what one request has taken.
type Account struct {
	budget *Budget
	client Client
	taken  int64 // guarded by the budget's lock
	closed bool
}

type key struct{}

// Open opens the account of a request.
func (b *Budget) Open(ctx context.Context, c Client) (context.Context, *Account) {
	a := &Account{budget: b, client: c}
	return context.WithValue(ctx, key{}, a), a
}

// Of is the account of the request of ctx. Where there is none nothing is bounded: the
// methods of a nil Account take and give nothing.
func Of(ctx context.Context) *Account {
	a, _ := ctx.Value(key{}).(*Account)
	return a
}

// Close gives back what was taken; nothing can be taken afterwards.
func (a *Account) Close() {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	a.give(a.taken)
	a.closed = true
}

// Give gives back some of what was taken.
func (a *Account) Give(bytes int64) {
	if a == nil {
		return
	}
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	a.give(min(bytes, a.taken))
}

func (a *Account) give(bytes int64) {
	b := a.budget
	a.taken -= bytes
	b.free += bytes
	if b.by[a.client.Name] -= bytes; b.by[a.client.Name] == 0 {
		delete(b.by, a.client.Name)
	}
	close(b.freed)
	b.freed = make(chan struct{})
}

// take takes bytes if the client leaves a part of all to others; otherwise it says when
// something is given back.
func (a *Account) take(bytes int64, leave float64) (ok bool, freed <-chan struct{}) {
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	share := a.client.Share
	if share == 0 {
		share = 1
	}
	if a.closed || b.free-bytes < int64(float64(b.total)*leave) || b.by[a.client.Name]+bytes > int64(float64(b.total)*share) {
		return false, b.freed
	}
	b.free -= bytes
	b.by[a.client.Name] += bytes
	a.taken += bytes
	return true, nil
}

// Take takes bytes, or says to the client why there are none.
func (a *Account) Take(bytes int64) error {
	if a == nil {
		return nil
	}
	if ok, _ := a.take(bytes, a.client.Leave); !ok {
		return status.TooMany(time.Second, "the requests that are being answered take all the memory there is for them: try again in a second, or ask for less")
	}
	return nil
}

// forQuestions is the part of the budget that streams leave to who asks only once.
const forQuestions = 0.25

// Wait takes bytes for something to be sent in a stream, and waits until they are there:
// the next that is sent tells what was not sent meanwhile. More than a stream can ever
// get is refused.
func (a *Account) Wait(ctx context.Context, bytes int64) error {
	if a == nil {
		return nil
	}
	leave := max(a.client.Leave, forQuestions)
	if float64(bytes) > float64(a.budget.total)*(1-leave) || a.client.Share > 0 && float64(bytes) > float64(a.budget.total)*a.client.Share {
		return a.Take(a.budget.total + 1)
	}
	for {
		ok, freed := a.take(bytes, leave)
		if ok {
			return nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// While takes bytes for what somebody is waited for with, once that has lasted for a
// while, and ends the connection where there are none. What it returns ends this.
func (a *Account) While(after time.Duration, bytes int64) (done func()) {
	if a == nil {
		return func() {}
	}
	var mu sync.Mutex
	over, took := false, int64(0)
	timer := time.AfterFunc(after, func() {
		mu.Lock()
		defer mu.Unlock()
		if over {
			return
		}
		if a.Take(bytes) == nil {
			took = bytes
		} else if a.client.HangUp != nil {
			a.client.HangUp()
		}
	})
	return func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		over = true
		a.Give(took)
	}
}

// Take takes bytes for the request of ctx; without an account there is no bound.
func Take(ctx context.Context, bytes int64) error { return Of(ctx).Take(bytes) }

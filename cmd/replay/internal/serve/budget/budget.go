// Package budget limits the memory that all requests use together. A request takes what it
// is about to use and returns all of it once its answer is written or abandoned. A request
// that would exceed the budget is refused: its client can try again, while a server that
// ran out of memory cannot.
package budget

import (
	"context"
	"sync"
	"time"

	"tachograph/cmd/replay/internal/serve/status"
)

// A Budget is an amount of memory in bytes.
type Budget struct {
	mu          sync.Mutex
	total, free int64
	by          map[string]int64 // what the requests of each client hold
	freed       chan struct{}    // closed when something is returned
}

// New returns a budget of this many bytes.
func New(bytes int64) *Budget {
	return &Budget{total: bytes, free: bytes, by: make(map[string]int64), freed: make(chan struct{})}
}

// Free returns how much is left.
func (b *Budget) Free() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.free
}

// A Client is the owner of accounts. All requests of clients with the same name share one share.
type Client struct {
	Name string
	// Share is how much of the budget all requests of the client may take together. Leave is how
	// much they must leave for clients with a lower Leave. Both are fractions; a Share of 0
	// means all.
	Share, Leave float64
}

// An Account is what one request has taken.
type Account struct {
	budget *Budget
	client Client
	taken  int64 // guarded by the budget's lock
	closed bool
}

type key struct{}

// Open opens an account for a request.
func (b *Budget) Open(c Client) *Account { return &Account{budget: b, client: c} }

// In returns a context in which Of finds the account.
func (a *Account) In(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, a) }

// Of returns the account of the request of ctx. Without one there is no limit: the methods of a
// nil Account do nothing.
func Of(ctx context.Context) *Account {
	a, _ := ctx.Value(key{}).(*Account)
	return a
}

// Close returns everything that was taken; nothing can be taken afterwards.
func (a *Account) Close() {
	a.budget.mu.Lock()
	defer a.budget.mu.Unlock()
	a.give(a.taken)
	a.closed = true
}

// Give returns some of what was taken.
func (a *Account) Give(bytes int64) {
	if a == nil || bytes <= 0 {
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

// The parts of the budget, and of each client's share, that must stay free. What streams send
// leaves room for single requests, and what streams keep leaves room for what they send, too;
// otherwise all would wait for each other.
const (
	nothing = 0
	bySent  = 0.25
	byKept  = 0.5
)

// most returns how many bytes the client may have at a time, and how many it must leave.
func (a *Account) most(left float64) (most, leave int64) {
	part := a.client.Share
	if part == 0 {
		part = 1
	}
	total := float64(a.budget.total)
	return int64(total * part * (1 - left)), int64(total * max(left, a.client.Leave))
}

// take takes bytes if the client may have as many; otherwise it returns a channel that is closed
// when something is returned.
func (a *Account) take(bytes int64, left float64) (ok bool, freed <-chan struct{}) {
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	most, leave := a.most(left)
	if a.closed || b.free-bytes < leave || b.by[a.client.Name]+bytes > most {
		return false, b.freed
	}
	b.free -= bytes
	b.by[a.client.Name] += bytes
	a.taken += bytes
	return true, nil
}

// errShort returns the error for a client for which not enough memory is left.
func errShort() error {
	return status.TooMany(time.Second, "the requests that are being answered take all the memory there is for them: try again in a second, or ask for less")
}

// Take takes bytes, or returns an error for the client if there are not enough.
func (a *Account) Take(bytes int64) error {
	if a == nil {
		return nil
	}
	if ok, _ := a.take(bytes, nothing); !ok {
		return errShort()
	}
	return nil
}

// Keep is like Take, for memory that a stream keeps as long as it lasts.
func (a *Account) Keep(bytes int64) error {
	if a == nil {
		return nil
	}
	if ok, _ := a.take(bytes, byKept); !ok {
		return errShort()
	}
	return nil
}

// Wait takes bytes for a message of a stream, and waits until they are available: the next
// message has everything that was not sent meanwhile. It refuses more than a stream can ever
// get.
func (a *Account) Wait(ctx context.Context, bytes int64) error {
	if a == nil {
		return nil
	}
	if most, leave := a.most(bySent); bytes > min(most, a.budget.total-leave) {
		return errShort()
	}
	for {
		ok, freed := a.take(bytes, bySent)
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

// Take takes bytes for the request of ctx; without an account there is no limit.
func Take(ctx context.Context, bytes int64) error { return Of(ctx).Take(bytes) }

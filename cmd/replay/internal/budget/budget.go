// Package budget bounds the memory that all requests take together. A request
// takes from the budget what it is about to need, and has given it all back when
// its answer has been written or given up. What is not there is refused: a client
// can come again, and a server that has run out of memory cannot.
package budget

import (
	"context"
	"sync/atomic"
	"time"

	"tachograph/cmd/replay/internal/status"
)

// A Budget is some bytes.
type Budget struct{ free atomic.Int64 }

// New is a budget of so many bytes.
func New(bytes int64) *Budget {
	b := new(Budget)
	b.free.Store(bytes)
	return b
}

// Free is what is left.
func (b *Budget) Free() int64 { return b.free.Load() }

// An Account is what one request has taken.
type Account struct {
	budget *Budget
	taken  atomic.Int64
}

type key struct{}

// Open opens the account of a request.
func (b *Budget) Open(ctx context.Context) (context.Context, *Account) {
	a := &Account{budget: b}
	return context.WithValue(ctx, key{}, a), a
}

// Close gives back what was taken.
func (a *Account) Close() { a.budget.free.Add(a.taken.Swap(0)) }

// Take takes bytes, or says to the client why there are none.
func (a *Account) Take(bytes int64) error {
	if a.budget.free.Add(-bytes) < 0 {
		a.budget.free.Add(bytes)
		return status.TooMany(time.Second, "the requests that are being answered take all the memory there is for them: try again in a second, or ask for less")
	}
	a.taken.Add(bytes)
	return nil
}

// Take takes bytes for the request of ctx; without an account there is no bound.
func Take(ctx context.Context, bytes int64) error {
	if a, ok := ctx.Value(key{}).(*Account); ok {
		return a.Take(bytes)
	}
	return nil
}

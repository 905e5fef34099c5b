package listen

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
)

type whoKey struct{}

// With returns a context that carries the client w. Of reads it.
func With(ctx context.Context, w *Who) context.Context { return context.WithValue(ctx, whoKey{}, w) }

// Of reads the client from a context. A context without one belongs to a call that this
// program makes itself, so Of returns the user who runs the program.
func Of(ctx context.Context) *Who {
	if w, ok := ctx.Value(whoKey{}).(*Who); ok {
		return w
	}
	return &Who{Owner: true}
}

// Turns lets a few clients at a time do something that takes long, while others wait. No client
// has more than its share of the turns, or of the places in the queue. When a turn ends, the
// next one goes to root if root waits, else to the client whose last turn was the longest ago.
type Turns struct {
	most, waiting int

	mu      sync.Mutex
	running int
	by      map[string]int    // how many turns each client has
	last    map[string]uint64 // when each had its last turn, as a count of turns
	count   uint64
	queue   []*turn
}

// A turn is what one call of Take waits for.
type turn struct {
	who   *Who
	given chan struct{} // closed when the turn begins
}

// NewTurns allows most turns at a time, and a queue of at most waiting calls.
func NewTurns(most, waiting int) *Turns {
	return &Turns{most: most, waiting: waiting, by: make(map[string]int), last: make(map[string]uint64)}
}

// ErrTurns says that the queue is full, or that the client has its share of it.
var ErrTurns = errors.New("too many wait for their turn")

// Take waits for a turn, which lasts until leave is called.
func (t *Turns) Take(ctx context.Context, w *Who) (leave func(), err error) {
	mine := &turn{w, make(chan struct{})}
	t.mu.Lock()
	if !t.give(mine) {
		waits := 0
		for _, other := range t.queue {
			if other.who.Name == w.Name {
				waits++
			}
		}
		if ok, _ := w.Room(t.waiting, len(t.queue), waits); !ok {
			t.mu.Unlock()
			return nil, ErrTurns
		}
		t.queue = append(t.queue, mine)
	}
	t.mu.Unlock()
	leave = sync.OnceFunc(func() { t.leave(mine) })
	select {
	case <-mine.given:
		return leave, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}

// give starts a turn if one is free for its client. The caller holds t.mu.
func (t *Turns) give(to *turn) bool {
	w := to.who
	if t.running >= t.most || !w.Root() && !w.Owner && t.by[w.Name] >= max(1, int(float64(t.most)*Share)) {
		return false
	}
	t.running++
	t.by[w.Name]++
	t.count++
	t.last[w.Name] = t.count
	close(to.given)
	return true
}

// leave ends a turn, or takes it out of the queue, and starts the next one.
func (t *Turns) leave(mine *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.queue, mine); i >= 0 {
		t.queue = slices.Delete(t.queue, i, i+1)
		return
	}
	t.running--
	if t.by[mine.who.Name]--; t.by[mine.who.Name] == 0 {
		delete(t.by, mine.who.Name)
	}
	order := slices.Clone(t.queue)
	slices.SortStableFunc(order, func(a, b *turn) int {
		if a.who.Root() != b.who.Root() {
			if a.who.Root() {
				return -1
			}
			return 1
		}
		return cmp.Compare(t.last[a.who.Name], t.last[b.who.Name])
	})
	for _, next := range order {
		if t.give(next) {
			t.queue = slices.Delete(t.queue, slices.Index(t.queue, next), slices.Index(t.queue, next)+1)
			break
		}
	}
	if len(t.queue) == 0 {
		clear(t.last) // the order of past turns no longer matters
	}
}

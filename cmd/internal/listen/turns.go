package listen

import (
	"context"
	"errors"
	"slices"
	"sync"
)

type whoKey struct{}

// With has Of find in what is derived of ctx who asks.
func With(ctx context.Context, w *Who) context.Context { return context.WithValue(ctx, whoKey{}, w) }

// Of is who asks; where nobody says so it is who runs this.
func Of(ctx context.Context) *Who {
	if w, ok := ctx.Value(whoKey{}).(*Who); ok {
		return w
	}
	return &Who{Owner: true}
}

// Turns are those of clients at something of which little is done at a time, and which
// takes long. No client has more than his share of the turns and of the places of those who
// wait. When one is free root is next, then who had none for longest.
type Turns struct {
	most, waiting int

	mu      sync.Mutex
	running int
	by      map[string]int    // turns that each client has
	last    map[string]uint64 // when each had his last one, as numbers of turns
	count   uint64
	queue   []*turn
}

// A turn is one that somebody waits for.
type turn struct {
	who   *Who
	given chan struct{} // closed when it is his
}

// NewTurns are so many at a time, for which so many may wait.
func NewTurns(most, waiting int) *Turns {
	return &Turns{most: most, waiting: waiting, by: make(map[string]int), last: make(map[string]uint64)}
}

// ErrTurns says that too many wait already.
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

// give gives somebody a turn if there is one for him; t.mu is held.
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

// leave ends a turn, or that somebody waits for it.
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
		switch {
		case a.who.Root() != b.who.Root():
			return map[bool]int{true: -1, false: 1}[a.who.Root()]
		case t.last[a.who.Name] < t.last[b.who.Name]:
			return -1
		case t.last[a.who.Name] > t.last[b.who.Name]:
			return 1
		}
		return 0
	})
	for _, next := range order {
		if t.give(next) {
			t.queue = slices.Delete(t.queue, slices.Index(t.queue, next), slices.Index(t.queue, next)+1)
			break
		}
	}
	if len(t.queue) == 0 {
		clear(t.last) // nobody is before anybody
	}
}

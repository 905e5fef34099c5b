package live

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"tachograph/store/archive"
	"tachograph/store/follow"
	"tachograph/store/query"
)

// A Follower delivers what is recorded: a *follow.Follower.
type Follower interface {
	Next(context.Context) (archive.Item, error)
	Position() follow.Position
	Close() error
}

// Options say what a Hub follows.
type Options struct {
	// Open opens a follower at from. If from is zero, it opens one at the present end, which
	// first delivers the standing values (follow.Options.Standing).
	Open func(from follow.Position) (Follower, error)
	// Distrusted returns what was distrusted at the end of the recording; nil: nothing was. It
	// is called once a follower is open, which delivers what changes from then on.
	Distrusted func() (query.Distrusted, error)
	// Linger is how long the archive is still followed after its last user has gone; 0: a
	// minute. Following costs little, but not following costs nothing.
	Linger time.Duration
}

// ringSize is how many steps are kept for slower users. A step has only the values that changed.
// Older steps are merged.
const ringSize = 64

// mostPast is how many followed archives are remembered.
const mostPast = 1000

// A Hub follows an archive while it has users.
type Hub struct {
	opt Options

	mu      sync.Mutex
	ring    [ringSize]*step
	last    uint64        // number of the last step; they are numbered from 1
	session uint64        // counts how often the follower was opened
	reached bool          // the present has been reached in this session
	news    chan struct{} // closed when any of these fields changes
	err     error         // why the hub does not follow
	past    []string      // archives that were followed in this session, including the last
	users   int           // how many users there are
	used    time.Time     // when the last user went
	wanted  chan struct{} // has room for one: there is a user
}

// NewHub returns a hub that does nothing until Run is called.
func NewHub(opt Options) *Hub {
	if opt.Linger == 0 {
		opt.Linger = time.Minute
	}
	return &Hub{opt: opt, news: make(chan struct{}), wanted: make(chan struct{}, 1)}
}

// ErrStopped is the error of a hub that does not run any more.
var ErrStopped = errors.New("the server stops")

// Run follows the archive, while the hub has users, until ctx ends.
func (h *Hub) Run(ctx context.Context) error {
	defer h.change(func() { h.err, h.reached = ErrStopped, false })
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-h.wanted:
		}
		for wait := firstWait; h.needed(); wait = min(2*wait, lastWait) {
			began := time.Now()
			err := h.follow(ctx)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err == nil {
				break // no users are left
			}
			h.change(func() { h.err, h.reached = err, false })
			if time.Since(began) > lastWait {
				wait = firstWait
			}
			select {
			case <-ctx.Done():
			case <-time.After(wait):
			}
		}
	}
}

// The shortest and the longest pause before a retry.
const (
	firstWait = 100 * time.Millisecond
	lastWait  = 5 * time.Second
)

// change changes the fields under the lock and wakes the waiting users.
func (h *Hub) change(fn func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fn()
	close(h.news)
	h.news = make(chan struct{})
}

// needed reports whether the hub has users, or had one less than Linger ago.
func (h *Hub) needed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.users > 0 || time.Since(h.used) < h.opt.Linger
}

// follow follows until the hub is not needed, or something fails.
func (h *Hub) follow(ctx context.Context) error {
	f, err := h.opt.Open(follow.Position{})
	if err != nil {
		return err
	}
	defer f.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch := time.NewTicker(max(h.opt.Linger/4, time.Millisecond))
	defer watch.Stop()
	idle := make(chan struct{})
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-watch.C:
				if !h.needed() {
					close(idle)
					cancel()
					return
				}
			}
		}
	}()
	a := newAssembler(nil)
	if h.opt.Distrusted != nil {
		if a.state.Distrusted, err = h.opt.Distrusted(); err != nil {
			return err
		}
	}
	h.change(func() {
		h.session++
		h.ring, h.past = [ringSize]*step{}, nil
	})
	for {
		it, err := f.Next(ctx)
		if err != nil {
			select {
			case <-idle:
				h.change(func() { h.reached = false })
				return nil
			default:
			}
			return err
		}
		if it.Present && it.Tick == nil && it.Event == nil && it.Lost == nil && it.Archive == a.source && h.isReached() {
			continue
		}
		s := a.take(&it, f.Position())
		h.change(func() { h.push(s, it.Present) })
	}
}

func (h *Hub) isReached() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reached
}

func (h *Hub) push(s *step, present bool) {
	h.err = nil
	if id := s.Position.Archive; len(h.past) == 0 || h.past[len(h.past)-1] != id {
		h.past = append(h.past, id)
		h.past = h.past[max(0, len(h.past)-mostPast):]
	}
	h.last++
	h.ring[h.last%ringSize] = s
	h.reached = h.reached || present
}

// Use makes the hub follow until release is called.
func (h *Hub) Use() (release func()) {
	h.mu.Lock()
	h.users++
	h.mu.Unlock()
	select {
	case h.wanted <- struct{}{}:
	default:
	}
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.users--
		h.used = time.Now()
	})
}

// Now returns the present state. It waits until that is known, or cannot be.
func (h *Hub) Now(ctx context.Context) (*State, error) {
	defer h.Use()()
	s, _, err := h.attach(ctx)
	return s, err
}

// A cursor is a user's place in the steps of a hub.
type cursor struct{ session, seq uint64 }

// Next returns the next state after s. It waits until ctx ends.
func (h *Hub) Next(ctx context.Context, s *State) (*State, error) {
	defer h.Use()()
	for {
		h.mu.Lock()
		news := h.news
		h.mu.Unlock()
		if now, _, err := h.attach(ctx); err != nil || now != s {
			return now, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-news:
		}
	}
}

// attach returns the present state and the cursor behind it. It waits until the hub has reached
// the present.
func (h *Hub) attach(ctx context.Context) (*State, cursor, error) {
	for {
		h.mu.Lock()
		news, err, reached := h.news, h.err, h.reached
		s, at := h.ring[h.last%ringSize], cursor{h.session, h.last}
		h.mu.Unlock()
		switch {
		case reached && s != nil:
			return s.State, at, nil
		case err != nil:
			return nil, at, err
		}
		select {
		case <-ctx.Done():
			return nil, at, context.Cause(ctx)
		case <-news:
		}
	}
}

// The errors of next.
var (
	errAnew = errors.New("the archive is followed anew") // there may be a gap
	errTime = errors.New("nothing happened")
)

// next appends the steps behind c to buf, and waits until there is one or the timer has run out.
// A user too slow for some of the steps gets none, but the latest state.
func (h *Hub) next(ctx context.Context, c *cursor, buf []*step, timer <-chan time.Time) ([]*step, *State, error) {
	for {
		h.mu.Lock()
		news, err, last := h.news, h.err, h.last
		switch {
		case err != nil && errors.Is(err, ErrStopped):
		case c.session != h.session:
			err = errAnew
		case last-c.seq > ringSize:
			c.seq = last
			s := h.ring[last%ringSize]
			h.mu.Unlock()
			return buf, s.State, nil
		default:
			err = nil
			for ; c.seq < last; c.seq++ {
				buf = append(buf, h.ring[(c.seq+1)%ringSize])
			}
		}
		h.mu.Unlock()
		if err != nil || len(buf) > 0 {
			return buf, nil, err
		}
		select {
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		case <-timer:
			return nil, nil, errTime
		case <-news:
		}
	}
}

// trouble returns why the hub does not follow at present; nil if it does.
func (h *Hub) trouble() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// passed reports whether an archive was followed before the present one.
func (h *Hub) passed(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.Index(h.past, id)
	return i >= 0 && i < len(h.past)-1
}

package livepage

import (
	"context"
	"errors"
	"sync"
	"time"

	"tachograph/cmd/internal/listen"
	"tachograph/cmd/replay/internal/serve/status"
)

// A shelf keeps answers for a while, and makes each once for all clients that ask for it at the
// same time.
type shelf struct {
	longest time.Duration // how long making an answer may take
	hold    func(took time.Duration) time.Duration
	most    int // bytes that are kept at most
	turns   *listen.Turns

	mu    sync.Mutex
	items map[string]*item
}

// item is an answer that is being made, or was made.
type item struct {
	done  chan struct{} // closed when it is made
	users int           // how many clients wait for it
	stop  context.CancelFunc
	body  []byte
	err   error
	until time.Time // how long it is kept
}

// get returns the answer for a key from the shelf, or makes it.
func (s *shelf) get(ctx context.Context, key string, make func(context.Context) ([]byte, error)) ([]byte, error) {
	s.mu.Lock()
	it := s.items[key]
	if it != nil && isClosed(it.done) && time.Now().After(it.until) {
		delete(s.items, key)
		it = nil
	}
	if it == nil {
		it = s.begin(key, listen.Of(ctx), make)
	}
	it.users++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if it.users--; it.users == 0 && !isClosed(it.done) {
			it.stop() // No client waits for it any more.
			if s.items[key] == it {
				delete(s.items, key)
			}
		}
	}()
	select {
	case <-it.done:
		return it.body, it.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// begin starts making an answer; s.mu is held.
func (s *shelf) begin(key string, who *listen.Who, make func(context.Context) ([]byte, error)) *item {
	ctx, stop := context.WithTimeoutCause(context.Background(), s.longest, errTooLong)
	it := &item{done: newDone(), stop: stop}
	if s.items == nil {
		s.items = map[string]*item{}
	}
	s.items[key] = it
	go func() {
		defer stop()
		var body []byte
		began := time.Now()
		leave, err := s.turns.Take(ctx, who)
		switch {
		case errors.Is(err, listen.ErrTurns):
			err = status.TooMany(time.Second, "as many windows are being read as there may be at a time, and others wait: try again in a second")
		case err == nil:
			began = time.Now()
			body, err = made(ctx, make)
			leave()
		}
		if cause := context.Cause(ctx); cause != nil && (err != nil || body == nil) {
			err = cause
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		it.body, it.err = body, err
		it.until = time.Now().Add(s.hold(time.Since(began)))
		if err != nil && s.items[key] == it {
			delete(s.items, key)
		}
		s.tidy()
		close(it.done)
	}()
	return it
}

func newDone() chan struct{} { return make(chan struct{}) }

// errTooLong says that a window took too long to read.
var errTooLong = errors.New("this window takes too long to read: choose a shorter one")

// errBroken says that making an answer panicked.
var errBroken = errors.New("this program failed at this window, which is a mistake of the program; please report it")

// made calls make and recovers from its panics: the archive may be of unknown origin, and must
// not harm other pages.
func made(ctx context.Context, make func(context.Context) ([]byte, error)) (body []byte, err error) {
	defer func() {
		if recover() != nil {
			body, err = nil, errBroken
		}
	}()
	return make(ctx)
}

// tidy removes expired answers, and the oldest if there are too many; s.mu is held.
func (s *shelf) tidy() {
	now, kept := time.Now(), 0
	for key, it := range s.items {
		if !isClosed(it.done) && it.body == nil && it.err == nil {
			continue
		}
		if now.After(it.until) {
			delete(s.items, key)
			continue
		}
		kept += len(it.body)
	}
	for kept > s.most {
		oldest := ""
		for key, it := range s.items {
			if it.body != nil && (oldest == "" || it.until.Before(s.items[oldest].until)) {
				oldest = key
			}
		}
		if oldest == "" {
			return
		}
		kept -= len(s.items[oldest].body)
		delete(s.items, oldest)
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

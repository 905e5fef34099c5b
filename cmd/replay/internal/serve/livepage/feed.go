package livepage

import (
	"context"
	"errors"
	"sync"
	"time"

	"tachograph/cmd/replay/internal/serve/live"
	"tachograph/sample/metric"
	"tachograph/store/recent"
)

// A feed keeps the last minutes of what is recorded while pages ask for it.
type feed struct {
	open   func() (live.Follower, error)
	linger time.Duration // how long it continues after the last request
	keep   recent.Keep

	mu      sync.Mutex
	archive *recent.Archive // nil while it does not run
	stop    func()          // ends it
	used    time.Time
	err     error // why nothing is delivered
}

// use keeps the feed running for a while. It runs until ctx ends at the latest.
func (f *feed) use(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.used = time.Now()
	if f.archive == nil && ctx.Err() == nil {
		ctx, stop := context.WithCancel(ctx)
		f.archive, f.stop = recent.New(f.keep), stop
		go f.run(ctx)
		go f.watch(ctx)
	}
}

// with calls fn with what is kept. Nothing is added to it meanwhile.
func (f *feed) with(fn func(*recent.Archive) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.archive == nil {
		return errors.New("nothing is followed")
	}
	if f.err != nil {
		return f.err
	}
	return fn(f.archive)
}

// retry is how long to wait after a failure.
const retry = 2 * time.Second

// run follows until ctx ends, and tries again after failures.
func (f *feed) run(ctx context.Context) {
	for {
		err := f.follow(ctx)
		f.mu.Lock()
		ended := ctx.Err() != nil
		if !ended {
			// There may be a gap before what comes next.
			f.err, f.archive = err, recent.New(f.keep)
		}
		f.mu.Unlock()
		if ended {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(retry):
		}
	}
}

// watch ends the feed when it has not been used for a while.
func (f *feed) watch(ctx context.Context) {
	look := time.NewTicker(max(f.linger/4, time.Millisecond))
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
		case <-look.C:
		}
		f.mu.Lock()
		if ctx.Err() != nil || time.Since(f.used) > f.linger {
			f.stop() // with the lock held, so that the next user starts anew
			f.archive, f.err = nil, nil
			f.mu.Unlock()
			return
		}
		f.mu.Unlock()
	}
}

func (f *feed) follow(ctx context.Context) error {
	src, err := f.open()
	if err != nil {
		return err
	}
	defer src.Close()
	for {
		it, err := src.Next(ctx)
		if err != nil {
			return err
		}
		f.mu.Lock()
		if ctx.Err() != nil {
			f.mu.Unlock()
			return ctx.Err()
		}
		f.err = nil
		f.archive.Add(&it)
		f.mu.Unlock()
	}
}

// reach returns the span of what is kept: from where on nothing is missing, to the last reading;
// ok is false if there is none.
func reach(a *recent.Archive) (from, to int64, ok bool) {
	for _, c := range []metric.Class{metric.Fast, metric.Process, metric.Polled} {
		if _, _, last, any := a.Last(c); any {
			from, to, ok = max(from, a.Since(c)), max(to, last), true
		}
	}
	return from, to, ok
}

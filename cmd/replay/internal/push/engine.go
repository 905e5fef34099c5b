package push

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/internal/pushstate"
	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/follow"
)

// A Follower delivers what is recorded: *follow.Follower.
type Follower interface {
	Next(context.Context) (archive.Item, error)
	Position() follow.Position
	Close() error
}

// Options say what is pushed where.
type Options struct {
	// Target is the address, without the secrets in it.
	Target string
	Sink   Sink
	// Open follows what is recorded from a position on; with standing it begins with the standing
	// values at that position.
	Open func(from follow.Position, standing bool) (Follower, error)
	// Oldest returns the position before the first archive that has anything recorded after an
	// instant, and when that archive begins; ok is false if there is none.
	Oldest func(after int64) (at follow.Position, from int64, ok bool, err error)
	// Archives are the paths that are pushed; the push writes them into its state.
	Archives []string
	// State is the file of the state; its directory exists.
	State string
	// Forever follows what is being recorded; else only what is recorded by now is pushed.
	Forever bool
	// Since is the wall clock before which nothing is pushed.
	Since int64
	// A batch is complete with this many values or bytes, or at this age; 0: see Default.
	MaxValues, MaxBytes int
	MaxAge              time.Duration
	// Again pushes only what was refused and set aside.
	Again bool
	// StopRefused ends the push at the first refused batch, which else is set aside.
	StopRefused bool
	// GiveUp is how long attempts may fail; 0: forever.
	GiveUp time.Duration
	// Note gets what the user should know, a sentence at a time.
	Note func(text string)
	// Progress, if set, is called after each batch.
	Progress func(pushstate.State)
}

// Default are the bounds of a batch where the Options set none.
var Default = struct {
	MaxValues, MaxBytes int
	MaxAge              time.Duration
}{50_000, 8 << 20, 5 * time.Second}

// The upper bounds of the pause after a failure: the first one, which doubles with each failure,
// and the longest.
const (
	firstPause   = 250 * time.Millisecond
	longestPause = time.Minute
	// slowPause is for failures that a person has to fix.
	slowPause        = 15 * time.Second
	longestSlowPause = 5 * time.Minute
	longestAsked     = time.Hour // the longest pause that a receiver may ask for
)

// parting is how long a batch that is being sent may still take when this program is to end.
const parting = 700 * time.Millisecond

// An Engine pushes to one receiver.
type Engine struct {
	opt      Options
	state    pushstate.State
	recorded atomic.Int64  // wall clock of the latest item that was read
	waiting  atomic.Uint64 // values in batches that are ready and not yet sent
	lost     chan error
	told     map[string]time.Time // when each note was last given
	failing  time.Time            // when attempts began to fail; zero: they do not
	written  time.Time
}

// New makes an Engine.
func New(opt Options) *Engine {
	if opt.MaxValues <= 0 {
		opt.MaxValues = Default.MaxValues
	}
	if opt.MaxBytes <= 0 {
		opt.MaxBytes = Default.MaxBytes
	}
	if opt.MaxAge <= 0 {
		opt.MaxAge = Default.MaxAge
	}
	if opt.Note == nil {
		opt.Note = func(string) {}
	}
	return &Engine{opt: opt, lost: make(chan error, 64), told: make(map[string]time.Time)}
}

// State returns the state, as it is after Run.
func (e *Engine) State() pushstate.State { return e.state }

// Run pushes until all is acknowledged or, if Forever, until ctx ends. It then returns the error
// of ctx.
func (e *Engine) Run(ctx context.Context) (err error) {
	unlock, err := pushstate.Lock(e.opt.State)
	if err != nil {
		return err
	}
	defer unlock()
	from, end, err := e.begin()
	if err != nil {
		return err
	}
	defer func() {
		e.state.Ended = true
		e.state.PID = 0
		if err != nil && ctx.Err() == nil {
			e.state.LastError, e.state.LastErrorAt, e.state.Failing = shortened(err.Error()), time.Now(), true
		}
		err = errors.Join(err, e.write())
	}()
	if err := e.write(); err != nil {
		return err
	}
	if err := e.attempts(ctx, e.opt.Sink.Prepare); err != nil {
		return err
	}
	if e.opt.Again {
		return e.repeat(ctx)
	}
	f, from, end, err := e.open(from, end)
	if err != nil {
		return err
	}
	defer f.Close()
	batches, stop := newGatherer(e, f, from, end).start(ctx)
	err = e.deliver(ctx, batches)
	if gathered := stop(); err == nil {
		err = gathered
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// begin reads the state, and finds where to continue.
func (e *Engine) begin() (from follow.Position, end *follow.Position, err error) {
	old, err := pushstate.Read(e.opt.State)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return from, nil, err
	case old.Target != e.opt.Target:
		return from, nil, fmt.Errorf("%s is the state of a push to %s: give this one a --state of its own", e.opt.State, old.Target)
	default:
		e.state = *old
		if from, err = follow.ParsePosition(old.Acked); err != nil {
			return from, nil, fmt.Errorf("%s: %w", e.opt.State, err)
		}
		if old.InFlight != "" {
			to, err := follow.ParsePosition(old.InFlight)
			if err != nil || to.Archive != from.Archive {
				return from, nil, fmt.Errorf("%s is damaged: remove it to begin anew", e.opt.State)
			}
			end = &to
		}
	}
	s := &e.state
	s.Target, s.PID, s.Began, s.Ended, s.Failing = e.opt.Target, os.Getpid(), time.Now(), false, false
	if e.opt.Again {
		return from, end, nil // the position of the ordinary pushes stays
	}
	s.Follow, s.Archives, s.Waiting = e.opt.Forever, e.opt.Archives, 0
	if from.Archive == "" {
		s.Since = e.opt.Since
	}
	e.opt.Since = s.Since
	return from, end, nil
}

// open follows what is recorded from a position on. If that position is gone or was never known,
// it begins with the oldest archive after it.
func (e *Engine) open(from follow.Position, end *follow.Position) (Follower, follow.Position, *follow.Position, error) {
	_, standing := e.opt.Sink.(Standing)
	if from.Archive != "" {
		f, err := e.opt.Open(from, standing)
		if err == nil || !errors.Is(err, follow.ErrGone) {
			return f, from, end, err
		}
	}
	// What the receiver had not acknowledged of a removed archive is lost.
	if from.Archive != "" {
		e.opt.Since = max(e.opt.Since, e.state.AckedWall+1)
		e.state.Since = e.opt.Since
	}
	after := e.opt.Since
	at, begins, ok, err := e.opt.Oldest(after)
	switch {
	case err != nil:
		return nil, from, nil, err
	case from.Archive != "" && ok:
		e.lose(fmt.Errorf("what was recorded from %s to %s was removed before it was pushed", when(e.state.AckedWall), when(begins)))
	case from.Archive != "":
		e.lose(fmt.Errorf("the archive that was pushed until %s is not there any more, and nothing was recorded since", when(e.state.AckedWall)))
	}
	e.state.InFlight = ""
	f, err := e.opt.Open(at, standing)
	return f, at, nil, err
}

func when(wall int64) string {
	if wall == 0 {
		return "the beginning"
	}
	return time.Unix(0, wall).Format(time.RFC3339)
}

// deliver sends batch after batch.
func (e *Engine) deliver(ctx context.Context, batches <-chan *ready) error {
	beat := time.NewTicker(pushstate.Beat)
	defer beat.Stop()
	for {
		select {
		case r, ok := <-batches:
			if !ok {
				return nil
			}
			if err := e.sendAll(ctx, r, batches); err != nil {
				return err
			}
		case err := <-e.lost:
			e.lose(err)
		case <-beat.C:
			if err := e.write(); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// sendAll sends a batch, and the batches that are ready by then. It writes the state before
// each, which also says that the previous one was acknowledged, and after the last.
func (e *Engine) sendAll(ctx context.Context, r *ready, batches <-chan *ready) error {
	for r != nil {
		if err := e.send(ctx, r); err != nil {
			return err
		}
		select {
		case r = <-batches:
			continue
		default:
			r = nil
		}
	}
	return e.write()
}

// send sends a batch until it is acknowledged or refused.
func (e *Engine) send(ctx context.Context, r *ready) error {
	s := &e.state
	if a := r.id.Archive; a != nil { // nil if nothing was read from it, only the position moved
		s.Host, s.Name = a.Host.ID, a.Host.Name
	}
	s.Acked = r.id.From.String()
	var refused *Refused
	if r.batch != nil {
		s.InFlight = r.id.To.String()
		if err := e.write(); err != nil {
			return err
		}
		var err error
		if refused, err = e.offer(ctx, r); err != nil {
			return err
		}
	}
	e.waiting.Add(-uint64(r.made))
	s.Acked, s.InFlight = r.id.To.String(), ""
	s.AckedWall = max(s.AckedWall, r.until)
	if refused != nil {
		e.setAside(r, refused)
	} else if r.batch != nil {
		if took := float64(r.until-r.since) / 1e9; took > 1 {
			s.Rate = float64(r.made) / took
		}
		e.taken(r)
	}
	if e.opt.Progress != nil {
		e.opt.Progress(*s)
	}
	return nil
}

// offer sends a batch until the receiver acknowledges all of it, acknowledges all but a part, or
// refuses it.
func (e *Engine) offer(ctx context.Context, r *ready) (refused *Refused, err error) {
	s := &e.state
	err = e.attempts(ctx, r.batch.Send)
	var partial *Partial
	switch {
	case errors.As(err, &partial):
		s.RefusedValues += uint64(max(partial.Values, 0))
		r.values -= min(r.values, partial.Values)
		e.noteAs("partial "+err.Error(), fmt.Sprintf("%s took a batch but for %s: %v", e.opt.Target, cli.Count(partial.Values, "value"), err))
		s.LastError, s.LastErrorAt = shortened(err.Error()), time.Now()
		return nil, nil
	case errors.As(err, &refused) && e.opt.StopRefused:
		return nil, fmt.Errorf("%s refused what was recorded from %s to %s, which comes first when this is run again: %w", e.opt.Target, when(r.since), when(r.until), err)
	case refused != nil:
		return refused, nil
	}
	return nil, err
}

// taken counts a batch that was acknowledged.
func (e *Engine) taken(r *ready) {
	e.state.Values += uint64(r.values)
	e.state.Bytes += uint64(r.bytes)
	e.state.Batches++
}

// setAside notes the position of a refused batch in the recording, which still has the values.
func (e *Engine) setAside(r *ready, why error) {
	s := &e.state
	s.Refused++
	s.RefusedValues += uint64(r.values)
	s.LastError, s.LastErrorAt = shortened(why.Error()), time.Now()
	s.Set = append(s.Set, pushstate.Range{From: r.id.From.String(), To: r.id.To.String(), Since: r.since, Until: r.until,
		Values: uint64(r.values), Why: shortened(why.Error()), At: time.Now()})
	s.Set = s.Set[max(0, len(s.Set)-pushstate.MostRanges):]
	e.noteAs("refused "+why.Error(), fmt.Sprintf("%s refused %s, which are set aside: %v", e.opt.Target, cli.Count(r.values, "value"), why))
}

// attempts calls fn until it succeeds, or fails for good.
func (e *Engine) attempts(ctx context.Context, fn func(context.Context) error) error {
	soon, stop := e.parting(ctx)
	defer stop()
	e.failing = time.Time{}
	for n := 0; ; n++ {
		err := fn(soon)
		var retry *Retry
		var refused *Refused
		var partial *Partial
		var fatal *Fatal
		switch {
		case err == nil || errors.As(err, &partial) || errors.As(err, &refused):
			e.recovered(n)
			return err
		case errors.As(err, &fatal):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
		errors.As(err, &retry)
		if err := e.failed(ctx, n, err, retry); err != nil {
			return err
		}
	}
}

// parting returns a context that ends a moment after ctx, so that a batch being sent may arrive.
func (e *Engine) parting(ctx context.Context) (context.Context, func()) {
	soon, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(parting, cancel) })
	return soon, func() { stop(); cancel() }
}

// failed notes that attempt n failed, and waits.
func (e *Engine) failed(ctx context.Context, n int, err error, retry *Retry) error {
	s := &e.state
	now := time.Now()
	if e.failing.IsZero() {
		e.failing = now
	}
	s.Retries++
	s.LastError, s.LastErrorAt, s.Failing = shortened(err.Error()), now, true
	e.note(fmt.Sprintf("%s: %v; it is tried again", e.opt.Target, err))
	if e.opt.GiveUp > 0 && now.Sub(e.failing) >= e.opt.GiveUp {
		return fmt.Errorf("%s: %w; given up after %s: what was acknowledged is remembered, and the next push goes on from there", e.opt.Target, err, e.opt.GiveUp)
	}
	if now.Sub(e.written) >= time.Second { // so that a status command sees it
		if err := e.write(); err != nil {
			return err
		}
	}
	timer := time.NewTimer(pause(n, retry))
	defer timer.Stop()
	beat := time.NewTicker(pushstate.Beat)
	defer beat.Stop()
	for {
		select {
		case <-timer.C:
			return nil
		case <-beat.C:
			if err := e.write(); err != nil {
				return err
			}
		case err := <-e.lost:
			e.lose(err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// pause returns how long to wait after attempt n failed: a random time up to a bound that
// doubles with each failure, so that many pushes that were refused together do not all come back
// together.
func pause(n int, retry *Retry) time.Duration {
	first, longest := firstPause, longestPause
	if retry != nil && retry.Slow {
		first, longest = slowPause, longestSlowPause
	}
	bound := min(first<<min(n, 20), longest)
	p := rand.N(bound) + 1
	if retry != nil && retry.After > 0 {
		p = min(retry.After, longestAsked) + rand.N(min(bound, time.Second))
	}
	return p
}

// recovered notes that an attempt succeeded after n failures.
func (e *Engine) recovered(n int) {
	e.state.Failing = false
	if n > 0 {
		clear(e.told)
		e.opt.Note(fmt.Sprintf("%s takes what is pushed again, after %s", e.opt.Target, cli.Count(n, "attempt")))
	}
}

// lose notes that something cannot be pushed any more.
func (e *Engine) lose(err error) {
	e.state.Lost++
	e.state.LostText = shortened(err.Error())
	e.note(err.Error())
}

// again is how long a note is not repeated.
const again = 5 * time.Minute

func (e *Engine) note(text string) { e.noteAs(text, text) }

// noteAs gives a note, unless one with the same key was given within the last while (see again).
func (e *Engine) noteAs(key, text string) {
	now := time.Now()
	if at, ok := e.told[key]; ok && now.Sub(at) < again {
		return
	}
	if len(e.told) > 100 {
		clear(e.told)
	}
	e.told[key] = now
	e.opt.Note(text)
}

// write writes the state.
func (e *Engine) write() error {
	s := &e.state
	s.At = time.Now()
	s.Recorded = max(s.Recorded, e.recorded.Load())
	s.Waiting = e.waiting.Load()
	e.written = s.At
	return s.Write(e.opt.State)
}

// shortened bounds a receiver's message.
func shortened(s string) string {
	const most = 500
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// ready is a batch that can be sent. Without a Batch it only moves the position on, as it does
// where everything is before Since.
type ready struct {
	id           BatchID
	batch        Batch
	values       int
	made         int // the number of values that Engine.waiting counts for it
	bytes        int
	since, until int64 // wall clocks
}

// contOf returns the stamp of an item.
func contOf(it *archive.Item) metric.Stamp {
	if it.Tick != nil {
		return it.Tick.At
	}
	return it.Event.At
}

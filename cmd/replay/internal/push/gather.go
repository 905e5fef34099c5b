package push

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tachograph/store/archive"
	"tachograph/store/follow"
	"tachograph/store/layout"
)

// A gatherer makes batches from what a follower delivers.
type gatherer struct {
	e *Engine
	f Follower
	// end is the end of a batch that must be made again, because it was being sent when an
	// earlier run ended, or was refused; nil after that. again says that the receiver may
	// already have it.
	end   *follow.Position
	again bool
	next  *archive.Info // the archive that from and to are in

	from, to follow.Position
	items    []held
	over     []held // items after end
	values   int
	begun    time.Time // when the first of items was added
	perValue float64   // bytes per value in the last batches

	freeze freezer
}

// held is an item that is kept until its batch is made.
type held struct {
	archive.Item
	stream int    // 0 and 1 for events, 2 and more for classes
	place  uint64 // of an event in its stream
	cont   int64
}

func newGatherer(e *Engine, f Follower, from follow.Position, end *follow.Position) *gatherer {
	if from.Archive == "" {
		from = f.Position() // the present end
	}
	g := &gatherer{e: e, f: f, end: end, again: end != nil, from: from, to: from, perValue: 40}
	if c, ok := e.opt.Sink.(Choosy); ok {
		g.freeze.wants = c.Wants
	}
	return g
}

var errEnd = errors.New("all has been delivered")

// start makes batches until everything is delivered, or stop is called. stop returns the error
// that ended it.
func (g *gatherer) start(ctx context.Context) (batches <-chan *ready, stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	out, done := make(chan *ready), make(chan error, 1)
	go func() {
		defer close(out)
		done <- g.run(ctx, out)
	}()
	return out, func() error {
		cancel()
		for range out { // until it has ended
		}
		return <-done
	}
}

// run makes batches until there is nothing more.
func (g *gatherer) run(ctx context.Context, out chan<- *ready) error {
	for {
		wait, cancel := ctx, context.CancelFunc(func() {})
		if len(g.items) > 0 && g.end == nil {
			wait, cancel = context.WithDeadline(ctx, g.begun.Add(g.e.opt.MaxAge))
		}
		it, err := g.f.Next(wait)
		cancel()
		if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
			if err := g.seal(ctx, out); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		switch err := g.take(ctx, &it, out); {
		case errors.Is(err, errEnd):
			return nil
		case err != nil:
			return err
		}
	}
}

// take takes an item from the follower.
func (g *gatherer) take(ctx context.Context, it *archive.Item, out chan<- *ready) error {
	if it.Archive != nil && !it.Standing {
		if g.from.Archive == "" {
			g.from = follow.Position{Archive: it.Archive.ID}
			g.to = g.from
		}
		if it.Archive.ID != g.from.Archive {
			if err := g.turn(ctx, it.Archive, out); err != nil {
				return err
			}
		}
		if g.next == nil || g.next.ID != it.Archive.ID {
			g.next = it.Archive
		}
	}
	switch {
	case it.Lost != nil:
		select {
		case g.e.lost <- it.Lost:
		default: // there are many already
		}
	case it.Standing:
		if s, ok := g.e.opt.Sink.(Standing); ok && it.Tick != nil {
			standing := *it
			standing.Tick = g.freeze.tick(it.Tick)
			return s.Standing(&standing)
		}
	case it.Present:
		return g.present(ctx, out)
	case it.Tick != nil || it.Event != nil:
		h := g.hold(it)
		if g.end != nil && g.beyond(&h) {
			g.over = append(g.over, h)
			if len(g.over) < mostOver {
				return nil
			}
			return g.seal(ctx, out)
		}
		g.add(h)
		return g.sealFull(ctx, out)
	}
	return nil
}

// mostOver is how many items may come before the last item of a batch that is made again.
const mostOver = 10_000

// hold returns a copy of an item that stays unchanged.
func (g *gatherer) hold(it *archive.Item) held {
	h := held{Item: *it, cont: contOf(it).Cont}
	if e := it.Event; e != nil {
		pos := g.f.Position()
		h.place = pos.Events
		if layout.IsChurn(e.Kind) {
			h.stream, h.place = 1, pos.Churn
		}
		clone := *e
		h.Item.Event = &clone
		return h
	}
	h.stream = 2 + int(it.Tick.Class)
	h.Item.Tick = g.freeze.tick(it.Tick)
	return h
}

// beyond reports whether an item comes after the end of the batch that is made again.
func (g *gatherer) beyond(h *held) bool {
	switch h.stream {
	case 0:
		return h.place > g.end.Events
	case 1:
		return h.place > g.end.Churn
	}
	return h.cont > g.end.Ticks[h.stream-2]
}

// add adds an item to the batch.
func (g *gatherer) add(h held) {
	switch h.stream {
	case 0:
		g.to.Events = max(g.to.Events, h.place)
	case 1:
		g.to.Churn = max(g.to.Churn, h.place)
	default:
		g.to.Ticks[h.stream-2] = max(g.to.Ticks[h.stream-2], h.cont)
	}
	wall := contOf(&h.Item).Wall
	if wall > g.e.recorded.Load() {
		g.e.recorded.Store(wall)
	}
	if wall < g.e.opt.Since {
		return
	}
	if len(g.items) == 0 {
		g.begun = time.Now()
	}
	g.items = append(g.items, h)
	if h.Tick != nil {
		g.values += h.Tick.Values()
	} else {
		g.values++
	}
}

// sealFull ends the batch if it is as large as it may be.
func (g *gatherer) sealFull(ctx context.Context, out chan<- *ready) error {
	full := g.values >= g.e.opt.MaxValues || float64(g.values)*g.perValue >= float64(g.e.opt.MaxBytes) || len(g.items) >= mostItems
	if g.end != nil {
		full = g.complete()
	}
	if !full {
		return nil
	}
	return g.seal(ctx, out)
}

// mostItems bounds a batch of ticks without values.
const mostItems = 20_000

// complete reports whether the batch that is made again has everything that it had.
func (g *gatherer) complete() bool {
	if g.to.Events < g.end.Events || g.to.Churn < g.end.Churn {
		return false
	}
	for c, at := range g.end.Ticks {
		if g.to.Ticks[c] < at {
			return false
		}
	}
	return true
}

// present is called when everything that was recorded has been delivered.
func (g *gatherer) present(ctx context.Context, out chan<- *ready) error {
	if g.end != nil {
		if err := g.seal(ctx, out); err != nil {
			return err
		}
	}
	if g.e.opt.Forever {
		return nil
	}
	if err := g.seal(ctx, out); err != nil {
		return err
	}
	return errEnd
}

// turn continues with another archive: a batch is always from one.
func (g *gatherer) turn(ctx context.Context, to *archive.Info, out chan<- *ready) error {
	for len(g.items) > 0 || g.end != nil {
		if err := g.seal(ctx, out); err != nil {
			return err
		}
	}
	g.from = follow.Position{Archive: to.ID}
	g.to = g.from
	g.next = to
	return nil
}

// seal ends the batch and passes it on, waiting until the previous one is being sent.
func (g *gatherer) seal(ctx context.Context, out chan<- *ready) error {
	r := &ready{id: BatchID{Archive: g.next, From: g.from, To: g.to, Again: g.again}, until: g.e.opt.Since}
	if g.end != nil {
		r.id.To, g.end, g.again = *g.end, nil, false
	}
	nothing := len(g.items) == 0 && r.id.To == r.id.From
	if len(g.items) > 0 {
		if err := g.make(r); err != nil {
			return err
		}
	}
	over := g.over
	g.from, g.to, g.items, g.values, g.over = r.id.To, r.id.To, nil, 0, nil
	for _, h := range over {
		g.add(h)
	}
	g.freeze.sweep()
	if nothing {
		return nil
	}
	select {
	case out <- r:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// make makes a batch of the items, in an order that does not depend on where they were read: a
// journal and the committed chunks have different orders.
func (g *gatherer) make(r *ready) error {
	slices.SortStableFunc(g.items, func(x, y held) int {
		return cmp.Or(cmp.Compare(x.cont, y.cont), cmp.Compare(x.stream, y.stream), cmp.Compare(x.place, y.place))
	})
	r.batch = g.e.opt.Sink.NewBatch(r.id)
	for i := range g.items {
		it := &g.items[i].Item
		if err := r.batch.Add(it); err != nil {
			return fmt.Errorf("a batch cannot be made: %w", err)
		}
		wall := contOf(it).Wall
		r.until = max(r.until, wall)
		if r.since == 0 || wall < r.since {
			r.since = wall
		}
	}
	r.values, r.bytes = r.batch.Size()
	if r.values == 0 && r.bytes == 0 {
		r.batch = nil // nothing in it is for this receiver
		return nil
	}
	if r.values > 0 && g.values > 0 {
		g.perValue = max((g.perValue+float64(r.bytes)/float64(g.values))/2, 0.01)
	}
	r.made = r.values
	g.e.waiting.Add(uint64(r.made))
	return nil
}

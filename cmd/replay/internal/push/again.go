package push

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/internal/pushstate"
	"tachograph/store/follow"
)

// repeat pushes once more what was set aside, the oldest first, and forgets what is
// acknowledged. What is refused again stays set aside. The position of the ordinary pushes does
// not change.
func (e *Engine) repeat(ctx context.Context) error {
	s := &e.state
	for i := 0; i < len(s.Set); {
		stays, err := e.repeatOne(ctx, &s.Set[i])
		if err != nil {
			return err
		}
		if stays {
			i++
		} else {
			s.Refused -= min(s.Refused, 1)
			s.RefusedValues -= min(s.RefusedValues, s.Set[i].Values)
			s.Set = slices.Delete(s.Set, i, i+1)
		}
		if err := e.write(); err != nil {
			return err
		}
	}
	return nil
}

// repeatOne makes the same batch again that was refused, and sends it.
func (e *Engine) repeatOne(ctx context.Context, set *pushstate.Range) (stays bool, err error) {
	r, err := e.remake(ctx, set)
	if err != nil {
		return true, err
	}
	if r == nil {
		e.lose(fmt.Errorf("what was refused from %s to %s is not in the archives any more", when(set.Since), when(set.Until)))
		return false, nil
	}
	set.Sent = true
	if err := e.write(); err != nil {
		return true, err
	}
	refused, err := e.offer(ctx, r)
	if err != nil {
		return true, err
	}
	if refused != nil {
		set.Why, set.At, set.Sent = shortened(refused.Error()), time.Now(), false
		e.state.LastError, e.state.LastErrorAt = set.Why, set.At
		e.noteAs("refused "+set.Why, fmt.Sprintf("%s refused %s again: %v", e.opt.Target, cli.Count(r.values, "value"), refused))
		return true, nil
	}
	e.taken(r)
	return false, nil
}

// remake makes a refused batch again; it returns nil if its part of the recording is gone.
func (e *Engine) remake(ctx context.Context, set *pushstate.Range) (*ready, error) {
	from, err := follow.ParsePosition(set.From)
	to, wrong := follow.ParsePosition(set.To)
	if err != nil || wrong != nil || from.Archive == "" || to.Archive != from.Archive {
		return nil, fmt.Errorf("%s is damaged: remove it to begin anew", e.opt.State)
	}
	_, standing := e.opt.Sink.(Standing)
	f, err := e.opt.Open(from, standing)
	if errors.Is(err, follow.ErrGone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	e.opt.Since = set.Since // the batch began there, whatever --from is
	g := newGatherer(e, f, from, &to)
	g.again = set.Sent
	batches, stop := g.start(ctx)
	r := <-batches
	err = stop()
	e.waiting.Store(0)
	for len(e.lost) > 0 {
		e.lose(<-e.lost)
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case r == nil:
		return nil, err
	case r.batch == nil:
		return nil, nil
	}
	return r, nil
}

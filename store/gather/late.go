package gather

import (
	"errors"
	"fmt"
	"io"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
)

// ErrTooLate says that a late tick has no place any more, because ticks after it have already
// been passed on in order.
var ErrTooLate = errors.New("the tick comes too late")

// Late adds a tick that is older than the last of its class. The tick stays apart until Settle.
// Late refuses, with ErrTooLate, a tick that is no newer than an earlier late one, or than the
// end of the batches before this one.
func (b *Batch) Late(t *metric.Tick) error {
	if t.Class >= metric.NumClasses {
		return fmt.Errorf("late tick of unknown class %d", t.Class)
	}
	to := b.late[t.Class]
	if b.TooLate(t) || to != nil && t.At.Cont <= to.Last().Cont {
		return ErrTooLate
	}
	if to == nil {
		to = chunk.NewBuilder(t.Class)
	}
	err := to.Append(t)
	if err == nil {
		b.late[t.Class] = to
	}
	return err
}

// TooLate reports whether a tick has no place in b, whatever b holds.
func (b *Batch) TooLate(t *metric.Tick) bool { return t.At.Cont <= b.since[t.Class] }

// Since makes all late ticks up to a continuous clock too late.
func (b *Batch) Since(cont int64) {
	for c := range b.since {
		b.since[c] = max(b.since[c], cont)
	}
}

// Next ends b and returns the batch that follows it.
func (b *Batch) Next() Batch {
	next := Batch{since: b.since}
	for c, to := range b.Builders {
		if to != nil {
			next.since[c] = max(next.since[c], to.Last().Cont)
		}
		if late := b.late[c]; late != nil {
			next.since[c] = max(next.since[c], late.Last().Cont)
		}
	}
	return next
}

// Settle merges the late ticks with the others, by the continuous clock. Of two ticks with the
// same clock it leaves the late one out. It also leaves out ticks that cannot be merged, and
// returns an error for them.
func (b *Batch) Settle() error {
	builders, err := b.Settled()
	b.Put(builders)
	return err
}

// Settled returns the builders that b has once it is settled; those that get late ticks are new
// ones. b does not change until Put.
func (b *Batch) Settled() (builders [metric.NumClasses]*chunk.Builder, err error) {
	builders = b.Builders
	var errs []error
	for c, late := range b.late {
		switch {
		case late == nil:
		case builders[c] == nil:
			builders[c] = late
		default:
			all, err := together(builders[c], late)
			if err != nil {
				errs = append(errs, fmt.Errorf("%d late ticks of class %s: %w", late.Ticks(), late.Class(), err))
				continue
			}
			builders[c] = all
		}
	}
	return builders, errors.Join(errs...)
}

// Put stores in b what Settled returned.
func (b *Batch) Put(builders [metric.NumClasses]*chunk.Builder) {
	b.Builders, b.late = builders, [metric.NumClasses]*chunk.Builder{}
}

// together returns a builder with the ticks of both by the continuous clock.
func together(b, late *chunk.Builder) (*chunk.Builder, error) {
	var numbers numbering
	x, err := numbers.ticks(b)
	if err != nil {
		return nil, err
	}
	y, err := numbers.ticks(late)
	if err != nil {
		return nil, err
	}
	all := chunk.NewBuilder(b.Class())
	for {
		from := x
		at, ok := x.At()
		if before, more := y.At(); more {
			if ok && before.Cont == at.Cont {
				if err := y.Skip(); err != nil {
					return nil, err
				}
				continue
			}
			if !ok || before.Cont < at.Cont {
				from = y
			}
		}
		t, err := from.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err == nil {
			err = all.Append(t)
		}
		if err != nil {
			return nil, err
		}
	}
}

// A numbering numbers descriptions; equal descriptions get the same number.
type numbering struct {
	descs []*metric.Desc
	known map[metric.Desc]uint32
}

func (n *numbering) number(d *metric.Desc) uint32 {
	at, ok := n.known[*d]
	if !ok {
		if n.known == nil {
			n.known = make(map[metric.Desc]uint32)
		}
		at = uint32(len(n.descs))
		n.known[*d] = at
		n.descs = append(n.descs, d)
	}
	return at
}

// ticks returns the ticks of b.
func (n *numbering) ticks(b *chunk.Builder) (*chunk.Ticks, error) {
	c, _, err := b.Present(n.number)
	if err != nil {
		return nil, err
	}
	return c.Ticks(0, chunk.Makings{Desc: func(number uint32) *metric.Desc { return n.descs[number] }})
}

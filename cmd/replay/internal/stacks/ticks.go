package stacks

import (
	"cmp"
	"slices"

	"tachograph/store"
)

// mostTicks bounds the ticks of a profile.
const mostTicks = 1 << 21

// A Tick is how often a stack was sampled, and how long its thread waited with it, from the tick
// before to the one at an instant.
type Tick struct {
	Wall                     int64
	Stack                    int32
	Samples, Running, Waited uint64
}

// of returns how much of a tick is in a state.
func (t *Tick) of(state State) uint64 {
	return state.Of(&Stack{Samples: t.Samples, Running: t.Running, Waited: t.Waited})
}

// tick notes the values of a run, which are what a stack has in a state. Samples that there is no room
// for are lost.
func (b *builder) tick(run *store.Run, stack int32, state State) {
	if !b.r.Ticks {
		return
	}
	for i, bits := range run.Column.Bits {
		n := min(bits, most)
		if n == 0 || i >= len(run.Wall) {
			continue
		}
		room := mostTicks
		t := Tick{Wall: run.Wall[i], Stack: stack}
		switch state {
		case Running:
			t.Running, room = n, 2*mostTicks
		case Waited:
			t.Waited, room = n, 3*mostTicks
		default:
			t.Samples = n
		}
		if len(b.p.Ticks) < room {
			b.p.Ticks = append(b.p.Ticks, t)
		} else {
			b.p.Lost = plus(b.p.Lost, t.Samples)
		}
	}
}

// joinTicks joins what was noted of the same tick and stack, and sorts it by time.
func (b *builder) joinTicks() {
	slices.SortStableFunc(b.p.Ticks, func(x, y Tick) int {
		return cmp.Or(cmp.Compare(x.Wall, y.Wall), cmp.Compare(x.Stack, y.Stack))
	})
	joined := b.p.Ticks[:0]
	for _, t := range b.p.Ticks {
		if n := len(joined) - 1; n >= 0 && joined[n].Wall == t.Wall && joined[n].Stack == t.Stack {
			j := &joined[n]
			j.Samples, j.Running, j.Waited = plus(j.Samples, t.Samples), plus(j.Running, t.Running), plus(j.Waited, t.Waited)
		} else {
			joined = append(joined, t)
		}
	}
	for i := range joined {
		joined[i].Running = min(joined[i].Running, joined[i].Samples)
	}
	b.p.Ticks = slices.DeleteFunc(joined, func(t Tick) bool { return t.Samples == 0 && t.Waited == 0 })
}

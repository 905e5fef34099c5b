package stacks

import (
	"cmp"
	"slices"

	"tachograph/store"
)

// mostTicks bounds the ticks of a profile.
const mostTicks = 1 << 21

// A Tick is how often a stack was sampled from the tick before to the one at an instant.
type Tick struct {
	Wall             int64
	Stack            int32
	Samples, Running uint64
}

// tick notes the values of a run, which are of all samples of a stack or of the running ones.
func (b *builder) tick(run *store.Run, stack int32, running bool) {
	if !b.r.Ticks {
		return
	}
	for i, bits := range run.Column.Bits {
		n := min(bits, most)
		switch {
		case n == 0 || i >= len(run.Wall):
		case running:
			b.p.Ticks = append(b.p.Ticks, Tick{Wall: run.Wall[i], Stack: stack, Running: n})
		case len(b.p.Ticks) >= mostTicks:
			b.p.Lost = plus(b.p.Lost, n)
		default:
			b.p.Ticks = append(b.p.Ticks, Tick{Wall: run.Wall[i], Stack: stack, Samples: n})
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
			joined[n].Samples, joined[n].Running = plus(joined[n].Samples, t.Samples), plus(joined[n].Running, t.Running)
		} else {
			joined = append(joined, t)
		}
	}
	for i := range joined {
		joined[i].Running = min(joined[i].Running, joined[i].Samples)
	}
	b.p.Ticks = slices.DeleteFunc(joined, func(t Tick) bool { return t.Samples == 0 })
}

package stacks

import (
	"cmp"
	"slices"
	"strings"
)

// Hot is a function with its number of samples.
type Hot struct {
	Function int32
	// Self counts the samples in the function itself, Total those in it or in what it called,
	// Running those of Self in which the thread had a processor or was waiting for one.
	Self, Total, Running uint64
}

// Hottest returns the functions of the samples in a state, sorted by Self, the largest first.
func (p *Profile) Hottest(state State) []Hot {
	all := make([]Hot, len(p.Functions))
	last := make([]int, len(p.Functions)) // the last counted stack, from 1
	for i := range p.Stacks {
		k := &p.Stacks[i]
		n := state.Of(k)
		if n == 0 {
			continue
		}
		for at := k.Place; at >= 0; at = p.Places[at].Caller {
			f := p.Places[at].Function
			h := &all[f]
			h.Function = f
			if at == k.Place {
				h.Self = plus(h.Self, n)
				if state != Waiting {
					h.Running = plus(h.Running, k.Running)
				}
			}
			if last[f] != i+1 { // It may have called itself.
				last[f] = i + 1
				h.Total = plus(h.Total, n)
			}
		}
	}
	all = slices.DeleteFunc(all, func(h Hot) bool { return h.Total == 0 })
	slices.SortFunc(all, func(x, y Hot) int {
		return cmp.Or(cmp.Compare(y.Self, x.Self), cmp.Compare(y.Total, x.Total),
			strings.Compare(p.Functions[x.Function].Name, p.Functions[y.Function].Name), cmp.Compare(x.Function, y.Function))
	})
	return all
}

package stacks

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Shift is the change of a function's share of all samples from one profile to another.
type Shift struct {
	Name, Library string
	// Before and After are the shares of samples in the function itself.
	Before, After float64
	// Sigmas is the difference divided by the size that chance alone gives it with so few
	// samples.
	Sigmas float64
}

// A shift is reported if it is neither chance nor too small to matter.
const (
	leastSigmas = 4
	leastShift  = 0.01
)

// Shifts returns the functions whose share changed, the largest changes first. It looks at
// running threads if both profiles have them, else at all.
func Shifts(before, after *Profile) (state State, list []Shift) {
	state = Running
	if before.Sum(Running) == 0 || after.Sum(Running) == 0 {
		state = Any
	}
	n, m := float64(before.Sum(state)), float64(after.Sum(state))
	if n == 0 || m == 0 {
		return state, nil
	}
	type key struct{ name, library string }
	shares := make(map[key]*Shift)
	add := func(p *Profile, all float64, to func(*Shift) *float64) {
		for _, h := range p.Hottest(state) {
			k := key{p.Functions[h.Function].Name, p.Library(h.Function)}
			s := shares[k]
			if s == nil {
				s = &Shift{Name: k.name, Library: k.library}
				shares[k] = s
			}
			*to(s) += float64(h.Self) / all
		}
	}
	add(before, n, func(s *Shift) *float64 { return &s.Before })
	add(after, m, func(s *Shift) *float64 { return &s.After })
	for _, s := range shares {
		// If nothing changed, both shares estimate the same one.
		all := (float64(s.Before*n) + float64(s.After*m)) / (n + m)
		chance := math.Sqrt(all * (1 - all) * (1/n + 1/m))
		by := math.Abs(s.After - s.Before)
		if chance > 0 {
			s.Sigmas = by / chance
		}
		if by >= leastShift && s.Sigmas >= leastSigmas {
			list = append(list, *s)
		}
	}
	slices.SortFunc(list, func(x, y Shift) int {
		return cmp.Or(cmp.Compare(math.Abs(y.After-y.Before), math.Abs(x.After-x.Before)), strings.Compare(x.Name, y.Name), strings.Compare(x.Library, y.Library))
	})
	return state, list
}

package source

import (
	"cmp"
	"math"
	"slices"

	"tachograph/store/archive"
	"tachograph/store/fault"
)

// WithoutCopies makes sure that nothing is shown twice: what several archives of a boot hold is
// shown by one of them (see tells), and the others hide it. An archive with nothing left to
// show is left out. One with something left on both sides of another becomes several sources,
// placed in the order of time. With whole, only reduced archives give way: a caller that merges
// archives compares them reading by reading. WithoutCopies also returns the paths of the
// archives left out.
func WithoutCopies(all []*Source, whole bool) (out []*Source, left []string) {
	type boot struct{ host, id string }
	boots := make(map[boot][]*Source)
	for _, a := range all {
		of := boot{a.Info.Host.ID, a.Info.BootID}
		boots[of] = append(boots[of], a)
		if a.Hidden != nil {
			a.Hide(nil)
		}
		a.began = a.sinceBoot()
	}
	covered := make(map[*Source][]archive.Stretch)
	for _, group := range boots {
		for _, a := range group {
			for _, b := range group {
				if a != b && !(whole && a.Info.Step == 0) {
					covered[a] = append(covered[a], b.tells(a)...)
				}
			}
		}
	}
	for _, a := range all {
		if len(covered[a]) == 0 {
			out = append(out, a)
			continue
		}
		parts := shown(a.ticks(), joined(covered[a]))
		for i, hidden := range parts {
			part := a
			if i > 0 {
				part = a.Twin()
			}
			part.Hide(hidden)
			out = append(out, part)
		}
		if len(parts) == 0 {
			left = append(left, a.Info.Path)
			_ = a.Close()
		}
	}
	return out, left
}

// tells returns the stretches that b shows so that a, another archive of its boot, need not. Of
// two archives the one that comes first shows what both hold, except for chunks of it that
// cannot be read.
func (b *Source) tells(a *Source) []archive.Stretch {
	if a.Info.Empty || b.Info.Empty {
		return nil
	}
	if a.Info.Step > 0 || b.Info.Step > 0 {
		if b.comesBefore(a) {
			return []archive.Stretch{b.stretch()}
		}
		return nil
	}
	// If one archive follows the other, the wall clock may have been set back between them.
	if a.Info.Last.Cont < b.began || b.Info.Last.Cont < a.began || !b.describes(a) {
		return nil
	}
	own := b.ticks()
	own.From = max(own.From, b.Info.Since)
	// Only the first is read to find its damage, and the other one only if the first has some.
	if b.comesBefore(a) {
		all := []archive.Stretch{own}
		if hurt := b.unreadable(); len(hurt) > 0 {
			return without(all, without(hurt, a.unreadable()))
		}
		return all
	}
	if hurt := within(a.unreadable(), own); len(hurt) > 0 {
		return without(hurt, b.unreadable())
	}
	return nil
}

// shown returns what is left of a stretch without some others. For each remaining part, it
// gives the stretches to hide so that only that part shows.
func shown(all archive.Stretch, without []archive.Stretch) (parts [][]archive.Stretch) {
	from := all.From
	add := func(to int64) {
		if from > to {
			return
		}
		var hidden []archive.Stretch
		if from > all.From {
			hidden = append(hidden, archive.Stretch{From: math.MinInt64, To: from - 1})
		}
		if to < all.To {
			hidden = append(hidden, archive.Stretch{From: to + 1, To: math.MaxInt64})
		}
		parts = append(parts, hidden)
	}
	for _, s := range without {
		add(min(s.From-1, all.To))
		from = max(from, s.To+1)
	}
	add(all.To)
	return parts
}

// comesBefore reports whether a, rather than b of the same boot, shows what both hold. The less
// reduced archive does, then the one that is made of more others, the one with more metrics, one
// that is not a part of others, the longer one.
func (a *Source) comesBefore(b *Source) bool {
	x, y := &a.Info, &b.Info
	return cmp.Or(cmp.Compare(x.Step, y.Step), len(y.Of)-len(x.Of), len(b.ByName)-len(a.ByName), cmp.Compare(min(x.Since, 1), min(y.Since, 1)),
		cmp.Compare(y.To-y.From, x.To-x.From), cmp.Compare(x.ID, y.ID), cmp.Compare(x.Path, y.Path)) < 0
}

// sinceBoot returns when the first tick of a was read, on the clock that is never set.
func (a *Source) sinceBoot() int64 {
	first := a.Info.Last.Cont
	for _, ref := range a.Chunks {
		first = min(first, ref.Info.First.Cont)
	}
	return first
}

// ticks returns the time in which a has ticks, whatever time it claims to cover.
func (a *Source) ticks() archive.Stretch {
	s := archive.Stretch{From: a.Info.From, To: a.Info.From}
	for _, ref := range a.Chunks {
		s.To = max(s.To, ref.Info.To)
	}
	return s
}

// unreadable returns the times of the damaged chunks of a finished archive. It reads all chunks
// to find them, once, and is called only for archives that hold what others do.
func (a *Source) unreadable() []archive.Stretch {
	if a.Info.Live || a.examined {
		return a.damaged
	}
	a.examined = true
	for _, ref := range a.Chunks {
		if err := fault.Contain(func() error { _, err := ref.Sealed(); return err }); err != nil {
			a.damaged = append(a.damaged, archive.Stretch{From: ref.Info.From, To: ref.Info.To})
		}
	}
	a.damaged = joined(a.damaged)
	return a.damaged
}

// describes reports whether a has all metrics of b.
func (a *Source) describes(b *Source) bool {
	for name := range b.ByName {
		if a.ByName[name] == nil {
			return false
		}
	}
	return true
}

// stretch returns the time that a covers, including events right before and after it.
func (a *Source) stretch() archive.Stretch {
	s := archive.Stretch{From: a.Info.Begin(), To: a.Info.To}
	for i := range a.Events {
		h := &a.Events[i].Head
		s.From, s.To = min(s.From, h.From), max(s.To, h.To)
	}
	s.From = max(s.From, a.Info.Since)
	return s
}

// joined sorts stretches and merges those that touch.
func joined(list []archive.Stretch) []archive.Stretch {
	slices.SortFunc(list, func(x, y archive.Stretch) int { return cmp.Compare(x.From, y.From) })
	var out []archive.Stretch
	for _, s := range list {
		if n := len(out); n > 0 && s.From <= out[n-1].To+1 {
			out[n-1].To = max(out[n-1].To, s.To)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// without returns the parts of list that are in none of others; in both, stretches are apart
// and in order.
func without(list, others []archive.Stretch) []archive.Stretch {
	var out []archive.Stretch
	for _, s := range list {
		for _, o := range others {
			if o.To < s.From || o.From > s.To {
				continue
			}
			if o.From > s.From {
				out = append(out, archive.Stretch{From: s.From, To: o.From - 1})
			}
			s.From = o.To + 1
		}
		if s.From <= s.To {
			out = append(out, s)
		}
	}
	return out
}

// within returns the parts of the stretches that lie inside in.
func within(list []archive.Stretch, in archive.Stretch) []archive.Stretch {
	var out []archive.Stretch
	for _, s := range list {
		if s = (archive.Stretch{From: max(s.From, in.From), To: min(s.To, in.To)}); s.From <= s.To {
			out = append(out, s)
		}
	}
	return out
}

// WithoutPast removes live archives whose finished version is there too: the writer removes the
// live file a moment after.
func WithoutPast(all []*Source) []*Source {
	finished := make(map[string]bool)
	for _, a := range all {
		if !a.Info.Live {
			finished[a.Info.ID] = true
		}
	}
	return slices.DeleteFunc(all, func(a *Source) bool {
		past := a.Info.Live && finished[a.Info.ID]
		if past {
			_ = a.Close()
		}
		return past
	})
}

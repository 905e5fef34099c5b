package store

import (
	"cmp"
	"math"
	"slices"

	"tachograph/store/archive"
	"tachograph/store/fault"
)

// withoutCopies has nothing told twice: what several archives hold of a boot is told by one
// of them, see tells. There the others show nothing; where nothing is left of one, it is left
// out, and where something is left on both sides of others, it becomes several, which stand
// in the order of time. With whole, only reduced ones give way to others: who puts archives
// together compares them reading by reading. The paths of those that are left out are returned
// as well.
func withoutCopies(all []*source, whole bool) (out []*source, left []string) {
	type boot struct{ host, id string }
	boots := make(map[boot][]*source)
	for _, a := range all {
		of := boot{a.Info.Host.ID, a.Info.BootID}
		boots[of] = append(boots[of], a)
		if a.Hidden != nil {
			a.Hide(nil)
		}
		a.began = a.sinceBoot()
	}
	covered := make(map[*source][]archive.Stretch)
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
				part = &source{File: a.File.Twin(), shared: true}
			}
			part.Hide(hidden)
			out = append(out, part)
		}
		if len(parts) == 0 {
			left = append(left, a.Info.Path)
			_ = a.close()
		}
	}
	return out, left
}

// tells are the stretches that b tells of so that a, another archive of its boot, need not.
// Of two archives the one that comes first tells what both hold, but for chunks of it that
// cannot be read.
func (b *source) tells(a *source) []archive.Stretch {
	if a.Info.Empty || b.Info.Empty {
		return nil
	}
	if a.Info.Step > 0 || b.Info.Step > 0 {
		if b.comesBefore(a) {
			return []archive.Stretch{b.stretch()}
		}
		return nil
	}
	// Of two that follow each other the wall clock may have been set back between them.
	if a.Info.Last.Cont < b.began || b.Info.Last.Cont < a.began || !b.describes(a) {
		return nil
	}
	own := b.ticks()
	own.From = max(own.From, b.Info.Since)
	// Only the first is read to find its damage; the other one if it has some.
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

// shown is what is left of a stretch without some others: for each part what is to be hidden
// so that only it is shown.
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

// comesBefore reports whether a tells what both it and b, of one boot, hold: the less it is
// reduced, the more metrics it has, the less it is a part of others, the longer it is.
func (a *source) comesBefore(b *source) bool {
	x, y := &a.Info, &b.Info
	return cmp.Or(cmp.Compare(x.Step, y.Step), len(y.Of)-len(x.Of), len(b.ByName)-len(a.ByName), cmp.Compare(min(x.Since, 1), min(y.Since, 1)),
		cmp.Compare(y.To-y.From, x.To-x.From), cmp.Compare(x.ID, y.ID), cmp.Compare(x.Path, y.Path)) < 0
}

// sinceBoot is when the first tick of a was read, by the clock that is never set.
func (a *source) sinceBoot() int64 {
	first := a.Info.Last.Cont
	for _, ref := range a.Chunks {
		first = min(first, ref.Info.First.Cont)
	}
	return first
}

// ticks is the time that a has ticks of, whatever it says to cover.
func (a *source) ticks() archive.Stretch {
	s := archive.Stretch{From: a.Info.From, To: a.Info.From}
	for _, ref := range a.Chunks {
		s.To = max(s.To, ref.Info.To)
	}
	return s
}

// unreadable are the times of chunks of a finished archive that are damaged. All of them
// are read for it, once: it is asked only of archives that hold what others do.
func (a *source) unreadable() []archive.Stretch {
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
func (a *source) describes(b *source) bool {
	for name := range b.ByName {
		if a.ByName[name] == nil {
			return false
		}
	}
	return true
}

// stretch is the time that a tells of, with what happened right before and after.
func (a *source) stretch() archive.Stretch {
	s := archive.Stretch{From: a.Info.Begin(), To: a.Info.To}
	for i := range a.Events {
		h := &a.Events[i].Head
		s.From, s.To = min(s.From, h.From), max(s.To, h.To)
	}
	s.From = max(s.From, a.Info.Since)
	return s
}

// joined are stretches in order, those that touch each other as one.
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

// without is what of stretches is in none of some others; both are apart and in order.
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

// within is what of stretches is in another one.
func within(list []archive.Stretch, in archive.Stretch) []archive.Stretch {
	var out []archive.Stretch
	for _, s := range list {
		if s = (archive.Stretch{From: max(s.From, in.From), To: min(s.To, in.To)}); s.From <= s.To {
			out = append(out, s)
		}
	}
	return out
}

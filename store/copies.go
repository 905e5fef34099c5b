package store

import (
	"cmp"
	"math"
	"slices"

	"tachograph/store/archive"
)

// withoutCoarse has nothing told twice: of what a reduced archive covers, others of its boot
// may tell more, those that it was made of above all. There it shows nothing; where nothing
// is left of it, it is left out, and where something is left on both sides of others, it
// becomes several, which stand in the order of time.
func withoutCoarse(all []*source) []*source {
	var out []*source
	for _, a := range all {
		if a.Info.Step == 0 {
			out = append(out, a)
			continue
		}
		a.Hide(nil)
		var covered []archive.Stretch
		for _, b := range all {
			if b != a && b.finer(a) {
				covered = append(covered, b.stretch())
			}
		}
		parts := left(archive.Stretch{From: a.Info.From, To: a.Info.To}, joined(covered))
		for i, hidden := range parts {
			part := a
			if i > 0 {
				part = &source{File: a.File.Twin(), shared: true}
			}
			part.Hide(hidden)
			out = append(out, part)
		}
		if len(parts) == 0 {
			_ = a.close()
		}
	}
	return out
}

// left is what is left of a stretch without some others: for each part what is to be hidden
// so that only it is shown.
func left(all archive.Stretch, without []archive.Stretch) (parts [][]archive.Stretch) {
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

// finer reports whether a tells more of the same than b, a reduced archive, does. Of two
// that tell as much it is one.
func (a *source) finer(b *source) bool {
	x, y := &a.Info, &b.Info
	if x.Empty || x.BootID != y.BootID || x.Host.ID != y.Host.ID {
		return false
	}
	if x.Step != y.Step {
		return x.Step < y.Step
	}
	return cmp.Or(len(y.Of)-len(x.Of), cmp.Compare(x.ID, y.ID)) < 0
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

package query

import (
	"slices"

	"tachograph/store"
)

// totalsKey identifies the totals of a window.
type totalsKey struct {
	archive  *store.ArchiveInfo
	from, to int64
}

func placeOf(d *store.Totals) totalsKey { return totalsKey{d.Archive, d.From.Wall, d.To.Wall} }

// A bounded value is totals whose crowds could have a place in a ranking.
type bounded struct {
	totalsKey
	most float64 // the most that one process of a crowd used
}

// decodes reports whether the question needs more than totals hold.
func (t *topper) decodes(d *store.Totals) bool {
	if t.hidden != nil {
		return t.hidden(d)
	}
	if t.exact[placeOf(d)] || len(d.Crowds) > 0 && d.Gap <= t.every/2 {
		return true
	}
	for i := range d.Crowds {
		c := &d.Crowds[i]
		if _, ok := t.size(d, c); !ok {
			return true
		}
		if (t.group != PerProcess || t.open != nil) && t.held(c.To) {
			return true
		}
	}
	return false
}

// held reports whether what was last seen at wall was still there when the window ended.
func (t *topper) held(wall int64) bool { return wall >= t.w.To-t.every-t.every/2 }

// size returns how many processes of a crowd have a value of any of the fields.
func (t *topper) size(d *store.Totals, c *store.Crowd) (n uint64, known bool) {
	fields := 0
	for k, desc := range d.Descs {
		if desc == nil {
			continue
		}
		var has uint64
		if _, ok := t.fields.counter(d.Archive, desc.Name); ok {
			has = c.Columns[k].Count
		} else if f, ok := t.fields.level(d.Archive, desc.Name); ok && f != Highest && k == c.Level {
			has = c.Levels
		} else {
			continue
		}
		fields++
		n = max(n, has)
	}
	return n, n == c.Count || n == 0 || fields == 1
}

// crowds adds the processes that came and went within the chunks of the totals.
func (t *topper) crowds(d *store.Totals) {
	most := 0.0
	for k, desc := range d.Descs {
		if desc == nil {
			continue
		}
		amount := float64(float64(d.Columns[k].Bound) * base(desc.Units))
		if f, ok := t.fields.counter(d.Archive, desc.Name); ok {
			if !slices.Contains(byCounters[t.by], f) {
				continue // They are not ranked by it.
			}
			most += amount
		} else {
			most = max(most, amount)
		}
	}
	if t.group == PerProcess && (t.only == nil || slices.ContainsFunc(d.Crowds, func(c store.Crowd) bool { return t.only(&c.Instance, &c.Instance) })) {
		t.bounded = append(t.bounded, bounded{placeOf(d), most})
	}
	for i := range d.Crowds {
		c := &d.Crowds[i]
		if t.only != nil && !t.only(&c.Instance, &c.Instance) {
			continue
		}
		n, _ := t.size(d, c)
		if n == 0 {
			if t.silent != nil {
				t.silent(ProcessName(&c.Instance))
			}
			continue
		}
		if t.group == PerProcess {
			t.count += int(n)
			one := Consumer{Gains: noCounters(), Peak: unknown, Connections: unknown}
			t.crowd(&one, d, c)
			if t.by == ByMemory {
				one.Peak = one.peaks
			}
			t.sumUp(&one)
			continue
		}
		k := t.keyOf(d.Archive, &c.Instance)
		g := t.groups[k]
		if g == nil {
			one := newConsumer(&store.Summary{Archive: d.Archive, First: store.Point{Wall: c.From}, Last: store.Point{Wall: c.To}}, k.name)
			g = &one
			t.groups[k] = g
		}
		t.count += int(n)
		g.Count += int(n)
		g.Runs += int(n)
		g.stand(&c.Instance, c.From)
		g.From, g.To = min(g.From, c.From), max(g.To, c.To)
		t.crowd(g, d, c)
	}
}

// crowd adds what a crowd used.
func (t *topper) crowd(to *Consumer, d *store.Totals, c *store.Crowd) {
	highest := false
	for k, desc := range d.Descs {
		if desc == nil {
			continue
		}
		if f, ok := t.fields.counter(d.Archive, desc.Name); ok {
			if c.Columns[k].Count > 0 {
				to.Gains[f] = sum(to.Gains[f], float64(c.Columns[k].Gain)*base(desc.Units))
			}
		} else if f, ok := t.fields.level(d.Archive, desc.Name); ok && f == Highest {
			highest = true
		}
	}
	if c.Level < 0 || d.Descs[c.Level] == nil {
		return
	}
	unit := base(d.Descs[c.Level].Units)
	every := float64(t.every) / 1e9
	to.weight += float64((c.Weighted + float64(float64(c.First)*every)) * unit)
	to.seconds += float64(float64(c.Levels) * every)
	peak := float64(c.Max) * unit
	if highest {
		peak = float64(c.Peak) * unit
	}
	if !(peak <= to.Peak) {
		to.Peak = peak
	}
	to.peaks += float64(float64(c.PeakSum) * unit)
}

// enough reports whether the ranking is complete. It is not if a process in a crowd might have
// used as much as one that is ranked. enough then marks the totals of that crowd, so that they
// are decoded when the values are added up again.
func (t *topper) enough() bool {
	least := 0.0
	if list := t.ranked(); len(list) >= t.most {
		least = list[t.most-1].Amount(t.by)
	}
	enough := true
	for _, b := range t.bounded {
		if b.most > 0 && b.most >= least {
			t.exact[b.totalsKey] = true
			enough = false
		}
	}
	return enough
}

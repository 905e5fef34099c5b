package live

import (
	"slices"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/archive"
	"tachograph/store/follow"
	"tachograph/store/layout"
)

// A step is one thing that a follower delivered, with the state that it led to.
type step struct {
	*State
	tick   bool
	class  metric.Class  // of the tick
	event  *metric.Event // nil if the step is not an event
	lost   error         // an error of what cannot be read
	turned bool          // another archive has begun
}

// recentEvents is the most events that a State has.
const recentEvents = 100

// An assembler makes states from what a follower delivers. The states share no memory with that,
// because followers use their memory again.
type assembler struct {
	state  State
	source *archive.Info
	places map[placeID]int
	serial uint64 // of the last group that got a place
	// rows are, by place, the follower's instances in the last block; copies maps them to our
	// copies.
	rows   [][]*metric.Instance
	copies map[*metric.Instance]*metric.Instance

	computer computer
	based    bool // something other than standing values was delivered
}

// placeID identifies a group across ticks.
type placeID struct {
	class       metric.Class
	name, indom string
}

func idOf(c metric.Class, g *metric.Group) placeID { return placeID{c, g.Name, g.Indom} }

// newAssembler returns an assembler that also computes the metrics for which computed returns
// true, if they are not recorded.
func newAssembler(computed func(name string) bool) *assembler {
	a := &assembler{computer: computer{want: computed}}
	a.forget()
	return a
}

// forget begins anew: after another boot nothing is valid any more.
func (a *assembler) forget() {
	a.places, a.copies, a.rows = make(map[placeID]int), make(map[*metric.Instance]*metric.Instance), nil
	a.state.plan, a.state.blocks, a.state.At = planOf(nil), nil, metric.Stamp{}
}

// take takes an item that a follower delivered; pos is the follower's position after it.
func (a *assembler) take(it *archive.Item, pos follow.Position) *step {
	s := &step{event: it.Event, lost: it.Lost}
	if it.Archive != nil && it.Archive != a.source {
		s.turned = true
		a.turn(it.Archive)
	}
	a.state.Position = pos
	if !it.Standing && !a.based {
		a.standing()
	}
	if t := it.Tick; t != nil {
		s.tick, s.class = true, t.Class
		a.state.Ticks[t.Class]++
		a.state.At = t.At
		a.computer.recent.Tick(it.Archive, t)
		a.tick(t)
		if a.based {
			a.compute(t.Class, t.At)
		}
	}
	if e := it.Event; e != nil {
		a.computer.recent.Event(it.Archive, e)
		if layout.IsChurn(e.Kind) {
			a.state.Churn++
		} else {
			a.state.Events++
			if !it.Standing {
				told := *e // the follower uses the event's memory again
				a.state.Distrusted = a.state.Distrusted.After(&store.Event{Event: told, Archive: a.state.Archive})
			}
			if breaks(e) {
				a.state.Breaks++
			}
			old := a.state.Recent
			old = old[max(0, len(old)-recentEvents+1):]
			a.state.Recent = append(old[:len(old):len(old)], *e)
		}
	}
	state := a.state
	s.State = &state
	return s
}

// breaks reports whether all clients get an event: no rate can be computed across it, or the
// clock has moved.
func breaks(e *metric.Event) bool { return e.Breaks() || e.Kind == metric.EventClockStep }

// turn begins another archive.
func (a *assembler) turn(info *archive.Info) {
	before, now := a.state.Archive, *info
	a.source, a.state.Archive = info, &now
	if before == nil || before.BootID != now.BootID || before.Host.ID != now.Host.ID {
		a.forget()
		a.computer.begin(&now)
		return
	}
	// Values of classes that are not recorded any more do not stand any longer.
	groups, changed := slices.Clone(a.state.plan.groups), false
	a.state.blocks = slices.Clone(a.state.blocks)
	for i := range groups {
		if g := &groups[i]; g.group != nil && before.Intervals[g.class] != 0 && now.Intervals[g.class] == 0 {
			delete(a.places, idOf(g.class, g.group))
			g.group, a.state.blocks[i], a.rows[i], changed = nil, nil, nil, true
		}
	}
	if changed {
		a.state.plan = planOf(groups)
	}
}

// standing computes what can be computed from the standing values.
func (a *assembler) standing() {
	a.based = true
	for c := range metric.NumClasses {
		if at, _, _, ok := a.recentTick(c); ok {
			a.compute(c, at)
		}
	}
}

func (a *assembler) recentTick(c metric.Class) (metric.Stamp, int64, int64, bool) {
	if a.computer.recent == nil {
		return metric.Stamp{}, 0, 0, false
	}
	return a.computer.recent.Last(c)
}

// compute adds the metrics that are computed at a tick.
func (a *assembler) compute(c metric.Class, at metric.Stamp) {
	a.computer.compile(a.state.plan, &a.state.Archive.Intervals)
	if list := a.computer.blocks(c); len(list) > 0 {
		a.tick(&metric.Tick{Class: c, At: at, Blocks: list})
		a.computer.known = a.state.plan // only the computed metrics were added to the plan
	}
}

// tick puts the blocks of a tick into their places.
func (a *assembler) tick(t *metric.Tick) {
	a.plan(t)
	blocks := slices.Clone(a.state.blocks)
	for _, b := range t.Blocks {
		i := a.places[idOf(t.Class, b.Group)]
		blocks[i] = a.copy(i, b, blocks[i])
	}
	a.state.blocks = blocks
	a.sweep()
}

// maxPlaces is far more than any recorder needs; an archive of unknown origin may have a new
// group at each tick.
const maxPlaces = 2000

// plan gives each block of t a place.
func (a *assembler) plan(t *metric.Tick) {
	if len(a.places) > maxPlaces {
		a.forget()
	}
	groups := a.state.plan.groups
	changed := false
	change := func() {
		if !changed {
			groups, changed = slices.Clone(groups), true
			a.state.blocks = slices.Clone(a.state.blocks)
		}
	}
	for _, b := range t.Blocks {
		id := idOf(t.Class, b.Group)
		if i, ok := a.places[id]; ok {
			if groups[i].group == b.Group || groups[i].group.Same(b.Group) {
				continue
			}
			// The group of this name now has other metrics.
			change()
			a.serial++
			groups[i], a.state.blocks[i], a.rows[i] = placed{t.Class, b.Group, a.serial}, nil, nil
			continue
		}
		change()
		a.serial++
		a.places[id] = len(groups)
		groups = append(groups, placed{t.Class, b.Group, a.serial})
		a.state.blocks = append(a.state.blocks, nil)
		a.rows = append(a.rows, nil)
	}
	if changed {
		a.state.plan = planOf(groups)
	}
}

// copy returns a copy of b. Columns that are equal to those of the last block are shared with
// it: that shows that they are the same, and takes no memory.
func (a *assembler) copy(place int, b, last *metric.Block) *metric.Block {
	c := &metric.Block{Group: a.state.plan.groups[place].group, At: b.At, Cols: make([]metric.Column, len(b.Cols))}
	same := last != nil && slices.Equal(b.Rows, a.rows[place])
	if same {
		// Instances may have been renamed.
		for i, in := range b.Rows {
			if in != nil && in.Rev != last.Rows[i].Rev {
				same = false
				break
			}
		}
	}
	if same {
		c.Rows = last.Rows
	} else {
		a.rows[place] = append(a.rows[place][:0], b.Rows...)
		c.Rows = make([]*metric.Instance, len(b.Rows))
		for i, in := range b.Rows {
			c.Rows[i] = a.instance(in)
		}
	}
	for i := range b.Cols {
		from, to := &b.Cols[i], &c.Cols[i]
		if same {
			if old := &last.Cols[i]; slices.Equal(from.Bits, old.Bits) && slices.Equal(from.Words, old.Words) && slices.Equal(from.Miss, old.Miss) {
				*to = *old
				continue
			}
		}
		to.Bits, to.Words, to.Miss = slices.Clone(from.Bits), slices.Clone(from.Words), slices.Clone(from.Miss)
	}
	return c
}

// instance returns our copy of in, because a follower renames instances in place.
func (a *assembler) instance(in *metric.Instance) *metric.Instance {
	if in == nil {
		return nil
	}
	c := a.copies[in]
	if c == nil || c.Rev != in.Rev {
		own := *in
		own.Labels = slices.Clone(in.Labels)
		c = &own
		a.copies[in] = c
	}
	return c
}

// sweep forgets the copies of instances that have gone, once there are many.
func (a *assembler) sweep() {
	live := 0
	for _, rows := range a.rows {
		live += len(rows)
	}
	if len(a.copies) <= 2*live+100 {
		return
	}
	kept := make(map[*metric.Instance]*metric.Instance, live)
	for _, rows := range a.rows {
		for _, in := range rows {
			if in != nil {
				kept[in] = a.copies[in]
			}
		}
	}
	a.copies = kept
}

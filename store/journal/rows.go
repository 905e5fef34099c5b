package journal

import (
	"fmt"
	"math/bits"

	"tachograph/sample/metric"
)

// How a block's list of rows relates to the list of the group's last block.
const (
	rowsSame   = iota
	rowsEdited // some left, some came, the others are in the same order
	rowsListed // anything else
)

// rowList codes which instances b holds, and leaves them in g.rows.
func (s *state) rowList(g *group, b *metric.Block) error {
	c := &s.coder
	how := rowsSame
	if !c.dec {
		if how = g.how; g.fresh {
			how = s.compareRows(g, b.Rows)
			g.fresh = false
		}
	}
	var err error
	how = int(c.tree(g.sameRows[:], 2, uint64(how)))
	g.anew = how != rowsSame
	switch how {
	case rowsSame:
	case rowsEdited:
		err = s.editRows(g, b.Rows)
	case rowsListed:
		err = s.listRows(g, b.Rows)
	default:
		return errCorrupt
	}
	if err != nil || g.g.Indom == metric.NoIndom {
		return err
	}
	return s.renames(g, b.Rows)
}

// is reports whether r is the row of in.
func (r *row) is(in *metric.Instance) bool {
	if in == nil || r.inst.none {
		return in == nil && r.inst.none
	}
	return r.inst.id == in.ID && r.inst.key == in.Key
}

// movedShare is the share of rows, as its inverse, that may move before all are listed.
const movedShare = 16

// compareRows finds how the rows of a block relate to g's, marks the rows that left, and lists
// the new instances in s.came. A few rows may be in other places than before, such as the last
// rows of processes that have ended. They leave and come again, which costs less than listing
// all rows.
func (s *state) compareRows(g *group, now []*metric.Instance) (how int) {
	how = rowsSame
	s.came = s.came[:0]
	i, moved := 0, 0
	for _, in := range now {
		if i < len(g.rows) && g.rows[i].is(in) {
			g.rows[i].gone = false
			i++
			continue
		}
		if how == rowsSame {
			how = rowsEdited
			for at, r := range g.rows {
				r.pos = int32(at)
			}
		}
		r := g.rowOf[g.indom.find(in)]
		if r == nil {
			s.came = append(s.came, in)
			continue
		}
		if int(r.pos) < i {
			if moved++; !r.gone || moved > len(g.rows)/movedShare {
				s.came = append(s.came[:0], now...)
				return rowsListed
			}
			s.came = append(s.came, in)
			continue
		}
		for ; i < int(r.pos); i++ {
			g.rows[i].gone = true
		}
		r.gone = false
		i++
	}
	for ; i < len(g.rows); i++ {
		g.rows[i].gone = true
		how = rowsEdited
	}
	return how
}

// prepare compares t, whose groups are among gs, with the state, and refuses a tick that could not be coded to its end:
// after prepare, nothing that the caller did can go wrong.
func (s *state) prepare(gs *groups, t *metric.Tick) error {
	s.serial++
	for _, b := range t.Blocks {
		g := gs.of[b.Group]
		if g == nil {
			if len(gs.list)+len(t.Blocks) > maxGroups {
				return fmt.Errorf("more than %d groups", maxGroups)
			}
			s.came = append(s.came[:0], b.Rows...)
		} else {
			if g.serial == s.serial {
				return fmt.Errorf("group %s twice in one tick", b.Group.Name)
			}
			g.serial = s.serial
			g.how = s.compareRows(g, b.Rows)
		}
		if s.cells+len(s.came)*len(b.Cols) > maxCells {
			return fmt.Errorf("group %s: more than %d cells", b.Group.Name, maxCells)
		}
		if d := s.indoms[b.Group.Indom]; d != nil && len(d.insts)+len(s.came) > maxInstances {
			return fmt.Errorf("group %s: more than %d instances", b.Group.Name, maxInstances)
		}
		clear(s.seen)
		for _, in := range s.came {
			if in == nil {
				continue
			}
			if _, twice := s.seen[in.ID]; twice {
				return fmt.Errorf("group %s: instance %s (%d) stands in two rows", b.Group.Name, in.Key, in.ID)
			}
			s.seen[in.ID] = struct{}{}
		}
	}
	return nil
}

// editRows codes the rows that left, each with the probability for its age, and the rows that
// came, by their distance from the end of the list.
func (s *state) editRows(g *group, now []*metric.Instance) error {
	c := &s.coder
	kept := g.newRows[:0]
	for _, r := range g.rows {
		gone := c.bit(&g.gone[min(bits.Len32(r.age), 15)], b2i(!c.dec && r.gone))
		if gone != 0 {
			s.dropRow(g, r)
		} else {
			kept = append(kept, r)
		}
	}
	n := 0
	if !c.dec {
		n = len(now) - len(kept)
	}
	if n = c.count(&g.inserted, n, maxRows); c.bad() {
		return errCorrupt
	}
	// The new list is built in place of the old one: the old rows are in kept, so g.rows may be
	// overwritten.
	out := g.rows[:0]
	at, behind := 0, len(kept)
	for j := range n {
		// behind is how many of the kept rows come after the new one.
		was := behind
		if !c.dec {
			for at < len(kept) && kept[at].is(now[len(out)]) {
				out = append(out, kept[at])
				at++
			}
			behind = len(kept) - at
		}
		if j == 0 {
			behind = c.count(&g.behind, behind, maxRows)
		} else {
			behind = was - c.count(&g.behind, was-behind, maxRows)
		}
		if behind < 0 || behind > len(kept)-at && c.dec {
			return errCorrupt
		}
		if c.dec {
			for at < len(kept)-behind {
				out = append(out, kept[at])
				at++
			}
		}
		var in *metric.Instance
		if !c.dec {
			in = now[len(out)]
		}
		r, err := s.comer(g, in)
		if err != nil {
			return err
		}
		out = append(out, r)
	}
	out = append(out, kept[at:]...)
	g.rows, g.newRows = out, kept[:0]
	return nil
}

// comer codes the instance of a row that came.
func (s *state) comer(g *group, in *metric.Instance) (*row, error) {
	inst, err := s.instance(g, in)
	if err != nil {
		return nil, err
	}
	if g.rowOf[inst] != nil || !s.room() || len(g.rowOf) >= maxRows {
		return nil, errCorrupt
	}
	return s.newRow(g, inst), nil
}

// room reports whether another row is allowed.
func (s *state) room() bool {
	return s.cells <= maxCells && (!s.coder.dec || s.cells <= cellsFree+s.coder.fed*cellsPerByte)
}

// listRows codes a list of rows that is not an edit of the last one.
func (s *state) listRows(g *group, now []*metric.Instance) error {
	c := &s.coder
	n := c.count(&g.count, len(now), maxRows)
	if c.bad() {
		return errCorrupt
	}
	out := g.newRows[:0]
	for _, r := range g.rows {
		r.gone = true
	}
	for j := range n {
		var in *metric.Instance
		if !c.dec {
			in = now[j]
		}
		inst, err := s.instance(g, in)
		if err != nil {
			return err
		}
		r := g.rowOf[inst]
		if r == nil {
			if !s.room() {
				return errCorrupt
			}
			r = s.newRow(g, inst)
			r.gone = true
		}
		if !r.gone {
			return errCorrupt // twice
		}
		r.gone = false
		out = append(out, r)
		if c.bad() {
			return errCorrupt
		}
	}
	old := g.rows
	for _, r := range old {
		if r.gone {
			s.dropRow(g, r)
		}
	}
	g.rows, g.newRows = out, old[:0]
	return nil
}

// instance codes one instance of g's domain: a known one by its place, a new one by its
// definition.
func (s *state) instance(g *group, in *metric.Instance) (*instance, error) {
	c := &s.coder
	d := g.indom
	var inst *instance
	if !c.dec {
		inst = d.find(in)
	}
	if c.bit(&g.known, b2i(inst != nil)) != 0 {
		at := 0
		if inst != nil {
			at = inst.index
		}
		at = g.next + int(c.signed(&g.place, int64(at-g.next)))
		if at < 0 || at >= len(d.insts) {
			return nil, errCorrupt
		}
		g.next = at + 1
		return d.insts[at], nil
	}
	inst, err := s.defineInstance(d, in)
	if err == nil {
		g.next = inst.index + 1
	}
	return inst, err
}

// renames codes the instances whose names or labels have changed.
func (s *state) renames(g *group, now []*metric.Instance) error {
	c := &s.coder
	n := 0
	if !c.dec {
		for i, r := range g.rows {
			if r.inst.rev != now[i].Rev {
				n++
			}
		}
	}
	n = c.count(&g.renamed, n, maxRows)
	at := 0
	for range n {
		from := at
		if !c.dec {
			for g.rows[at].inst.rev == now[at].Rev {
				at++
			}
		}
		at = from + c.count(&g.count, at-from, maxRows)
		if at < 0 || at >= len(g.rows) || c.bad() {
			return errCorrupt
		}
		var in *metric.Instance
		if !c.dec {
			in = now[at]
		}
		if err := s.describe(g.indom, g.rows[at].inst, in); err != nil {
			return err
		}
		at++
	}
	return nil
}

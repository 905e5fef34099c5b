package follow

import (
	"cmp"
	"slices"

	"tachograph/sample/metric"
)

// A standing holds standing values: the last tick of each class, with the last block of each
// group.
type standing struct {
	class [metric.NumClasses]standingClass
}

type standingClass struct {
	at     metric.Stamp
	any    bool
	blocks map[[2]string]*metric.Block
	list   []*metric.Block // in the order in which groups first came
}

// add records a tick and copies its blocks.
func (s *standing) add(t *metric.Tick) {
	c := &s.class[t.Class]
	c.at, c.any = t.At, true
	for _, b := range t.Blocks {
		c.put(b)
	}
}

func (c *standingClass) put(b *metric.Block) {
	key := [2]string{b.Group.Name, b.Group.Indom}
	mine := c.blocks[key]
	if mine == nil {
		if c.blocks == nil {
			c.blocks = make(map[[2]string]*metric.Block)
		}
		mine = new(metric.Block)
		c.blocks[key] = mine
		c.list = append(c.list, mine)
	}
	mine.Group, mine.At, mine.Rows = b.Group, b.At, append(mine.Rows[:0], b.Rows...)
	mine.Cols = slices.Grow(mine.Cols[:0], len(b.Cols))[:len(b.Cols)]
	for i := range b.Cols {
		from, to := &b.Cols[i], &mine.Cols[i]
		to.Bits, to.Words = append(to.Bits[:0], from.Bits...), from.Words // Words are only appended to
		if from.Miss == nil {
			to.Miss = nil
		} else {
			to.Miss = append(to.Miss[:0], from.Miss...)
		}
	}
}

// under adds the blocks of an earlier tick for the groups that have none.
func (s *standing) under(t *metric.Tick) {
	c := &s.class[t.Class]
	if !c.any {
		s.add(t)
		return
	}
	for _, b := range t.Blocks {
		if !c.has(b.Group.Name, b.Group.Indom) {
			c.put(b)
		}
	}
}

func (c *standingClass) has(name, indom string) bool { return c.blocks[[2]string{name, indom}] != nil }

// ticks returns the ticks of all classes, the earliest first.
func (s *standing) ticks() []*metric.Tick {
	var list []*metric.Tick
	for class := range s.class {
		if c := &s.class[class]; c.any {
			list = append(list, &metric.Tick{Class: metric.Class(class), At: c.at, Blocks: c.list})
		}
	}
	slices.SortStableFunc(list, func(a, b *metric.Tick) int { return cmp.Compare(a.At.Cont, b.At.Cont) })
	return list
}

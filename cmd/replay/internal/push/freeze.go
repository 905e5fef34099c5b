package push

import (
	"cmp"
	"slices"

	"tachograph/sample/metric"
)

// A freezer makes copies of ticks that stay unchanged, in an order that does not depend on where
// they were read: a journal has rows as they were recorded, and chunks have them in their own
// order. Instances keep the names that they had when they were read, because a follower changes
// them in place when a process calls exec. An unchanged instance is the same pointer in each
// tick.
type freezer struct {
	wants  func(indom string) bool // nil: all
	copies map[*metric.Instance]*frozen
	orders map[orderID]*order
	sweeps uint64
}

type frozen struct {
	metric.Instance
	used uint64 // the sweep before which it was last used
}

// orderID identifies a block across ticks.
type orderID struct {
	class       metric.Class
	name, indom string
}

// order says where the rows of a block belong, for as long as the rows are the same.
type order struct {
	from []*metric.Instance
	to   []int // nil: they are in order
}

// mostOrders is far more than any recorder needs.
const mostOrders = 2000

func (f *freezer) tick(t *metric.Tick) *metric.Tick {
	if f.copies == nil {
		f.copies, f.orders = make(map[*metric.Instance]*frozen), make(map[orderID]*order)
	}
	if len(f.orders) > mostOrders {
		clear(f.orders)
	}
	c := *t
	c.Blocks = make([]*metric.Block, 0, len(t.Blocks))
	for _, b := range t.Blocks {
		if f.wants == nil || f.wants(b.Group.Indom) {
			c.Blocks = append(c.Blocks, f.block(t.Class, b))
		}
	}
	slices.SortStableFunc(c.Blocks, func(x, y *metric.Block) int {
		return cmp.Or(cmp.Compare(x.Group.Name, y.Group.Name), cmp.Compare(x.Group.Indom, y.Group.Indom))
	})
	return &c
}

func (f *freezer) block(class metric.Class, b *metric.Block) *metric.Block {
	id := orderID{class, b.Group.Name, b.Group.Indom}
	o := f.orders[id]
	if o == nil || !slices.Equal(o.from, b.Rows) {
		o = orderOf(b.Rows)
		f.orders[id] = o
	}
	c := &metric.Block{Group: b.Group, At: b.At, Rows: arranged(b.Rows, o.to), Cols: make([]metric.Column, len(b.Cols))}
	f.rows(c.Rows)
	for i := range b.Cols {
		from, to := &b.Cols[i], &c.Cols[i]
		to.Bits, to.Words, to.Miss = arranged(from.Bits, o.to), slices.Clone(from.Words), arranged(from.Miss, o.to)
	}
	return c
}

// orderOf returns the order of rows by their instances' keys.
func orderOf(rows []*metric.Instance) *order {
	o := &order{from: slices.Clone(rows)}
	by := func(x, y *metric.Instance) int {
		if x == nil || y == nil {
			return 0 // there is only one
		}
		return cmp.Compare(x.Key, y.Key)
	}
	if slices.IsSortedFunc(rows, by) {
		return o
	}
	o.to = make([]int, len(rows))
	for i := range o.to {
		o.to[i] = i
	}
	slices.SortStableFunc(o.to, func(i, j int) int { return by(rows[i], rows[j]) })
	return o
}

// arranged returns a copy of a list in another order.
func arranged[T any](list []T, order []int) []T {
	if order == nil || list == nil {
		return slices.Clone(list)
	}
	c := make([]T, len(list))
	for i, from := range order {
		c[i] = list[from]
	}
	return c
}

// rows replaces instances by frozen ones.
func (f *freezer) rows(rows []*metric.Instance) {
	for i, in := range rows {
		if in == nil {
			continue
		}
		c := f.copies[in]
		if c == nil || c.Rev != in.Rev {
			c = &frozen{Instance: *in}
			c.Labels = slices.Clone(in.Labels)
			f.copies[in] = c
		}
		c.used = f.sweeps
		rows[i] = &c.Instance
	}
}

// unused is for how many batches an instance is kept after it was last read.
const unused = 8

// sweep forgets instances that have not been read for some batches.
func (f *freezer) sweep() {
	f.sweeps++
	if f.sweeps%unused != 0 {
		return
	}
	for in, c := range f.copies {
		if f.sweeps-c.used > unused {
			delete(f.copies, in)
		}
	}
}

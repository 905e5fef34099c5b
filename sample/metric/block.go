package metric

import (
	"slices"
	"time"
)

// Stamp is an instant on the three clocks that matter: the wall (which
// steps), the awake clock (stops in sleep) and the continuous clock (does
// not). All are nanoseconds; the wall since 1970, the others since boot.
// Elapsed time is always a difference of Cont; sleep is where Cont and Awake
// diverge.
type Stamp struct {
	Wall, Awake, Cont int64
}

// Time is the wall clock of s; the zero Stamp gives the zero Time.
func (s Stamp) Time() time.Time {
	if s == (Stamp{}) {
		return time.Time{}
	}
	return time.Unix(0, s.Wall)
}

// Group is a set of metrics that share an instance domain and are read
// together. It is immutable: a changed plan makes a new Group.
type Group struct {
	// Name is unique within a class: "vmstat", "proc", "disk".
	Name    string
	Indom   string
	Metrics []*Desc
}

// Same reports whether g and o have the same name, domain and metrics, with equal descriptions.
func (g *Group) Same(o *Group) bool {
	return g.Name == o.Name && g.Indom == o.Indom && slices.EqualFunc(g.Metrics, o.Metrics, func(x, y *Desc) bool {
		return *x == *y
	})
}

// Column holds the values of one metric of a block, one per row.
type Column struct {
	// Bits holds integers in two's complement (i32 and u32 widened to 64 bits), floats as IEEE
	// bits (f32 in the low 32), and for strings the index in Words.
	Bits []uint64
	// Words holds the strings of a string metric's cells; nil for numbers.
	Words []string
	// Miss is nil when every value is present, else one Reason per row. The
	// bits of an absent cell are zero.
	Miss []Reason
}

// Block is one reading of a group. Rows lists the instances that existed; a group without
// instance domain has one nil row.
//
// The instances that exist are in Rows even when none of their values could
// be read; an instance that is not in Rows did not exist at that instant.
type Block struct {
	Group *Group
	At    Stamp
	Rows  []*Instance
	Cols  []Column // parallel to Group.Metrics
}

// Clone returns a copy of b that stays when b is filled again. Instances are shared.
func (b *Block) Clone() *Block {
	c := new(Block)
	c.Copy(b)
	return c
}

// Copy makes b a copy of from, in the memory that b has. Instances are shared.
func (b *Block) Copy(from *Block) {
	b.Group, b.At, b.Rows = from.Group, from.At, append(b.Rows[:0], from.Rows...)
	b.Cols = slices.Grow(b.Cols[:0], len(from.Cols))[:len(from.Cols)]
	for i := range b.Cols {
		b.Cols[i].Copy(&from.Cols[i])
	}
}

// Copy makes c a copy of from, in the memory that c has.
func (c *Column) Copy(from *Column) {
	c.Bits, c.Words = append(c.Bits[:0], from.Bits...), append(c.Words[:0], from.Words...)
	if from.Miss == nil {
		c.Miss = nil
	} else {
		c.Miss = append(c.Miss[:0], from.Miss...)
	}
}

// Tick is everything of one class that was read at one deadline.
type Tick struct {
	Class  Class
	At     Stamp
	Blocks []*Block
}

// Values counts the cells of t, absent ones included.
func (t *Tick) Values() int {
	n := 0
	for _, b := range t.Blocks {
		n += len(b.Rows) * len(b.Cols)
	}
	return n
}

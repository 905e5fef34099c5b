package sample

import (
	"math"
	"slices"

	"tachograph/sample/metric"
)

// Choice is which metrics of one of a source's groups are wanted. It does not
// change.
type Choice struct {
	group *metric.Group
	slot  []int16 // column of the full group -> column of the block, or -1
}

// NewChoice is those columns of full that want accepts; nil when there are none.
// Unsupported and computed metrics are never wanted.
func NewChoice(full *metric.Group, want func(col int) bool) *Choice {
	c := &Choice{slot: make([]int16, len(full.Metrics)), group: &metric.Group{Name: full.Name, Indom: full.Indom}}
	for i, d := range full.Metrics {
		c.slot[i] = -1
		if d.Unsupported == "" && d.Formula == "" && want(i) {
			c.slot[i] = int16(len(c.group.Metrics))
			c.group.Metrics = append(c.group.Metrics, d)
		}
	}
	if len(c.group.Metrics) == 0 {
		return nil
	}
	return c
}

// Group is the group that blocks are of which are filled as c says.
func (c *Choice) Group() *metric.Group { return c.group }

// Len is how many columns the full group has.
func (c *Choice) Len() int { return len(c.slot) }

// Column is where a column of the full group stands in such a block; -1 if it is
// not in there.
func (c *Choice) Column(col int) int { return int(c.slot[col]) }

// Frame is a block being filled: the cells that are wanted of one of a
// source's groups. A source addresses columns by their place in its own full
// group; columns that the plan does not want swallow what is set.
type Frame struct {
	block metric.Block
	full  *metric.Group
	slot  []int16 // of the choice
	types []metric.Type
	rows  rowCopies
	// room is how many rows to make room for at once: as many as Take gave away.
	room int
}

// NewFrame makes a frame for those metrics of full that want accepts; it
// returns nil when there are none.
func NewFrame(full *metric.Group, want func(*metric.Desc) bool) *Frame {
	c := NewChoice(full, func(col int) bool { return want(full.Metrics[col]) })
	if c == nil {
		return nil
	}
	return FrameFor(full, c)
}

// FrameFor makes a frame for what c says of full, and for other choices later.
func FrameFor(full *metric.Group, c *Choice) *Frame {
	f := &Frame{full: full, types: make([]metric.Type, len(full.Metrics))}
	for i, d := range full.Metrics {
		f.types[i] = d.Type
	}
	f.Choose(c)
	return f
}

// Choose has f want, from the next Reset on, what c says of its group. Instances
// that were known stay known.
func (f *Frame) Choose(c *Choice) {
	if f.block.Group == c.group {
		return
	}
	n := len(c.group.Metrics)
	if all := f.block.Cols[:cap(f.block.Cols)]; n <= len(all) {
		f.block.Cols = all[:n]
	} else {
		f.block.Cols = append(all, make([]metric.Column, n-len(all))...)
	}
	f.block.Group, f.slot = c.group, c.slot
}

// Full is the source's group that f was made from.
func (f *Frame) Full() *metric.Group { return f.full }

// Block is what has been filled in. It is valid until the next Reset.
func (f *Frame) Block() *metric.Block { return &f.block }

// Take is Block for who keeps it: f has no part in it any more.
func (f *Frame) Take() *metric.Block {
	b := f.block
	n := len(b.Rows)
	f.room = n + n/16
	f.block.Rows, f.block.Cols = nil, make([]metric.Column, len(b.Cols))
	for i := range b.Cols {
		if c := &b.Cols[i]; !slices.ContainsFunc(c.Miss, func(m metric.Reason) bool { return m != metric.Present }) {
			c.Miss = nil
		}
	}
	return &b
}

// Freeze ends a reading: from now on the instances of the block stay as they
// are, whatever the source does with its own.
func (f *Frame) Freeze() { f.rows.freeze(f.block.Rows) }

// Known are the instances of the last reading that was frozen.
func (f *Frame) Known() []*metric.Instance { return f.rows.last }

// Wants reports whether any of the columns is wanted: ask before a dear call.
func (f *Frame) Wants(cols ...int) bool {
	for _, c := range cols {
		if f.slot[c] >= 0 {
			return true
		}
	}
	return false
}

// Reset empties f and stamps it.
func (f *Frame) Reset(at metric.Stamp) {
	f.block.At = at
	f.block.Rows = f.block.Rows[:0]
	if f.room > cap(f.block.Rows) {
		f.makeRoom()
	}
	for i := range f.block.Cols {
		c := &f.block.Cols[i]
		c.Bits, c.Words, c.Miss = c.Bits[:0], c.Words[:0], c.Miss[:0]
	}
}

// makeRoom makes room for all rows at once, in place of what was given away.
func (f *Frame) makeRoom() {
	f.block.Rows = make([]*metric.Instance, 0, f.room)
	for i := range f.block.Cols {
		c := &f.block.Cols[i]
		c.Bits, c.Miss = make([]uint64, 0, f.room), make([]metric.Reason, 0, f.room)
		if f.block.Group.Metrics[i].Type == metric.String {
			c.Words = make([]string, 0, f.room)
		}
	}
}

// Row adds a row for in (nil where the group has no instance domain) and
// returns its number. All its cells are missing (NotRead) until they are set.
func (f *Frame) Row(in *metric.Instance) int {
	n := len(f.block.Rows)
	f.block.Rows = append(f.block.Rows, in)
	for i := range f.block.Cols {
		c := &f.block.Cols[i]
		c.Bits = append(c.Bits, 0)
		c.Miss = append(c.Miss, metric.NotRead)
	}
	return n
}

// Drop takes back the row that was added last: its instance vanished while it
// was being read.
func (f *Frame) Drop() {
	n := len(f.block.Rows) - 1
	f.block.Rows = f.block.Rows[:n]
	for i := range f.block.Cols {
		c := &f.block.Cols[i]
		c.Bits, c.Miss = c.Bits[:n], c.Miss[:n]
	}
}

// SetBits sets a numeric cell to the 64 bits of its value.
func (f *Frame) SetBits(row, col int, bits uint64) {
	if s := f.slot[col]; s >= 0 {
		c := &f.block.Cols[s]
		c.Bits[row] = bits
		c.Miss[row] = metric.Present
	}
}

// outsideType is why a value is absent that its metric's type cannot hold: the
// kernel's is wider than the metric, or it is a nonsense. Cut to the type it
// would be another number.
var outsideType = metric.ReasonFor("the kernel's value does not fit the metric's type")

// SetUint sets a cell to a whole number that has no sign, or to the bits of one
// that has.
func (f *Frame) SetUint(row, col int, v uint64) { f.SetInt(row, col, int64(v)) }

// SetInt sets a cell to a whole number; that of 64 bits without a sign takes
// its bits.
func (f *Frame) SetInt(row, col int, v int64) {
	fits := true
	switch f.types[col] {
	case metric.I32:
		fits = v == int64(int32(v))
	case metric.U32:
		fits = v == int64(uint32(v))
	}
	if !fits {
		f.SetMissing(row, col, outsideType)
		return
	}
	f.SetBits(row, col, uint64(v))
}

// SetFloat sets a floating point cell of either width.
func (f *Frame) SetFloat(row, col int, v float64) {
	if f.types[col] == metric.F32 {
		f.SetBits(row, col, uint64(math.Float32bits(float32(v))))
		return
	}
	f.SetBits(row, col, math.Float64bits(v))
}

// SetString sets a string cell. Pass the same string again while the value
// stands still: the store then sees at once that nothing changed.
func (f *Frame) SetString(row, col int, v string) {
	if s := f.slot[col]; s >= 0 {
		c := &f.block.Cols[s]
		c.Bits[row] = uint64(len(c.Words))
		c.Words = append(c.Words, v)
		c.Miss[row] = metric.Present
	}
}

// SetMissing says why a cell has no value.
func (f *Frame) SetMissing(row, col int, why metric.Reason) {
	if s := f.slot[col]; s >= 0 {
		f.block.Cols[s].Miss[row] = why
	}
}

// MissRow says why all cells of a row that have not been set have no value.
func (f *Frame) MissRow(row int, why metric.Reason) {
	for i := range f.block.Cols {
		if m := f.block.Cols[i].Miss; m[row] == metric.NotRead {
			m[row] = why
		}
	}
}

// Miss empties f and says why the instances that are known from the last reading
// have no values.
func (f *Frame) Miss(at metric.Stamp, why metric.Reason) {
	f.Reset(at)
	if f.full.Indom == metric.NoIndom {
		f.MissRow(f.Row(nil), why)
		return
	}
	for _, in := range f.Known() {
		f.MissRow(f.Row(in), why)
	}
}

package sample

import (
	"math"
	"slices"

	"tachograph/sample/metric"
)

// A Choice selects some metrics of one of a source's groups. It does not change.
type Choice struct {
	group *metric.Group
	slot  []int16 // column of the full group -> column of the block, or -1
}

// NewChoice selects the columns of full that want accepts. It returns nil when there are none.
// It never selects unsupported and computed metrics.
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

// Group is the group of the blocks that a frame with this choice fills.
func (c *Choice) Group() *metric.Group { return c.group }

// Len is the number of columns in the full group.
func (c *Choice) Len() int { return len(c.slot) }

// Column maps a column of the full group to its column in such a block; -1 if the choice leaves
// it out.
func (c *Choice) Column(col int) int { return int(c.slot[col]) }

// A Frame is a block being filled with the chosen cells of one of a source's groups. A source
// addresses columns by their place in its own full group; the frame drops what is set in columns
// that the choice leaves out.
type Frame struct {
	block metric.Block
	full  *metric.Group
	slot  []int16 // the choice's: column of full -> column of block, or -1
	types []metric.Type
	rows  rowCopies
	// before is how many rows of the last reading are still there behind those of the present
	// one, and next the row of it that Again probably finds next.
	before, next int
	// room is how many rows Reset makes room for at once, from the size of the block that Take
	// gave away.
	room int
}

// NewFrame makes a frame for the metrics of full that want accepts. It returns nil when there
// are none.
func NewFrame(full *metric.Group, want func(*metric.Desc) bool) *Frame {
	c := NewChoice(full, func(col int) bool { return want(full.Metrics[col]) })
	if c == nil {
		return nil
	}
	return FrameFor(full, c)
}

// FrameFor makes a frame for the metrics that c selects from full. Choose can change c later.
func FrameFor(full *metric.Group, c *Choice) *Frame {
	f := &Frame{full: full, types: make([]metric.Type, len(full.Metrics))}
	for i, d := range full.Metrics {
		f.types[i] = d.Type
	}
	f.Choose(c)
	return f
}

// Choose replaces f's choice from the next Reset on. The instances that f knows stay known.
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
	f.block.Group, f.slot, f.before = c.group, c.slot, 0
}

// Full is the source's group that f was made for.
func (f *Frame) Full() *metric.Group { return f.full }

// Block is what has been filled in. It is valid until the next Reset.
func (f *Frame) Block() *metric.Block { return &f.block }

// Take returns the block for the caller to keep. f no longer uses it.
func (f *Frame) Take() *metric.Block {
	b := f.block
	n := len(b.Rows)
	f.room = n + n/16
	f.block.Rows, f.block.Cols, f.before = nil, make([]metric.Column, len(b.Cols)), 0
	for i := range b.Cols {
		if c := &b.Cols[i]; !slices.ContainsFunc(c.Miss, func(m metric.Reason) bool { return m != metric.Present }) {
			c.Miss = nil
		}
	}
	return &b
}

// Freeze ends a reading: from now on the instances in the block stay as they are, whatever the
// source does with its own.
func (f *Frame) Freeze() {
	f.rows.freeze(f.block.Rows)
	f.before = len(f.rows.last)
}

// Known returns the instances of the last frozen reading.
func (f *Frame) Known() []*metric.Instance { return f.rows.last }

// Wants reports whether the choice includes any of the columns. Ask before an expensive call.
func (f *Frame) Wants(cols ...int) bool {
	for _, c := range cols {
		if f.slot[c] >= 0 {
			return true
		}
	}
	return false
}

// Reset empties f and sets its stamp.
func (f *Frame) Reset(at metric.Stamp) {
	f.block.At, f.next = at, 0
	f.block.Rows = f.block.Rows[:0]
	if f.room > cap(f.block.Rows) {
		f.makeRoom()
	}
	for i := range f.block.Cols {
		c := &f.block.Cols[i]
		c.Bits, c.Words, c.Miss = c.Bits[:0], c.Words[:0], c.Miss[:0]
	}
}

// makeRoom allocates room for all rows at once, to replace the block that Take gave away.
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

// lookAhead is how many rows Again goes ahead to find one.
const lookAhead = 8

// Again adds a row for in with the values that the last reading had for it, and returns true, or
// it adds nothing. The values are where Reset has left them: a row can be added again as long as
// no more rows come before it than in the last reading.
func (f *Frame) Again(in *metric.Instance) bool {
	n := len(f.block.Rows)
	old := max(f.next, n)
	for end := min(old+lookAhead, f.before); ; old++ {
		if old >= end {
			return false
		}
		if f.rows.orig[old] == in {
			break
		}
	}
	for i := range f.block.Cols {
		if c := &f.block.Cols[i]; f.block.Group.Metrics[i].Type == metric.String &&
			c.Miss[:old+1][old] == metric.Present && c.Bits[:old+1][old] < uint64(len(c.Words)) {
			return false // the words of other rows have come in its place
		}
	}
	f.next = old + 1
	f.block.Rows = append(f.block.Rows, in)
	for i := range f.block.Cols {
		c := &f.block.Cols[i]
		bits, why := c.Bits[:old+1][old], c.Miss[:old+1][old]
		if f.block.Group.Metrics[i].Type == metric.String && why == metric.Present {
			word := c.Words[:bits+1][bits]
			bits, c.Words = uint64(len(c.Words)), append(c.Words, word)
		}
		c.Bits, c.Miss = append(c.Bits, bits), append(c.Miss, why)
	}
	return true
}

// Drop removes the row that was added last, for an instance that vanished during its reading.
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

// outsideType is the reason for a value that its metric's type cannot hold: the kernel's type is
// wider than the metric's, or the value is nonsense. Truncated to the type it would be a
// different number.
var outsideType = metric.ReasonFor("the kernel's value does not fit the metric's type")

// SetUint sets a cell to an unsigned integer, or to the bits of a signed one.
func (f *Frame) SetUint(row, col int, v uint64) { f.SetInt(row, col, int64(v)) }

// SetInt sets a cell to an integer. An unsigned 64-bit cell takes the bits of v.
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

// SetString sets a string cell. While the value is the same, pass the same string again: the
// store then sees at once that nothing changed.
func (f *Frame) SetString(row, col int, v string) {
	if s := f.slot[col]; s >= 0 {
		c := &f.block.Cols[s]
		c.Bits[row] = uint64(len(c.Words))
		c.Words = append(c.Words, v)
		c.Miss[row] = metric.Present
	}
}

// SetMissing records why a cell has no value.
func (f *Frame) SetMissing(row, col int, why metric.Reason) {
	if s := f.slot[col]; s >= 0 {
		f.block.Cols[s].Miss[row] = why
	}
}

// MissRow records why the cells of a row that have not been set have no value.
func (f *Frame) MissRow(row int, why metric.Reason) {
	for i := range f.block.Cols {
		if m := f.block.Cols[i].Miss; m[row] == metric.NotRead {
			m[row] = why
		}
	}
}

// Miss empties f and records why the instances known from the last reading have no values.
func (f *Frame) Miss(at metric.Stamp, why metric.Reason) {
	f.Reset(at)
	f.before = 0
	if f.full.Indom == metric.NoIndom {
		f.MissRow(f.Row(nil), why)
		return
	}
	for _, in := range f.Known() {
		f.MissRow(f.Row(in), why)
	}
}

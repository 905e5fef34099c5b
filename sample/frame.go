package sample

import (
	"math"

	"tachograph/sample/metric"
)

// Frame is a block being filled: the cells that are wanted of one of a
// source's groups. A source addresses columns by their place in its own full
// group; columns that the plan does not want swallow what is set.
type Frame struct {
	block metric.Block
	full  *metric.Group
	slot  []int16 // column of the full group -> column of the block, or -1
	types []metric.Type
	rows  rowCopies
}

// NewFrame makes a frame for those metrics of full that want accepts; it
// returns nil when there are none. Unsupported and computed metrics are never
// wanted.
func NewFrame(full *metric.Group, want func(*metric.Desc) bool) *Frame {
	f := &Frame{full: full, slot: make([]int16, len(full.Metrics)), types: make([]metric.Type, len(full.Metrics))}
	g := &metric.Group{Name: full.Name, Indom: full.Indom}
	for i, d := range full.Metrics {
		f.slot[i], f.types[i] = -1, d.Type
		if d.Unsupported == "" && d.Formula == "" && want(d) {
			f.slot[i] = int16(len(g.Metrics))
			g.Metrics = append(g.Metrics, d)
		}
	}
	if len(g.Metrics) == 0 {
		return nil
	}
	f.block.Group = g
	f.block.Cols = make([]metric.Column, len(g.Metrics))
	return f
}

// Full is the source's group that f was made from.
func (f *Frame) Full() *metric.Group { return f.full }

// Block is what has been filled in. It is valid until the next Reset.
func (f *Frame) Block() *metric.Block { return &f.block }

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
	for i := range f.block.Cols {
		c := &f.block.Cols[i]
		c.Bits, c.Words, c.Miss = c.Bits[:0], c.Words[:0], c.Miss[:0]
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

package chunk

import (
	"encoding/binary"
	"fmt"
	"slices"

	"tachograph/sample/metric"
)

// A Builder collects the ticks of one class until they are sealed. In memory it keeps what
// changed: a cell that does not change costs only the comparison. Of an instance that is gone
// it keeps only its changes and its names: most processes of a busy machine live for less than
// a tick.
type Builder struct {
	class  metric.Class
	ticks  []metric.Stamp
	groups []*groupBuilder
	last   map[*metric.Group]*groupBuilder
	values int64
	// words numbers the strings that cells have held since the last Reset.
	words   map[string]uint64
	wordsAt []string
	numbers []uint64 // scratch
}

// NewBuilder returns an empty builder for ticks of a class.
func NewBuilder(class metric.Class) *Builder {
	b := &Builder{class: class}
	b.Reset()
	return b
}

// Reset forgets all ticks.
func (b *Builder) Reset() {
	b.ticks = b.ticks[:0]
	b.groups = b.groups[:0]
	b.last = make(map[*metric.Group]*groupBuilder)
	b.values = 0
	b.words = make(map[string]uint64)
	b.wordsAt = nil
}

// Class returns the class whose ticks b takes.
func (b *Builder) Class() metric.Class { return b.class }

// Ticks counts the ticks since the last Reset.
func (b *Builder) Ticks() int { return len(b.ticks) }

// Values counts the cells of these ticks.
func (b *Builder) Values() int64 { return b.values }

// First returns the stamp of the first tick; zero when there is none.
func (b *Builder) First() metric.Stamp {
	if len(b.ticks) == 0 {
		return metric.Stamp{}
	}
	return b.ticks[0]
}

// Last returns the stamp of the latest tick; zero when there is none.
func (b *Builder) Last() metric.Stamp {
	if len(b.ticks) == 0 {
		return metric.Stamp{}
	}
	return b.ticks[len(b.ticks)-1]
}

// Memory returns roughly how many bytes b holds.
func (b *Builder) Memory() int64 {
	n := int64(cap(b.ticks)) * 24
	for _, w := range b.wordsAt {
		n += int64(len(w)) + 48
	}
	for _, g := range b.groups {
		n += int64(cap(g.at))*32 + int64(len(g.slots))*slotMemory
		for c := range g.cols {
			col := &g.cols[c]
			n += int64(cap(col.log) + 8*cap(col.last) + 2*cap(col.state))
		}
	}
	return n
}

// Standing returns how many of these bytes the present instances take, however few ticks there
// are.
func (b *Builder) Standing() (n int64) {
	for _, g := range b.groups {
		n += int64(len(g.rows)) * slotMemory
		for c := range g.cols {
			col := &g.cols[c]
			n += int64(8*cap(col.last) + 2*cap(col.state))
		}
	}
	return n
}

// Cells counts the cells of the latest block of each group.
func (b *Builder) Cells() (n int64) {
	for _, g := range b.groups {
		n += int64(len(g.rows) * len(g.cols))
	}
	return n
}

// Append adds a tick. It keeps neither t nor its slices. It refuses a tick that contradicts
// itself as a whole, with an error, and changes nothing.
func (b *Builder) Append(t *metric.Tick) error {
	if t.Class != b.class {
		return fmt.Errorf("a tick of class %v was given to the builder of class %v", t.Class, b.class)
	}
	for _, blk := range t.Blocks {
		if err := checkBlock(blk); err != nil {
			return err
		}
	}
	tick := uint32(len(b.ticks))
	for _, blk := range t.Blocks {
		g := b.group(blk.Group)
		if err := g.resolve(blk, tick); err != nil {
			for _, undone := range t.Blocks {
				b.group(undone.Group).unresolve()
			}
			return err
		}
	}
	b.ticks = append(b.ticks, t.At)
	for _, blk := range t.Blocks {
		g := b.group(blk.Group)
		g.add(b, blk, tick)
		b.values += int64(len(blk.Rows) * len(blk.Cols))
	}
	return nil
}

// Still reports, for the last appended block of g, which rows hold the same values as in the
// block before, and when that block was read. It appends to rows.
func (b *Builder) Still(g *metric.Group, rows []bool) (since metric.Stamp, still []bool) {
	gb := b.group(g)
	if n := len(gb.at); n > 1 {
		since = gb.at[n-2].at
	}
	for i := range gb.rows {
		rows = append(rows, !gb.rows[i].moved)
	}
	return since, rows
}

func checkBlock(blk *metric.Block) error {
	if blk.Group == nil || len(blk.Cols) != len(blk.Group.Metrics) {
		return fmt.Errorf("a block has %d columns, its group other", len(blk.Cols))
	}
	n := len(blk.Rows)
	for c := range blk.Cols {
		col := &blk.Cols[c]
		d := blk.Group.Metrics[c]
		if len(col.Bits) != n || col.Miss != nil && len(col.Miss) != n {
			return fmt.Errorf("group %s: metric %s has %d cells and %d reasons for %d rows", blk.Group.Name, d.Name, len(col.Bits), len(col.Miss), n)
		}
	}
	return nil
}

func (b *Builder) group(g *metric.Group) *groupBuilder {
	if gb := b.last[g]; gb != nil {
		return gb
	}
	for _, gb := range b.groups {
		if gb.group.Name == g.Name && gb.group.Indom == g.Indom && slices.Equal(gb.group.Metrics, g.Metrics) {
			b.last[g] = gb
			return gb
		}
	}
	gb := &groupBuilder{group: g, byKey: make(map[string]int32), cols: make([]columnBuilder, len(g.Metrics))}
	for c := range gb.cols {
		gb.cols[c].text = g.Metrics[c].Type == metric.String
	}
	b.groups = append(b.groups, gb)
	b.last[g] = gb
	return gb
}

// never is the state of a cell that has not had a value yet.
const never = ^metric.Reason(0)

// A groupBuilder collects the blocks of one group.
type groupBuilder struct {
	group *metric.Group
	at    []blockAt
	slots []slot
	byKey map[string]int32
	cols  []columnBuilder
	// An instance that is present has a seat: its place in the columns' state of the previous
	// block. free are the unoccupied seats among the first seats ones.
	seats int
	free  []int32
	// rows are the resolved rows of the previous block; next are those of the present block.
	rows, next []rowAt
	// mark numbers the resolutions, to detect a row that occurs twice. pending is one more than
	// the tick resolved last, to detect a block that occurs twice.
	mark, pending uint32
}

// blockAt is when a block was read: its tick and its own stamp.
type blockAt struct {
	tick uint32
	at   metric.Stamp
}

type rowAt struct {
	in         *metric.Instance
	slot, seat int32
	moved      bool // one of its cells has changed
}

// slotMemory is roughly how many bytes a slot takes, with its key, its name and its place in
// byKey.
const slotMemory = 300

// A slot is one instance: its names, and the runs of blocks that it was in.
type slot struct {
	key         string
	names       []Naming
	runs        []Run // all but the last one
	first, last uint32
	mark        uint32
	rev         uint32
	seat        int32
	lived       bool
}

// A Run is a stretch of blocks, end not included.
type Run struct{ Start, End uint32 }

// A Naming is the name of an instance from a block on.
type Naming struct {
	Block  uint32
	Name   string
	Labels []metric.Label
}

// A columnLog has the changes of one metric of a group in the order they came. An entry is 0
// and the number of blocks passed, or the slot + 1 followed by its change. Each run of an
// instance begins as if nothing were known of it.
type columnLog []byte

// A columnBuilder logs the changes of a metric.
type columnBuilder struct {
	text  bool
	last  []uint64        // by seat
	state []metric.Reason // by seat
	log   columnLog
	block uint32
}

// resolve finds the slot of each row. Rows mostly come in the same order as before, so the
// search starts where the previous one was found.
func (g *groupBuilder) resolve(blk *metric.Block, tick uint32) error {
	if g.pending == tick+1 {
		return fmt.Errorf("group %s occurs twice in a tick", g.group.Name)
	}
	g.pending = tick + 1
	g.next = g.next[:0]
	g.mark++
	guess := 0
	for _, in := range blk.Rows {
		s := int32(-1)
		for ahead := guess; ahead < len(g.rows) && ahead < guess+4; ahead++ {
			if r := &g.rows[ahead]; r.in == in && (in == nil || g.slots[r.slot].key == in.Key) {
				s, guess = r.slot, ahead+1
				break
			}
		}
		if s < 0 {
			s = g.find(in)
		}
		if sl := &g.slots[s]; sl.mark == g.mark {
			return fmt.Errorf("group %s: instance %q occurs twice in a block", g.group.Name, sl.key)
		} else {
			sl.mark = g.mark
		}
		g.next = append(g.next, rowAt{in: in, slot: s})
	}
	return nil
}

// unresolve undoes a resolve whose tick was refused.
func (g *groupBuilder) unresolve() { g.pending = 0 }

func (g *groupBuilder) find(in *metric.Instance) int32 {
	key := ""
	if in != nil {
		key = in.Key
	}
	if s, ok := g.byKey[key]; ok {
		return s
	}
	s := int32(len(g.slots))
	g.byKey[key] = s
	g.slots = append(g.slots, slot{key: key})
	return s
}

// seat gives the seats of instances that have left to those that have come, and adds more if
// there are not enough.
func (g *groupBuilder) seat() {
	for _, r := range g.rows {
		if g.slots[r.slot].mark != g.mark {
			g.free = append(g.free, r.seat)
		}
	}
	before := uint32(len(g.at)) - 1 // the previous block
	var came []int32
	for i := range g.next {
		r := &g.next[i]
		s := &g.slots[r.slot]
		if !s.lived || s.last != before {
			if n := len(g.free); n > 0 {
				s.seat, g.free = g.free[n-1], g.free[:n-1]
			} else {
				s.seat = int32(g.seats)
				g.seats++
			}
			came = append(came, s.seat)
		}
		r.seat = s.seat
	}
	for c := range g.cols {
		col := &g.cols[c]
		if n := g.seats - len(col.last); n > 0 {
			col.last = append(col.last, make([]uint64, n)...)
			col.state = append(col.state, make([]metric.Reason, n)...)
		}
		for _, s := range came {
			col.last[s], col.state[s] = 0, never
		}
	}
}

// add logs the changes in blk, whose rows have been resolved.
func (g *groupBuilder) add(b *Builder, blk *metric.Block, tick uint32) {
	g.seat()
	block := uint32(len(g.at))
	g.at = append(g.at, blockAt{tick, blk.At})
	for i := range g.next {
		s := &g.slots[g.next[i].slot]
		in := g.next[i].in
		switch {
		case !s.lived:
			s.lived, s.first = true, block
			s.name(block, in)
		case s.last+1 != block:
			s.runs = append(s.runs, Run{s.first, s.last + 1})
			s.first = block
			s.name(block, in)
		case in != nil && s.rev != in.Rev:
			s.name(block, in)
		case in != nil && in != s.seen(g, i):
			s.name(block, in)
		}
		s.last = block
	}
	for c := range g.cols {
		g.cols[c].add(b, g.next, &blk.Cols[c], block)
	}
	g.rows, g.next = g.next, g.rows
}

// seen returns the instance that s had in the previous block, as far as that is cheap to find.
func (s *slot) seen(g *groupBuilder, i int) *metric.Instance {
	if i < len(g.rows) && &g.slots[g.rows[i].slot] == s {
		return g.rows[i].in
	}
	return nil
}

// name records the name of the instance, if it has changed.
func (s *slot) name(block uint32, in *metric.Instance) {
	if in == nil {
		return
	}
	s.rev = in.Rev
	if n := len(s.names); n > 0 && s.names[n-1].Name == in.Name && slices.Equal(s.names[n-1].Labels, in.Labels) {
		return
	}
	s.names = append(s.names, Naming{block, in.Name, slices.Clone(in.Labels)})
}

// The log's entries.
const (
	logValue = iota // followed by the zigzag difference to the last value
	logMiss         // followed by the reason
)

func (col *columnBuilder) add(b *Builder, rows []rowAt, cells *metric.Column, block uint32) {
	bits := cells.Bits[:len(rows)]
	if col.text {
		bits = b.numbered(col, rows, cells)
	}
	if cells.Miss == nil {
		for i := range rows {
			s := rows[i].seat
			if col.last[s] != bits[i] || col.state[s] != metric.Present {
				col.value(&rows[i], block, bits[i])
			}
		}
		return
	}
	miss := cells.Miss[:len(rows)]
	for i := range rows {
		s := rows[i].seat
		if why := miss[i]; why != metric.Present {
			if col.state[s] != why {
				col.miss(&rows[i], block, why)
			}
		} else if col.last[s] != bits[i] || col.state[s] != metric.Present {
			col.value(&rows[i], block, bits[i])
		}
	}
}

// numbered returns the numbers of the cells' words in b. Most words have not changed.
func (b *Builder) numbered(col *columnBuilder, rows []rowAt, cells *metric.Column) []uint64 {
	b.numbers = slices.Grow(b.numbers[:0], len(rows))[:len(rows)]
	for i := range rows {
		if cells.Miss != nil && cells.Miss[i] != metric.Present {
			continue
		}
		str, number := cells.Word(i), col.last[rows[i].seat]
		if number >= uint64(len(b.wordsAt)) || b.wordsAt[number] != str {
			var ok bool
			if number, ok = b.words[str]; !ok {
				number = uint64(len(b.wordsAt))
				b.words[str] = number
				b.wordsAt = append(b.wordsAt, str)
			}
		}
		b.numbers[i] = number
	}
	return b.numbers
}

func (col *columnBuilder) pass(block uint32) {
	if col.block != block {
		col.log = append(col.log, 0)
		col.log = binary.AppendUvarint(col.log, uint64(block-col.block))
		col.block = block
	}
}

func (col *columnBuilder) value(r *rowAt, block uint32, bits uint64) {
	r.moved = true
	col.pass(block)
	col.log = binary.AppendUvarint(col.log, uint64(r.slot+1)<<1+logValue)
	d := int64(bits - col.last[r.seat])
	col.log = binary.AppendUvarint(col.log, uint64(d<<1)^uint64(d>>63))
	col.last[r.seat] = bits
	col.state[r.seat] = metric.Present
}

func (col *columnBuilder) miss(r *rowAt, block uint32, why metric.Reason) {
	r.moved = true
	col.pass(block)
	col.log = binary.AppendUvarint(col.log, uint64(r.slot+1)<<1+logMiss)
	col.log = binary.AppendUvarint(col.log, uint64(why))
	col.state[r.seat] = why
}

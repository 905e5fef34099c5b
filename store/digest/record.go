package digest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
	"tachograph/store/varint"
)

// A record has a head, and members and crowds as groups of a chunk with one tick: their names
// and numbers are coded as in all chunks. FORMAT.md describes it.

const (
	groupMembers = "members"
	groupCells   = "cells"
	groupCrowds  = "crowds"
)

// marshal encodes d.
func (d *Digest) marshal() ([]byte, error) {
	out := binary.AppendUvarint(nil, uint64(len(d.Sums)))
	for _, sum := range d.Sums {
		out = binary.LittleEndian.AppendUint32(out, sum)
	}
	for _, v := range []int64{d.From.Wall, d.From.Cont, d.To.Wall - d.From.Wall, d.To.Cont - d.From.Cont} {
		out = binary.AppendVarint(out, v)
	}
	out = binary.AppendUvarint(out, uint64(d.Gap))
	out = binary.AppendUvarint(out, uint64(len(d.Indom)))
	out = append(out, d.Indom...)
	out = binary.AppendUvarint(out, uint64(len(d.Columns)))
	for _, c := range d.Columns {
		out = binary.AppendUvarint(out, uint64(c.Number))
		out = append(out, byte(c.Tally))
		out = binary.AppendUvarint(out, c.Bound)
	}
	b := chunk.NewBuilder(metric.Process)
	tick := &metric.Tick{At: metric.Stamp{}, Class: metric.Process}
	members, cells := d.memberTables()
	for _, t := range []*table{members, cells, d.crowdTable()} {
		if len(t.rows) > maxCells/len(t.cols) {
			return nil, errMany
		}
		if len(t.rows) > 0 {
			tick.Blocks = append(tick.Blocks, t.block())
		}
	}
	if err := b.Append(tick); err != nil {
		return nil, err
	}
	s, err := b.Seal(numberOf)
	if err != nil {
		return nil, err
	}
	return append(out, s.Data...), nil
}

// A table collects the rows of a group.
type table struct {
	name string
	rows []*metric.Instance
	cols [][]uint64
	miss [][]bool
}

func newTable(name string, columns int) *table {
	return &table{name: name, cols: make([][]uint64, columns), miss: make([][]bool, columns)}
}

func numberOf(d *metric.Desc) uint32 { return uint32(d.PMID) }

func (t *table) block() *metric.Block {
	g := &metric.Group{Name: t.name, Indom: t.name}
	b := &metric.Block{Group: g, Rows: t.rows}
	for k := range t.cols {
		g.Metrics = append(g.Metrics, &metric.Desc{PMID: metric.PMID(k), Type: metric.U64, Sem: metric.Instant, Indom: t.name})
		col := metric.Column{Bits: t.cols[k]}
		for i, missing := range t.miss[k] {
			if missing {
				if col.Miss == nil {
					col.Miss = make([]metric.Reason, len(t.rows))
				}
				col.Miss[i] = metric.NotRead
			}
		}
		b.Cols = append(b.Cols, col)
	}
	return b
}

// A rowWriter appends a row cell by cell.
type rowWriter struct {
	t *table
	k int
}

func (w *rowWriter) put(v uint64) { w.cell(v, false) }

func (w *rowWriter) cell(v uint64, missing bool) {
	w.t.cols[w.k] = append(w.t.cols[w.k], v)
	w.t.miss[w.k] = append(w.t.miss[w.k], missing)
	w.k++
}

func (w *rowWriter) signed(v int64) { w.put(uint64(v)<<1 ^ uint64(v>>63)) }

func (t *table) row(in *metric.Instance) *rowWriter {
	t.rows = append(t.rows, in)
	return &rowWriter{t: t}
}

// width returns how many columns of the members' table a column takes.
func (c *Column) width() int {
	switch c.Tally {
	case metric.TallyGain, metric.TallyPeak:
		return 2
	}
	return 4
}

const memberHead, cellWidth, crowdHead = 4, 5, 10

func (d *Digest) memberTables() (members, cells *table) {
	width := memberHead
	for i := range d.Columns {
		width += d.Columns[i].width()
	}
	members, cells = newTable(groupMembers, width), newTable(groupCells, cellWidth)
	for i := range d.Members {
		d.member(members, cells, i)
	}
	return members, cells
}

// span writes when a cell was first and last read, relative to the usual times.
func (w *rowWriter) span(first, last, usualFirst, usualLast metric.Stamp) {
	w.signed(first.Cont - usualFirst.Cont)
	w.signed(first.Wall - usualFirst.Wall - (first.Cont - usualFirst.Cont))
	w.signed(usualLast.Cont - last.Cont)
	w.signed(usualLast.Wall - last.Wall - (usualLast.Cont - last.Cont))
}

func (d *Digest) member(members, cells *table, i int) {
	m := &d.Members[i]
	in := kept(&m.Instance)
	w := members.row(in)
	var usual *Cell
	for k := range m.Cells {
		if m.Cells[k].Present {
			usual = &m.Cells[k]
			break
		}
	}
	if usual == nil {
		usual = &Cell{First: d.From, Last: d.To}
	}
	w.span(usual.First, usual.Last, d.From, d.To)
	for k := range m.Cells {
		c, col := &m.Cells[k], &d.Columns[k]
		missing := !c.Present
		first := c.FirstBits
		switch col.Tally {
		case metric.TallyGain:
			w.cell(first, missing)
			w.cell(c.LastBits-first, missing)
		case metric.TallyPeak:
			w.cell(first, missing)
			w.cell(c.Max-first, missing)
		default:
			w.cell(first, missing)
			w.cell(zigzag(c.LastBits-first), missing)
			w.cell(zigzag(c.Max-c.LastBits), missing)
			w.cell(math.Float64bits(c.Weighted-c.even()), missing)
		}
		straight := col.Tally != metric.TallyGain || float64(int64(c.LastBits-first)) == c.Increase
		if missing || straight && c.First == usual.First && c.Last == usual.Last {
			continue
		}
		r := cells.row(&metric.Instance{Key: fmt.Sprintf("%d.%d", i, k)})
		r.span(c.First, c.Last, usual.First, usual.Last)
		r.signed(int64(c.Increase) - int64(c.LastBits-first))
	}
}

func zigzag(v uint64) uint64   { return v<<1 ^ uint64(int64(v)>>63) }
func unzigzag(v uint64) uint64 { return v>>1 ^ -(v & 1) }

// even returns what Weighted would be if the level had kept its first value.
func (c *Cell) even() float64 {
	return float64(float64(c.FirstBits) * (float64(c.Last.Cont-c.First.Cont) / 1e9))
}

// kept returns what a digest keeps of an instance: its name, and the labels that give its crowd
// and its age.
func kept(in *metric.Instance) *metric.Instance {
	out := &metric.Instance{Key: in.Key, Name: in.Name}
	for _, name := range []string{"start", "uid"} {
		if v := in.Label(name); v != "" {
			out.Labels = append(out.Labels, metric.Label{Name: name, Value: v})
		}
	}
	out.Labels = append(out.Labels, in.Owners()...)
	return out
}

func (d *Digest) crowdTable() *table {
	width := crowdHead
	for i := range d.Columns {
		if d.Columns[i].Tally == metric.TallyGain {
			width += 2
		}
	}
	t := newTable(groupCrowds, width)
	for i := range d.Crowds {
		c := &d.Crowds[i]
		w := t.row(kept(&c.Instance))
		w.put(c.Count)
		w.put(uint64(c.From - d.From.Wall))
		w.put(uint64(d.To.Wall - c.To))
		w.put(uint64(c.Level + 1))
		w.put(c.Count - c.Levels)
		w.put(c.First)
		w.put(math.Float64bits(c.Weighted))
		w.put(c.Max)
		w.put(c.Peak - c.Max)
		w.put(c.PeakSum)
		for k := range d.Columns {
			if d.Columns[k].Tally == metric.TallyGain {
				w.put(c.Count - c.Columns[k].Count)
				w.put(c.Columns[k].Gain)
			}
		}
	}
	return t
}

// errMany says that there are more instances than a digest is worth.
var errMany = errors.New("too many instances for a digest")

var errDigest = errors.New("the digest contradicts itself")

// Limits of what Parse accepts.
const (
	maxCells   = 1 << 18 // per group
	maxChunks  = 1 << 10
	maxColumns = 1 << 8
)

// Parse is the inverse of marshal.
func Parse(b []byte) (*Digest, error) {
	return ParseColumns(b, func(uint32) bool { return true })
}

// ParseColumns decodes of members and crowds only the columns that want accepts by the number of
// their metric. Cells of others are not present.
func ParseColumns(b []byte, want func(number uint32) bool) (*Digest, error) {
	r := &varint.Reader{In: b}
	d := &Digest{}
	var wanted []bool // by column
	for n := r.Uvarint(); n > 0 && !r.Bad; n-- {
		sum := r.Bytes(4)
		if r.Bad || len(d.Sums) == maxChunks {
			return nil, errDigest
		}
		d.Sums = append(d.Sums, binary.LittleEndian.Uint32(sum))
	}
	d.From.Wall, d.From.Cont = r.Varint(), r.Varint()
	d.To.Wall, d.To.Cont = d.From.Wall+r.Varint(), d.From.Cont+r.Varint()
	d.Gap = int64(r.Uvarint())
	d.Indom = r.String()
	for n := r.Uvarint(); n > 0 && !r.Bad; n-- {
		c := Column{Number: uint32(r.Uvarint())}
		if t := r.Bytes(1); t != nil {
			c.Tally = metric.Tally(t[0])
		}
		c.Bound = r.Uvarint()
		if r.Bad || len(d.Columns) == maxColumns {
			return nil, errDigest
		}
		d.Columns, wanted = append(d.Columns, c), append(wanted, want(c.Number))
	}
	if r.Bad || len(d.Sums) == 0 || len(d.Columns) == 0 || d.To.Wall < d.From.Wall || d.To.Cont < d.From.Cont || d.Gap < 0 {
		return nil, errDigest
	}
	c, err := chunk.Open(bytes.NewReader(r.In), int64(len(r.In)))
	if err != nil {
		return nil, err
	}
	return d, d.groups(c, wanted)
}

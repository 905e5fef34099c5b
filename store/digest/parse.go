package digest

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
)

// rows are the cells of a group with one block, by row; nil cells are absent.
type rows struct {
	insts []chunk.Instance
	width int
	bits  []uint64
	miss  []bool
}

// read decodes the group called name, which must have width columns, without those that want
// leaves out: their cells are 0.
func read(c *chunk.Chunk, name string, width int, want func(column int) bool) (*rows, error) {
	for _, g := range c.Groups {
		if g.Name != name {
			continue
		}
		if g.Blocks != 1 || len(g.Columns) != width || g.Size > maxCells/width {
			return nil, errDigest
		}
		insts, err := g.Instances()
		if err != nil {
			return nil, err
		}
		t := &rows{insts: insts, width: width, bits: make([]uint64, width*len(insts)), miss: make([]bool, width*len(insts))}
		for k := range g.Columns {
			if g.Columns[k].Type != metric.U64 {
				return nil, errDigest
			}
			if want != nil && !want(k) {
				continue
			}
			err := g.Series(k, nil, func(i int, s *chunk.Series) error {
				if len(s.Bits) > 0 {
					t.bits[i*width+k] = s.Bits[0]
				} else {
					t.miss[i*width+k] = true
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
		return t, nil
	}
	return &rows{width: width}, nil
}

// A row is read cell by cell.
type row struct {
	bits []uint64
	miss []bool
}

func (t *rows) row(i int) *row {
	return &row{t.bits[i*t.width : (i+1)*t.width], t.miss[i*t.width : (i+1)*t.width]}
}

func (r *row) next() (v uint64, missing bool) {
	v, missing = r.bits[0], r.miss[0]
	r.bits, r.miss = r.bits[1:], r.miss[1:]
	return v, missing
}

func (r *row) value() uint64 {
	v, _ := r.next()
	return v
}

func (r *row) signed() int64 { return int64(unzigzag(r.value())) }

func (r *row) span(usualFirst, usualLast metric.Stamp) (first, last metric.Stamp) {
	after := r.signed()
	first.Cont = usualFirst.Cont + after
	first.Wall = usualFirst.Wall + after + r.signed()
	before := r.signed()
	last.Cont = usualLast.Cont - before
	last.Wall = usualLast.Wall - before - r.signed()
	return first, last
}

// groups decodes the wanted columns of members and crowds.
func (d *Digest) groups(c *chunk.Chunk, wanted []bool) error {
	width := memberHead
	of := make([]int, memberHead) // the digest's column that a column of members belongs to
	for i := range d.Columns {
		width += d.Columns[i].width()
		of = append(of, slices.Repeat([]int{i}, d.Columns[i].width())...)
	}
	members, err := read(c, groupMembers, width, func(k int) bool { return k < memberHead || wanted[of[k]] })
	if err != nil {
		return err
	}
	d.Members = make([]Member, len(members.insts))
	cells := make([]Cell, len(d.Members)*len(d.Columns))
	for i := range d.Members {
		m := &d.Members[i]
		m.Cells, cells = cells[:len(d.Columns):len(d.Columns)], cells[len(d.Columns):]
		named(&m.Instance, &members.insts[i])
		d.parseMember(m, members.row(i), wanted)
	}
	slices.SortFunc(d.Members, func(a, b Member) int { return a.compare(&b) })
	if err := d.irregular(c, wanted); err != nil {
		return err
	}
	for i := range d.Members {
		if !d.Members[i].possible(d) {
			return errDigest
		}
	}
	return d.crowds(c, wanted)
}

func named(to *metric.Instance, in *chunk.Instance) {
	to.Key = in.Key
	if n := len(in.Names); n > 0 {
		to.Name, to.Labels = in.Names[n-1].Name, in.Names[n-1].Labels
	}
}

func (d *Digest) parseMember(m *Member, r *row, wanted []bool) {
	first, last := r.span(d.From, d.To)
	for k := range d.Columns {
		c := &m.Cells[k]
		v, missing := r.next()
		c.Present, c.First, c.Last = !missing, first, last
		switch d.Columns[k].Tally {
		case metric.TallyGain:
			c.FirstBits, c.LastBits = v, v+r.value()
			c.Increase = float64(int64(c.LastBits - v))
		case metric.TallyPeak:
			c.FirstBits, c.Max = v, v+r.value()
		default:
			c.FirstBits = v
			c.LastBits = v + unzigzag(r.value())
			c.Max = c.LastBits + unzigzag(r.value())
			c.Weighted = math.Float64frombits(r.value())
		}
		if missing || !wanted[k] {
			*c = Cell{}
		}
	}
}

// irregular decodes the cells that were read at other times than the rest of their member, and
// those of counters that fell.
func (d *Digest) irregular(c *chunk.Chunk, wanted []bool) error {
	t, err := read(c, groupCells, cellWidth, nil)
	if err != nil {
		return err
	}
	for i := range t.insts {
		at, col, _ := strings.Cut(t.insts[i].Key, ".")
		m, err1 := strconv.Atoi(at)
		k, err2 := strconv.Atoi(col)
		if err1 != nil || err2 != nil || m < 0 || m >= len(d.Members) || k < 0 || k >= len(d.Columns) {
			return errDigest
		}
		if !wanted[k] {
			continue
		}
		if !d.Members[m].Cells[k].Present {
			return errDigest
		}
		cell, r := &d.Members[m].Cells[k], t.row(i)
		cell.First, cell.Last = r.span(cell.First, cell.Last)
		cell.Increase = float64(int64(cell.LastBits-cell.FirstBits) + r.signed())
	}
	return nil
}

// possible reports whether a member can belong to d, and completes its levels.
func (m *Member) possible(d *Digest) bool {
	for k := range m.Cells {
		c := &m.Cells[k]
		if !c.Present {
			continue
		}
		if c.First.Wall < d.From.Wall || c.Last.Wall > d.To.Wall || c.First.Cont < d.From.Cont || c.Last.Cont > d.To.Cont || c.First.Cont > c.Last.Cont {
			return false
		}
		if d.Columns[k].Tally == metric.TallyLevel {
			c.Weighted += c.even()
			if math.IsNaN(c.Weighted) || math.IsInf(c.Weighted, 0) {
				return false
			}
		}
	}
	return true
}

func (d *Digest) crowds(c *chunk.Chunk, wanted []bool) error {
	width := crowdHead
	of := make([]int, crowdHead)
	for i := range d.Columns {
		if d.Columns[i].Tally == metric.TallyGain {
			width += 2
			of = append(of, i, i)
		}
	}
	t, err := read(c, groupCrowds, width, func(k int) bool { return k < crowdHead || wanted[of[k]] })
	if err != nil {
		return err
	}
	d.Crowds = make([]Crowd, len(t.insts))
	columns := make([]CrowdColumn, len(t.insts)*len(d.Columns))
	for i := range d.Crowds {
		c, r := &d.Crowds[i], t.row(i)
		named(&c.Instance, &t.insts[i])
		c.Count = r.value()
		from, to := r.value(), r.value()
		level := r.value()
		without := r.value()
		c.First = r.value()
		c.Weighted = math.Float64frombits(r.value())
		c.Max = r.value()
		c.Peak = c.Max + r.value()
		c.PeakSum = r.value()
		span := uint64(d.To.Wall - d.From.Wall)
		if c.Count > mostCrowd || from > span || to > span-from || level > uint64(len(d.Columns)) || without > c.Count || math.IsNaN(c.Weighted) || math.IsInf(c.Weighted, 0) {
			return errDigest
		}
		c.From, c.To, c.Level, c.Levels = d.From.Wall+int64(from), d.To.Wall-int64(to), int(level)-1, c.Count-without
		if c.Level >= 0 && d.Columns[c.Level].Tally != metric.TallyLevel {
			return errDigest
		}
		c.Columns, columns = columns[:len(d.Columns):len(d.Columns)], columns[len(d.Columns):]
		for k := range d.Columns {
			if d.Columns[k].Tally != metric.TallyGain {
				continue
			}
			without := r.value()
			if without > c.Count {
				return errDigest
			}
			c.Columns[k] = CrowdColumn{Count: c.Count - without, Gain: r.value()}
		}
	}
	slices.SortFunc(d.Crowds, Crowd.compare)
	return nil
}

// mostCrowd is the most instances that a crowd can have.
const mostCrowd = 1 << 32

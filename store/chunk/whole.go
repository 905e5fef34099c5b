package chunk

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tachograph/sample/metric"
)

// table decodes the whole of c.
func (c *Chunk) table(desc func(number uint32) *metric.Desc) (*table, error) {
	t := &table{class: c.Class}
	var err error
	if t.ticks, err = c.Stamps(); err != nil {
		return nil, err
	}
	if t.words, err = c.Words(); err != nil {
		return nil, err
	}
	for _, g := range c.Groups {
		gt, err := g.table(desc)
		if err != nil {
			return nil, err
		}
		t.groups = append(t.groups, gt)
	}
	return t, nil
}

func (g *Group) table(desc func(number uint32) *metric.Desc) (*groupTable, error) {
	t := &groupTable{name: g.Name, indom: g.Indom}
	var err error
	if t.at, err = g.blocks(); err != nil {
		return nil, err
	}
	if t.insts, err = g.Instances(); err != nil {
		return nil, err
	}
	for c := range g.Columns {
		col := &g.Columns[c]
		d := desc(col.Number)
		if d == nil || d.Type != col.Type {
			return nil, fmt.Errorf("group %s: the catalogue does not have metric %d of type %v", g.Name, col.Number, col.Type)
		}
		t.metrics = append(t.metrics, column{col.Number, col.Type, d})
		ct, err := g.columnTable(c)
		if err != nil {
			return nil, err
		}
		t.cols = append(t.cols, ct)
	}
	return t, nil
}

// columnTable decodes column c.
func (g *Group) columnTable(c int) (columnTable, error) {
	ct := columnTable{off: make([]uint32, 1, g.Size+1)}
	missing := newMissing(g.Size)
	err := g.Series(c, nil, func(i int, s *Series) error {
		ct.at = append(ct.at, s.At...)
		ct.bits = append(ct.bits, s.Bits...)
		ct.off = append(ct.off, uint32(len(ct.at)))
		for _, x := range s.miss {
			missing.add(int32(i), x)
		}
		return nil
	})
	ct.absences = missing.bySeries()
	return ct, err
}

// Verify decodes everything in c and reports the first error.
func (c *Chunk) Verify(desc func(number uint32) *metric.Desc) error {
	_, err := c.verified(desc)
	return err
}

// verified decodes everything in c and checks it.
func (c *Chunk) verified(desc func(number uint32) *metric.Desc) (*table, error) {
	t, err := c.table(desc)
	if err != nil {
		return nil, err
	}
	for i, g := range c.Groups {
		if err := t.groups[i].verify(g, uint64(len(t.words))); err != nil {
			return nil, err
		}
	}
	if err := t.verifySketches(c); err != nil {
		return nil, err
	}
	if len(c.mended) > 0 {
		return nil, fmt.Errorf("%s: %w", strings.Join(c.mended, ", "), ErrMended)
	}
	return t, nil
}

// verifySketches compares the sketches of c with its values.
func (t *table) verifySketches(c *Chunk) error {
	if c.sketchesAt.len == 0 {
		return nil
	}
	in, err := c.read(c.sketchesAt, "sketches")
	if err != nil {
		return err
	}
	all, err := c.codec.sketches(in, c.Groups)
	if err != nil {
		return fmt.Errorf("sketches: %w", err)
	}
	k := newSketcher()
	for i, g := range t.groups {
		for n, sketch := range all[i] {
			col, row := n/len(g.insts), n%len(g.insts)
			s := g.cols[col].series(&g.insts[row], row)
			if g.metrics[col].typ == metric.String || !slices.Equal(sketch, k.count(g.metrics[col].typ, &g.insts[row], &s)) {
				return c.Groups[i].wrong("sketches", fmt.Errorf("that of metric %d does not agree with its values", g.metrics[col].number))
			}
		}
	}
	return nil
}

func (t *groupTable) verify(g *Group, words uint64) error {
	for c := range t.cols {
		if t.metrics[c].typ != metric.String {
			continue
		}
		for _, w := range t.cols[c].bits {
			if w >= words {
				return g.wrong("strings", fmt.Errorf("number %d of %d", w, words))
			}
		}
	}
	var wrong error
	_, conts, err := g.Times()
	if err != nil {
		return err
	}
	err = g.Summaries(func(c int) *metric.Desc { return t.metrics[c].desc }, nil, func(c, i int, sum *Summary) {
		col := &t.cols[c]
		s := col.series(&t.insts[i], i)
		have, _ := s.Summarize(t.metrics[c].desc, &t.insts[i], conts, 0, uint32(len(conts)-1))
		if have.Count != sum.Count || have.First != sum.First || have.Last != sum.Last || have.Min != sum.Min || have.Max != sum.Max || have.Steepest > sum.Steepest && !math.IsInf(have.Steepest, 1) {
			wrong = g.wrong("summaries", fmt.Errorf("that of metric %s does not agree with its values", t.metrics[c].desc.Name))
		}
	})
	if err != nil {
		return err
	}
	return wrong
}

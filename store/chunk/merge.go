package chunk

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tachograph/sample/metric"
)

// check refuses tables that no reader would accept.
func (t *table) check() error {
	switch {
	case len(t.ticks) == 0:
		return errors.New("chunk: nothing to seal")
	case len(t.ticks) > MaxTicks:
		return fmt.Errorf("chunk: %d ticks are more than a chunk holds (%d): seal more often", len(t.ticks), MaxTicks)
	case len(t.groups) > maxGroups:
		return fmt.Errorf("chunk: %d groups are more than a chunk holds (%d)", len(t.groups), maxGroups)
	}
	for _, g := range t.groups {
		if len(g.metrics) > maxColumns || len(g.insts) > maxInstances {
			return fmt.Errorf("chunk: group %s: %d metrics and %d instances are more than a chunk holds", g.name, len(g.metrics), len(g.insts))
		}
		total := uint64(0)
		for i := range g.insts {
			total += uint64(g.insts[i].lifetime())
		}
		if total > maxLifetimes {
			return fmt.Errorf("chunk: group %s: %d rows are more than a chunk holds (%d): seal more often", g.name, total, maxLifetimes)
		}
	}
	return nil
}

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
			return nil, fmt.Errorf("chunk: group %s: the catalogue does not have metric %d of type %v", g.Name, col.Number, col.Type)
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
	err := g.Series(c, func(int) bool { return true }, func(i int, s *Series) error {
		ct.at = append(ct.at, s.At...)
		ct.bits = append(ct.bits, s.Bits...)
		ct.off = append(ct.off, uint32(len(ct.at)))
		if s.miss != nil {
			if ct.miss == nil {
				ct.miss = make([][]missAt, g.Size)
			}
			ct.miss[i] = s.miss
		}
		return nil
	})
	return ct, err
}

// Verify decodes everything in c and reports the first thing that is wrong.
func (c *Chunk) Verify(desc func(number uint32) *metric.Desc) error {
	t, err := c.table(desc)
	if err != nil {
		return err
	}
	for i, g := range c.Groups {
		if err := t.groups[i].verify(g, uint64(len(t.words))); err != nil {
			return err
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
	err = g.Summaries(func(c int) *metric.Desc { return t.metrics[c].desc }, func(c, i int, sum *Summary) {
		col := &t.cols[c]
		s := Series{Life: t.insts[i].lifetime(), At: col.at[col.off[i]:col.off[i+1]], Bits: col.bits[col.off[i]:col.off[i+1]]}
		if col.miss != nil {
			s.miss = col.miss[i]
		}
		have, _ := s.Summarize(t.metrics[c].desc, &t.insts[i], conts, 0, uint32(len(conts)-1))
		if have.Count != sum.Count || have.First != sum.First || have.Last != sum.Last || have.Min != sum.Min || have.Max != sum.Max {
			wrong = g.wrong("summaries", fmt.Errorf("that of metric %s does not agree with its values", t.metrics[c].desc.Name))
		}
	})
	if err != nil {
		return err
	}
	return wrong
}

// Merge makes one chunk of several of the same class and archive, given in
// the order of time.
func Merge(cs []*Chunk, desc func(number uint32) *metric.Desc) (*Sealed, error) {
	m := merger{}
	for _, c := range cs {
		t, err := c.table(desc)
		if err != nil {
			return nil, err
		}
		m.add(t)
	}
	return m.table().seal()
}

type merger struct {
	out    table
	groups []*groupMerger
	words  map[string]uint64
}

type groupMerger struct {
	groupTable
	byKey map[string]int
	// of each column and instance, its changes so far
	series [][]*columnTable
}

func (m *merger) add(t *table) {
	m.out.class = t.class
	base := uint32(len(m.out.ticks))
	m.out.ticks = append(m.out.ticks, t.ticks...)
	if m.words == nil {
		m.words = make(map[string]uint64)
	}
	words := make([]uint64, len(t.words))
	for i, w := range t.words {
		n, ok := m.words[w]
		if !ok {
			n = uint64(len(m.out.words))
			m.words[w] = n
			m.out.words = append(m.out.words, w)
		}
		words[i] = n
	}
	for _, g := range t.groups {
		m.group(g).add(g, base, words)
	}
}

func (m *merger) group(g *groupTable) *groupMerger {
	same := func(a, b column) bool { return a.number == b.number }
	for _, gm := range m.groups {
		if gm.name == g.name && gm.indom == g.indom && slices.EqualFunc(gm.metrics, g.metrics, same) {
			return gm
		}
	}
	gm := &groupMerger{byKey: make(map[string]int), series: make([][]*columnTable, len(g.metrics))}
	gm.name, gm.indom, gm.metrics = g.name, g.indom, g.metrics
	m.groups = append(m.groups, gm)
	return gm
}

func (m *groupMerger) add(g *groupTable, tick uint32, words []uint64) {
	block := uint32(len(m.at))
	for _, b := range g.at {
		m.at = append(m.at, blockAt{b.tick + tick, b.at})
	}
	for i := range g.insts {
		in := &g.insts[i]
		n, ok := m.byKey[in.Key]
		if !ok {
			n = len(m.insts)
			m.byKey[in.Key] = n
			m.insts = append(m.insts, Instance{Key: in.Key})
			for c := range m.series {
				m.series[c] = append(m.series[c], &columnTable{})
			}
		}
		ordinal := m.insts[n].lifetime()
		m.insts[n].extend(in, block)
		for c := range g.cols {
			m.series[c][n].extend(&g.cols[c], i, ordinal, g.metrics[c].typ == metric.String, words)
		}
	}
}

// extend appends what next was after in.
func (in *Instance) extend(next *Instance, block uint32) {
	for _, r := range next.Runs {
		if n := len(in.Runs); n > 0 && in.Runs[n-1].End == r.Start+block {
			in.Runs[n-1].End = r.End + block
		} else {
			in.Runs = append(in.Runs, Run{r.Start + block, r.End + block})
		}
	}
	for _, nm := range next.Names {
		if n := len(in.Names); n > 0 && in.Names[n-1].Name == nm.Name && slices.Equal(in.Names[n-1].Labels, nm.Labels) {
			continue
		}
		nm.Block += block
		in.Names = append(in.Names, nm)
	}
}

// extend appends series i of next, which begins at ordinal base. Of t only
// one series is used.
func (t *columnTable) extend(next *columnTable, i int, base uint32, text bool, words []uint64) {
	for k := next.off[i]; k < next.off[i+1]; k++ {
		bits := next.bits[k]
		if text && bits < uint64(len(words)) {
			bits = words[bits]
		}
		if n := len(t.bits); n > 0 && t.bits[n-1] == bits {
			continue
		}
		t.at = append(t.at, next.at[k]+base)
		t.bits = append(t.bits, bits)
	}
	now := metric.Present
	if t.miss != nil && len(t.miss[0]) > 0 {
		now = t.miss[0][len(t.miss[0])-1].why
	}
	var ms []missAt
	if next.miss != nil {
		ms = next.miss[i]
	}
	if len(ms) == 0 || ms[0].at != 0 {
		ms = append([]missAt{{0, metric.Present}}, ms...)
	}
	for _, x := range ms {
		if x.why == now {
			continue
		}
		if t.miss == nil {
			t.miss = make([][]missAt, 1)
		}
		t.miss[0] = append(t.miss[0], missAt{x.at + base, x.why})
		now = x.why
	}
}

func (m *merger) table() *table {
	for _, g := range m.groups {
		m.out.groups = append(m.out.groups, g.table())
	}
	return &m.out
}

func (m *groupMerger) table() *groupTable {
	families := make([]string, len(m.insts))
	order := make([]int, len(m.insts))
	for i := range order {
		order[i] = i
		in := &m.insts[i]
		families[i] = family(in.Key)
		if n := len(in.Names); n > 0 {
			families[i] = family(in.Names[n-1].Name)
		}
	}
	slices.SortStableFunc(order, func(x, y int) int {
		if c := strings.Compare(families[x], families[y]); c != 0 {
			return c
		}
		return int(m.insts[x].Runs[0].Start) - int(m.insts[y].Runs[0].Start)
	})
	t := &m.groupTable
	insts := make([]Instance, len(order))
	for i, n := range order {
		insts[i] = m.insts[n]
	}
	t.insts = insts
	for c := range m.series {
		ct := columnTable{off: make([]uint32, 1, len(order)+1)}
		for i, n := range order {
			s := m.series[c][n]
			ct.at = append(ct.at, s.at...)
			ct.bits = append(ct.bits, s.bits...)
			ct.off = append(ct.off, uint32(len(ct.at)))
			if s.miss != nil {
				if ct.miss == nil {
					ct.miss = make([][]missAt, len(order))
				}
				ct.miss[i] = s.miss[0]
			}
		}
		t.cols = append(t.cols, ct)
	}
	return t
}

package chunk

import (
	"errors"
	"fmt"
	"slices"

	"tachograph/sample/metric"
)

// check refuses tables that no reader would accept.
func (t *table) check() error {
	switch {
	case len(t.ticks) == 0:
		return errors.New("nothing to seal")
	case len(t.ticks) > MaxTicks:
		return fmt.Errorf("%d ticks are more than a chunk holds (%d): seal more often", len(t.ticks), MaxTicks)
	case len(t.groups) > maxGroups:
		return fmt.Errorf("%d groups are more than a chunk holds (%d)", len(t.groups), maxGroups)
	}
	for _, g := range t.groups {
		if len(g.metrics) > maxColumns || len(g.insts) > maxInstances {
			return fmt.Errorf("group %s: %d metrics and %d instances are more than a chunk holds", g.name, len(g.metrics), len(g.insts))
		}
		total := uint64(0)
		for i := range g.insts {
			total += uint64(g.insts[i].lifetime())
		}
		if total > maxLifetimes {
			return fmt.Errorf("group %s: %d rows are more than a chunk holds (%d): seal more often", g.name, total, maxLifetimes)
		}
	}
	return nil
}

// Merge merges several chunks of the same class and archive, given in the order of time, into
// one.
func Merge(cs []*Chunk, desc func(number uint32) *metric.Desc) (*Sealed, error) {
	m := merger{words: make(map[string]uint64)}
	for _, c := range cs {
		if err := m.add(c); err != nil {
			return nil, err
		}
	}
	if err := m.tables(desc); err != nil {
		return nil, err
	}
	return m.out.seal()
}

type merger struct {
	out    table
	groups []*groupMerger
	words  map[string]uint64
	atOnce uint64 // up to how many cells of a group all its columns are made at once
}

// tables joins the added parts.
func (m *merger) tables(desc func(number uint32) *metric.Desc) error {
	var j joiner
	for _, g := range m.groups {
		t, err := g.table(desc, &j, len(m.out.ticks), m.atOnce)
		if err != nil {
			return err
		}
		m.out.groups = append(m.out.groups, t)
	}
	m.groups = nil // encoding needs little of what was decoded
	return nil
}

// word returns the number of a string.
func (m *merger) word(text string) uint64 {
	n, ok := m.words[text]
	if !ok {
		n = uint64(len(m.out.words))
		m.words[text] = n
		m.out.words = append(m.out.words, text)
	}
	return n
}

// A groupMerger collects the parts of a group. Columns are decoded one by one when the parts
// are known: only their changes are in memory together.
type groupMerger struct {
	groupTable
	byKey map[string]int32
	lives []uint32
	parts []mergePart
}

// A mergePart is the group in one of the chunks.
type mergePart struct {
	g     *Group
	words []uint64 // the numbers of its strings in the merged chunk
	place []int32  // the merged instance of each of its instances
	base  []uint32 // the ordinal at which each continues in the merged instance
	// For a part that is cut, place and base cover only the wanted rows, and strings get their
	// numbers when they are first met.
	cut   *cutting
	texts *cutWords
}

func (m *merger) add(c *Chunk) error {
	ticks, err := c.Stamps()
	if err != nil {
		return err
	}
	words, err := c.Words()
	if err != nil {
		return err
	}
	m.out.class = c.Class
	base := uint32(len(m.out.ticks))
	m.out.ticks = append(m.out.ticks, ticks...)
	numbers := make([]uint64, len(words))
	for i, w := range words {
		numbers[i] = m.word(w)
	}
	for _, g := range c.Groups {
		if err := m.group(g).add(g, base, numbers); err != nil {
			return err
		}
	}
	return nil
}

func (m *merger) group(g *Group) *groupMerger {
	same := func(a column, b Column) bool { return a.number == b.Number && a.typ == b.Type }
	for _, gm := range m.groups {
		if gm.name == g.Name && gm.indom == g.Indom && slices.EqualFunc(gm.metrics, g.Columns, same) {
			return gm
		}
	}
	gm := &groupMerger{byKey: make(map[string]int32)}
	gm.name, gm.indom = g.Name, g.Indom
	for _, c := range g.Columns {
		gm.metrics = append(gm.metrics, column{number: c.Number, typ: c.Type})
	}
	m.groups = append(m.groups, gm)
	return gm
}

func (m *groupMerger) add(g *Group, tick uint32, words []uint64) error {
	at, err := g.blocks()
	if err != nil {
		return err
	}
	insts, err := g.Instances()
	if err != nil {
		return err
	}
	block := uint32(len(m.at))
	for _, b := range at {
		m.at = append(m.at, blockAt{b.tick + tick, b.at})
	}
	part := mergePart{g: g, words: words, place: make([]int32, len(insts)), base: make([]uint32, len(insts))}
	for i := range insts {
		n := m.instance(insts[i].Key)
		part.place[i], part.base[i] = n, m.lives[n]
		m.lives[n] += insts[i].lifetime()
		m.insts[n].extend(&insts[i], block)
	}
	m.parts = append(m.parts, part)
	return nil
}

// instance returns the number of the instance with a key.
func (m *groupMerger) instance(key string) int32 {
	n, ok := m.byKey[key]
	if !ok {
		n = int32(len(m.insts))
		m.byKey[key] = n
		m.insts = append(m.insts, Instance{Key: key})
		m.lives = append(m.lives, 0)
	}
	return n
}

// extend appends the runs and names of next, shifted by block, to in.
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

func (m *groupMerger) table(desc func(number uint32) *metric.Desc, j *joiner, ticks int, atOnce uint64) (*groupTable, error) {
	cells := uint64(0)
	for _, n := range m.lives {
		cells += uint64(n) * uint64(len(m.metrics))
	}
	m.sort()
	t := m.groupTable
	for c := range t.metrics {
		col := &t.metrics[c]
		if col.desc = desc(col.number); col.desc == nil || col.desc.Type != col.typ {
			return nil, fmt.Errorf("group %s: the catalogue does not have metric %d of type %v", m.name, col.number, col.typ)
		}
	}
	if t.singly(ticks) && cells > atOnce {
		var col columnTable
		t.later = func(c int) (*columnTable, error) { return &col, m.column(&col, c, j) }
		return &t, nil
	}
	t.cols = make([]columnTable, len(t.metrics))
	for c := range t.cols {
		if err := m.column(&t.cols[c], c, j); err != nil {
			return nil, err
		}
	}
	return &t, nil
}

// sort sorts the instances into the order of rows, as a builder does.
func (m *groupMerger) sort() {
	order := arrangement(m.insts)
	insts := make([]Instance, len(order))
	place := make([]int32, len(order))
	for i, n := range order {
		insts[i] = m.insts[n]
		place[n] = int32(i)
	}
	m.insts = insts
	for _, p := range m.parts {
		for i, n := range p.place {
			p.place[i] = place[n]
		}
	}
}

// column joins column c of all parts, and reuses the memory of t.
func (m *groupMerger) column(t *columnTable, c int, j *joiner) error {
	j.reset(len(m.insts))
	text := m.metrics[c].typ == metric.String
	for i := range m.parts {
		p := &m.parts[i]
		if p.cut != nil {
			if err := p.column(c, text, j); err != nil {
				return err
			}
			continue
		}
		words := p.words
		if !text {
			words = nil
		}
		err := p.g.Series(c, nil, func(i int, s *Series) error {
			return j.add(p.place[i], p.base[i], s, words)
		})
		if err != nil {
			return err
		}
	}
	j.table(t)
	return nil
}

// A joiner collects the changes of a column in the order of its parts.
type joiner struct {
	insts []lastCell
	of    []int32 // the instance of each change
	at    []uint32
	bits  []uint64
	miss  missing
}

type lastCell struct {
	count uint32
	bits  uint64
}

// reset empties j, for a column of n series.
func (j *joiner) reset(n int) {
	j.insts = slices.Grow(j.insts[:0], n)[:n]
	clear(j.insts)
	j.of, j.at, j.bits = j.of[:0], j.at[:0], j.bits[:0]
	j.miss.reset(n)
}

var errWords = errors.New("a string has no text")

// add appends a series of a part to instance n, whose ordinals go on at base.
func (j *joiner) add(n int32, base uint32, s *Series, words []uint64) error {
	last := &j.insts[n]
	for k, bits := range s.Bits {
		if words != nil {
			if bits >= uint64(len(words)) {
				return errWords
			}
			bits = words[bits]
		}
		if last.count > 0 && last.bits == bits {
			continue
		}
		last.bits = bits
		last.count++
		j.of = append(j.of, n)
		j.at = append(j.at, s.At[k]+base)
		j.bits = append(j.bits, bits)
	}
	if len(s.miss) == 0 || s.miss[0].at != 0 {
		j.miss.add(n, missAt{base, metric.Present})
	}
	for _, x := range s.miss {
		j.miss.add(n, missAt{x.at + base, x.why})
	}
	return nil
}

// table sorts the changes by instance.
func (j *joiner) table(t *columnTable) {
	t.unit = 0
	t.off, t.at, t.bits = sized(t.off, len(j.insts)+1), sized(t.at, len(j.at)), sized(t.bits, len(j.at))
	clear(t.off)
	j.miss.sort(&t.absences)
	for i := range j.insts {
		t.off[i+1] = t.off[i] + j.insts[i].count
	}
	distribute(t.off, j.of, func(k int, at uint32) { t.at[at], t.bits[at] = j.at[k], j.bits[k] })
}

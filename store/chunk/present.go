package chunk

import "tachograph/sample/metric"

// Present returns a chunk of what b holds that is read from b's memory, so that readers of
// recent ticks need not encode and decode them. It does not change when more is appended to b.
// Info has no size or checksum.
func (b *Builder) Present(number func(*metric.Desc) uint32) (*Chunk, Info, error) {
	t := b.table(number, true)
	if err := t.check(); err != nil {
		return nil, Info{}, err
	}
	c := &Chunk{Class: t.class, codec: codecs[Version], ticks: len(t.ticks), stamps: t.ticks, words: t.words, nwords: len(t.words)}
	for _, gt := range t.groups {
		c.present(gt)
	}
	return c, t.info(), nil
}

// present adds a group that is read from memory.
func (c *Chunk) present(t *groupTable) {
	g := &Group{Name: t.name, Indom: t.indom, Blocks: len(t.at), Size: len(t.insts), chunk: c, number: len(c.Groups), at: t.at, present: t}
	for _, m := range t.metrics {
		g.Columns = append(g.Columns, Column{Number: m.number, Type: m.typ})
	}
	g.holder = &presentInstances{insts: t.insts}
	c.Groups = append(c.Groups, g)
}

// Twin returns a copy of c, which Present made. Both can be read at the same time.
func (c *Chunk) Twin() *Chunk {
	t := &Chunk{Class: c.Class, codec: c.codec, ticks: c.ticks, stamps: c.stamps, words: c.words, nwords: c.nwords}
	for _, g := range c.Groups {
		t.present(g.present)
	}
	return t
}

// each calls fn for the series of column c in the given rows; nil means all.
func (t *groupTable) each(c int, rows []int, fn func(i int, s *Series) error) error {
	col, err := t.column(c)
	if err != nil {
		return err
	}
	n := len(t.insts)
	if rows != nil {
		n = len(rows)
	}
	var s Series
	for k := range n {
		row := k
		if rows != nil {
			row = rows[k]
		}
		s = col.series(&t.insts[row], row)
		if err := fn(row, &s); err != nil {
			return err
		}
	}
	return nil
}

// presentInstances are the instances of a group that has not been encoded.
type presentInstances struct {
	insts []Instance
	rows  map[string]int // by key, made by the first find
}

func (p *presentInstances) all() ([]Instance, error)       { return p.insts, nil }
func (p *presentInstances) one(row int) (*Instance, error) { return &p.insts[row], nil }

func (p *presentInstances) find(key string) (int, error) {
	if p.rows == nil {
		p.rows = make(map[string]int, len(p.insts))
		for i := range p.insts {
			p.rows[p.insts[i].Key] = i
		}
	}
	if row, ok := p.rows[key]; ok {
		return row, nil
	}
	return -1, nil
}

func (p *presentInstances) keys(fn func(row int, key []byte)) error {
	for i := range p.insts {
		fn(i, []byte(p.insts[i].Key))
	}
	return nil
}

func (p *presentInstances) named([]int) error { return nil }

func (p *presentInstances) seek(_ *Sought, fn func(in *Instance)) error {
	for i := range p.insts {
		fn(&p.insts[i])
	}
	return nil
}

func (p *presentInstances) lives() (*lifetimes, error) {
	l := &lifetimes{list: make([]uint32, len(p.insts))}
	for i := range p.insts {
		l.list[i] = p.insts[i].lifetime()
	}
	return l, nil
}

package digest

import (
	"bytes"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
)

// A piece is what digests need of one chunk. Several digests can be made of it.
type piece struct {
	desc func(uint32) *metric.Desc

	sum     uint32       // the chunk's checksum
	g       *chunk.Group // nil if the chunk has nothing to digest
	columns []Column
	stamps  []metric.Stamp
	insts   []chunk.Instance
	cells   []Cell // by instance and column
}

// read reads a chunk into an empty piece.
func (p *piece) read(b []byte) error {
	p.sum = chunk.Checksum(b)
	c, err := chunk.Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return err
	}
	g, cols, columns := find(c, p.desc)
	if g == nil || g.Blocks == 0 {
		return nil
	}
	if p.stamps, err = g.Stamps(); err != nil {
		return err
	}
	if p.insts, err = g.Instances(); err != nil {
		return err
	}
	p.g, p.columns = g, columns
	return p.summarize(cols)
}

// summarize sums up the columns.
func (p *piece) summarize(cols []int) error {
	conts := make([]int64, len(p.stamps))
	for i := range p.stamps {
		conts[i] = p.stamps[i].Cont
	}
	n := len(cols)
	p.cells = make([]Cell, n*len(p.insts))
	for k, col := range cols {
		desc := p.desc(p.columns[k].Number)
		err := p.g.Series(col, nil, func(i int, s *chunk.Series) error {
			sum, _ := s.Summarize(desc, &p.insts[i], conts, 0, uint32(len(conts)-1))
			if sum.Count > 0 {
				p.cells[i*n+k] = Cell{Present: true, First: p.stamps[sum.FirstBlock], Last: p.stamps[sum.LastBlock],
					FirstBits: sum.First, LastBits: sum.Last, Max: sum.Max, Increase: sum.Increase, Weighted: sum.Weighted}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

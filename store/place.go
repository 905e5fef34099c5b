package store

import (
	"tachograph/store/archive"
	"tachograph/store/chunk"
	"tachograph/store/source"
)

// A Place is the location of a series in a chunk.
type Place struct {
	a               *source.Source
	ref             *archive.ChunkRef
	group, col, row int
}

func (p *Place) sameColumn(q *Place) bool {
	return p.ref == q.ref && p.group == q.group && p.col == q.col
}

// column decodes the series of a place's column in the given rows.
func (p *Place) column(rows []int, fn func(row int, in *chunk.Instance, s *chunk.Series)) error {
	c, err := p.ref.Open()
	if err != nil {
		return err
	}
	g := c.Groups[p.group]
	return g.Series(p.col, rows, func(row int, s *chunk.Series) error {
		in, err := g.Instance(row)
		if err == nil {
			fn(row, in, s)
		}
		return err
	})
}

package store

import (
	"cmp"
	"slices"

	"tachograph/sample/metric"
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

// spread returns the spread of a stored summary.
func (p *plan) spread(col *column, row int, sum *chunk.Summary) Spread {
	if !p.sel.Spread {
		return Spread{}
	}
	sketch, err := col.v.Sketch(col.col, row, sum)
	if err != nil {
		p.a.Lose(col.v.Ref.Wrong(err)) // the values themselves still give the spread
	}
	return Spread{
		Sketch: sketch,
		Place:  Place{a: p.a, ref: col.v.Ref, group: col.v.Number, col: col.col, row: row},
	}
}

// values returns the spread of a series in some of its blocks.
func (p *plan) values(s *chunk.Series, in *chunk.Instance, blocks archive.Span) Spread {
	if !p.sel.Spread {
		return Spread{}
	}
	return Spread{Values: repeated([]Repeated{}, s, in, blocks.From, blocks.To)}
}

func repeated(list []Repeated, s *chunk.Series, in *chunk.Instance, from, to uint32) []Repeated {
	s.Stretches(in, from, to, func(start, end uint32, bits uint64, why metric.Reason) {
		if why == metric.Present {
			list = append(list, Repeated{bits, uint64(end - start)})
		}
	})
	return list
}

// Values decodes the series at some places, chunk by chunk, and calls fn with the number of the
// place and its values, which are valid only during the call. What is damaged is left out and
// noted.
func (r *Reader) Values(places []Place, fn func(n int, values []Repeated)) {
	r.alone()
	order := make([]int, len(places))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		x, y := &places[i], &places[j]
		return cmp.Or(slices.Index(r.archives, x.a)-slices.Index(r.archives, y.a), cmp.Compare(x.ref.Info.First.Cont, y.ref.Info.First.Cont),
			cmp.Compare(x.ref.Info.Class, y.ref.Info.Class), x.group-y.group, x.col-y.col, x.row-y.row)
	})
	var list []Repeated
	for len(order) > 0 {
		first := &places[order[0]]
		n := 1
		for n < len(order) && first.sameColumn(&places[order[n]]) {
			n++
		}
		column := order[:n]
		order = order[n:]
		out := false
		first.a.Contain(&out, func() bool {
			rows := make([]int, 0, n)
			for _, i := range column {
				rows = append(rows, places[i].row)
			}
			err := first.column(slices.Compact(rows), func(row int, in *chunk.Instance, s *chunk.Series) {
				k, _ := slices.BinarySearchFunc(column, row, func(i, row int) int { return places[i].row - row })
				list = repeated(list[:0], s, in, 0, 1<<32-1)
				out = true
				fn(column[k], list)
				out = false
			})
			if err != nil {
				first.a.Lose(first.ref.Wrong(err))
			}
			return true
		})
		if len(order) == 0 || places[order[0]].a != first.a {
			r.release(first.a)
		}
	}
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

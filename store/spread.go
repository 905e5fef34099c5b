package store

import (
	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/chunk"
)

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

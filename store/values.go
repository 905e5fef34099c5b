package store

import (
	"cmp"
	"slices"
	"sync"

	"tachograph/store/chunk"
)

// spareValues are lists for the values of a series.
var spareValues = sync.Pool{New: func() any { return new([]Repeated) }}

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
	spare := spareValues.Get().(*[]Repeated)
	list := *spare
	defer func() {
		*spare = list
		spareValues.Put(spare)
	}()
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

package store

import (
	"cmp"
	"slices"
	"sync"

	"tachograph/store/chunk"
	"tachograph/store/source"
)

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
	q := &valuesQuestion{r: r, places: places, fn: fn}
	for len(order) > 0 {
		a := places[order[0]].a
		q.chunks = q.chunks[:0]
		for len(order) > 0 && places[order[0]].a == a {
			n := 1
			for n < len(order) && places[order[0]].ref == places[order[n]].ref {
				n++
			}
			q.chunks = append(q.chunks, order[:n])
			order = order[n:]
		}
		q.run(a)
		r.release(a)
	}
}

// A valuesQuestion asks for the values at places of one archive.
type valuesQuestion struct {
	r      *Reader
	places []Place
	fn     func(n int, values []Repeated)
	chunks [][]int // the numbers of their places
}

// decodedPlaces are the values at the places in a chunk.
type decodedPlaces struct {
	places []int
	ends   []int // in values
	values []Repeated
	lost   []error
}

// spareValues are lists for what is decoded: values are mostly asked for metric by metric.
var spareValues = sync.Pool{New: func() any { return new([window]decodedPlaces) }}

// run decodes the places in each chunk, ahead where that is possible and there are not too many.
func (q *valuesQuestion) run(a *source.Source) {
	spare := spareValues.Get().(*[window]decodedPlaces)
	defer spareValues.Put(spare)
	work := func(i int) {
		h := &spare[i%window]
		h.places, h.ends, h.values, h.lost = h.places[:0], h.ends[:0], h.values[:0], nil
		q.decode(i, func(err error) { h.lost = append(h.lost, err) }, func(place int, in *chunk.Instance, s *chunk.Series) {
			h.values = repeated(h.values, s, in, 0, 1<<32-1)
			h.places, h.ends = append(h.places, place), append(h.ends, len(h.values))
		})
	}
	use := func(i int, done func()) bool {
		out := false
		hand := func(place int, values []Repeated) {
			out = true
			q.fn(place, values)
			out = false
		}
		return a.Contain(&out, func() bool {
			h := &spare[i%window]
			if done == nil {
				q.decode(i, a.Lose, func(place int, in *chunk.Instance, s *chunk.Series) {
					h.values = repeated(h.values[:0], s, in, 0, 1<<32-1)
					hand(place, h.values)
				})
				return true
			}
			done()
			from := 0
			for n, place := range h.places {
				hand(place, h.values[from:h.ends[n]])
				from = h.ends[n]
			}
			for _, err := range h.lost {
				a.Lose(err)
			}
			return true
		})
	}
	if slices.ContainsFunc(q.chunks, func(list []int) bool { return len(list) > mostAhead }) {
		for i := range q.chunks {
			use(i, nil)
		}
		return
	}
	q.r.ahead(len(q.chunks), work, use)
}

// decode decodes the series at the places in the i-th chunk, column by column.
func (q *valuesQuestion) decode(i int, lose func(error), take func(place int, in *chunk.Instance, s *chunk.Series)) {
	for order := q.chunks[i]; len(order) > 0; {
		first, n := &q.places[order[0]], 1
		for n < len(order) && first.sameColumn(&q.places[order[n]]) {
			n++
		}
		column := order[:n]
		order = order[n:]
		rows := make([]int, 0, n)
		for _, k := range column {
			rows = append(rows, q.places[k].row)
		}
		err := first.column(slices.Compact(rows), func(row int, in *chunk.Instance, s *chunk.Series) {
			k, _ := slices.BinarySearchFunc(column, row, func(n, row int) int { return q.places[n].row - row })
			take(column[k], in, s)
		})
		if err != nil {
			lose(first.ref.Wrong(err))
		}
	}
}

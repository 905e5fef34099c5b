package store

import (
	"errors"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
)

// An emitter turns columns into runs.
type emitter struct {
	scope *scope
	yield func(*Run) bool
	run   Run
	// For gathering: the series of one metric by chunk, the shelved series, and the latest
	// shelved series by instance number.
	shelves []shelf
	shelved []shelved
	latest  []int32
	order   []int32
}

// A shelved is a series of one chunk, waiting on a shelf for its turn.
type shelved struct {
	col, place int32  // the column, and the place on its shelf
	id         uint32 // the instance's
	// next is the same instance's series in a later chunk, 0 for none.
	next int32
}

// errStop ends decoding when the consumer wants no more.
var errStop = errors.New("enough")

func (e *emitter) emit(p *plan) bool {
	for _, name := range p.names {
		if e.scope.over() {
			return false
		}
		cols := p.columns[name]
		p.sift(cols)
		var ok bool
		if cols[0].desc.Indom == metric.NoIndom || len(cols) == 1 || e.alone(p, cols) {
			ok = e.direct(p, cols)
		} else {
			ok = e.gathered(p, cols)
		}
		if !ok {
			return false
		}
	}
	return true
}

// alone reports whether all columns have one row, of the same instance.
func (e *emitter) alone(p *plan, cols []column) bool {
	var key string
	for i := range cols {
		v := cols[i].v
		if v.Size != 1 || p.filter(&cols[i]).count != 1 || !p.named(v) {
			return false
		}
		in, err := v.Instance(0)
		if err != nil || i > 0 && in.Key != key {
			return false
		}
		key = in.Key
	}
	return true
}

// wantedOf returns the columns that have wanted rows.
func (e *emitter) wantedOf(p *plan, cols []column) []wantedColumn {
	out := make([]wantedColumn, 0, len(cols))
	for i := range cols {
		if e.scope.over() {
			break
		}
		if f := p.filter(&cols[i]); f.count > 0 && p.named(cols[i].v) {
			out = append(out, wantedColumn{&cols[i], f.rows})
		}
	}
	return out
}

// decode decodes each column, ahead where possible, and calls use for it.
func (e *emitter) decode(cols []wantedColumn, work func(i int), use func(i int, done func()) bool) {
	if apart(cols) {
		e.scope.ahead(len(cols), work, use)
		return
	}
	for i := range cols {
		if !use(i, nil) {
			return
		}
	}
}

// direct emits series as they are decoded. This is possible where a metric's columns cannot
// hold the same instance twice out of turn.
func (e *emitter) direct(p *plan, all []column) bool {
	goOn := true
	cols := e.wantedOf(p, all)
	e.room(min(len(cols), window))
	e.decode(cols, func(i int) { e.shelves[i%window].fill(&cols[i]) }, func(i int, done func()) bool {
		col := &cols[i]
		var err error
		if done == nil {
			err = col.v.SeriesUntil(col.col, col.rows, col.until(), func(row int, s *chunk.Series) error {
				if goOn = e.series(p, col.column, row, s); !goOn {
					return errStop
				}
				return nil
			})
		} else {
			done()
			h := &e.shelves[i%window]
			for n := 0; n < len(h.rows) && goOn; n++ {
				s := h.Series(n)
				goOn = e.series(p, col.column, int(h.rows[n]), &s)
			}
			err = h.err
		}
		if goOn && err != nil {
			p.a.Lose(col.v.Ref.Wrong(err))
		}
		goOn = goOn && !e.scope.over()
		return goOn
	})
	return goOn
}

// room makes sure that there are n shelves.
func (e *emitter) room(n int) {
	for len(e.shelves) < n {
		e.shelves = append(e.shelves, shelf{})
	}
}

// gathered decodes a metric's columns in all chunks before it emits, so that the runs of an
// instance come together. It keeps only changes.
func (e *emitter) gathered(p *plan, all []column) bool {
	e.shelved, e.order = e.shelved[:0], e.order[:0]
	cols := e.wantedOf(p, all)
	e.room(len(cols))
	fill := func(i int) { e.shelves[i].fill(&cols[i]) }
	e.decode(cols, fill, func(i int, done func()) bool {
		if done == nil {
			fill(i)
		} else {
			done()
		}
		h := &e.shelves[i]
		for n, row := range h.rows {
			e.note(int32(i), int32(n), e.scope.instance(cols[i].v, int(row)))
		}
		if h.err != nil {
			p.a.Lose(cols[i].v.Ref.Wrong(h.err))
		}
		return !e.scope.over()
	})
	if e.scope.over() {
		return false
	}
	for i := range e.shelved {
		e.latest[e.shelved[i].id] = -1
	}
	for _, first := range e.order {
		for n := first; ; n = e.shelved[n].next {
			at := &e.shelved[n]
			h := &e.shelves[at.col]
			s := h.Series(int(at.place))
			if !e.series(p, cols[at.col].column, int(h.rows[at.place]), &s) {
				return false
			}
			if e.shelved[n].next == 0 {
				break
			}
		}
	}
	return true
}

// note notes the series that has just been put on the shelf.
func (e *emitter) note(col, place int32, in *metric.Instance) {
	n := int32(len(e.shelved))
	id := uint32(0)
	if in != nil {
		id = uint32(in.ID)
	}
	for int(id) >= len(e.latest) {
		e.latest = append(e.latest, -1)
	}
	if before := e.latest[id]; before >= 0 {
		e.shelved[before].next = n
	} else {
		e.order = append(e.order, n)
	}
	e.latest[id] = n
	e.shelved = append(e.shelved, shelved{col: col, place: place, id: id})
}

// series emits the values of one series in the spans of its column.
func (e *emitter) series(p *plan, col *column, row int, s *chunk.Series) bool {
	v, run := col.v, &e.run
	in, err := v.Instance(row)
	if err != nil {
		p.a.Lose(v.Ref.Wrong(err))
		return true
	}
	run.Archive, run.Metric = &p.a.Info, col.desc
	run.Instance = nil
	run.Wall, run.Cont, run.Bits, run.Words, run.Miss = run.Wall[:0], run.Cont[:0], run.Bits[:0], nil, nil
	if col.desc.Type == metric.String {
		if run.Words, err = v.Chunk.Words(); err != nil {
			p.a.Lose(v.Ref.Wrong(err))
			return true
		}
	}
	for _, sp := range col.spans {
		// Mostly the instance was there all the time, and its times are taken unchanged.
		there := len(in.Runs) == 1 && in.Runs[0].Start <= sp.From && in.Runs[0].End > sp.To
		if there {
			run.Wall = append(run.Wall, v.Wall[sp.From:sp.To+1]...)
			run.Cont = append(run.Cont, v.Cont[sp.From:sp.To+1]...)
		}
		s.Stretches(in, sp.From, sp.To, func(start, end uint32, bits uint64, why metric.Reason) {
			n := len(run.Bits)
			if !there {
				run.Wall = append(run.Wall, v.Wall[start:end]...)
				run.Cont = append(run.Cont, v.Cont[start:end]...)
			}
			if why != metric.Present {
				bits = 0
				if run.Miss == nil {
					run.Miss = make([]metric.Reason, n, n+int(end-start))
				}
			}
			count := int(end - start)
			run.Bits = repeat(run.Bits, bits, count)
			if run.Miss != nil {
				run.Miss = repeat(run.Miss, why, count)
			}
		})
	}
	if len(run.Wall) == 0 {
		return true
	}
	run.Instance = e.scope.instance(v, row)
	return e.yield(run)
}

// repeat appends n times v to s.
func repeat[T any](s []T, v T, n int) []T {
	s = slices.Grow(s, n)
	k := len(s)
	s = s[:k+n]
	for i := range s[k:] {
		s[k+i] = v
	}
	return s
}

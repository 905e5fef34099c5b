package store

import (
	"iter"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/archive"
)

// Summarize yields summaries of each numeric series that sel asks for, in the order of Select:
// for each series one or more in the order of time, one for each chunk, or one for all chunks of
// an archive if sel allows that; these come before the others of the archive. Chunks that are wholly
// in the window are not decoded where they hold summaries. With Prior, the value before the
// window has a summary of its own.
func (r *Reader) Summarize(sel Selection) iter.Seq[*Summary] {
	return func(yield func(*Summary) bool) {
		out := false
		hand := handing(&r.scope, &out, yield)
		r.plans(&sel, &out, sel.Whole, func(p *filePlan) bool {
			for _, s := range p.whole {
				if !hand(s) {
					return false
				}
			}
			return r.summaries(p.plan, hand)
		})
	}
}

const (
	// batch is how many metrics are summed up before any of them is handed out, where several
	// processors sum up.
	batch = 8
	// mostAhead is how many series a column may have for that.
	mostAhead = 256
)

// summaries sums up the numeric metrics of a plan and hands out their summaries.
func (r *Reader) summaries(p *plan, hand func(*Summary) bool) bool {
	t := &summing{r: r, p: p, hand: hand, place: make(map[*metric.Instance]int), kept: make(map[*archive.View]*storedSums)}
	for names := range slices.Chunk(p.names, batch) {
		if !t.collect(names) || !t.run() {
			return false
		}
	}
	return true
}

// A summing sums up the columns of some metrics, and hands out one metric after the other.
type summing struct {
	r       *Reader
	p       *plan
	hand    func(*Summary) bool
	columns []summedColumn
	chunks  [][]int // the columns of each chunk
	kept    map[*archive.View]*storedSums
	place   map[*metric.Instance]int
	order   [][]*Summary // of the present metric, by series
}

// A summedColumn is a column to sum up, with what was found ahead of its turn.
type summedColumn struct {
	*column
	filter *filter
	kept   *storedSums
	found  []foundSum
	lost   []error
	err    error
}

type foundSum struct {
	row    int
	sum    summed
	spread Spread
}

// collect lists the columns of metrics that have wanted rows.
func (t *summing) collect(names []string) bool {
	t.columns, t.chunks = t.columns[:0], t.chunks[:0]
	places := make(map[*archive.ChunkRef]int)
	for _, name := range names {
		cols := t.p.columns[name]
		if cols[0].desc.Type == metric.String {
			continue
		}
		for i := range cols {
			col := &cols[i]
			if t.r.over() {
				return false
			}
			f := t.p.filter(col)
			if f.count == 0 || !t.p.named(col.v) {
				continue
			}
			if t.kept[col.v] == nil {
				t.kept[col.v] = t.p.storedOf(col.v)
			}
			n, ok := places[col.v.Ref]
			if !ok {
				n = len(t.chunks)
				places[col.v.Ref] = n
				t.chunks = append(t.chunks, nil)
			}
			t.chunks[n] = append(t.chunks[n], len(t.columns))
			var found []foundSum
			if n := len(t.columns); n < cap(t.columns) {
				found = t.columns[:n+1][n].found[:0] // of a metric before
			}
			t.columns = append(t.columns, summedColumn{column: col, filter: f, kept: t.kept[col.v], found: found})
		}
	}
	return true
}

// run sums up the columns: chunk by chunk where processors run ahead, else each in its turn.
func (t *summing) run() bool {
	ahead := t.p.a.Info.Step == 0 && t.r.helpers(len(t.chunks)) > 0 &&
		!slices.ContainsFunc(t.columns, func(c summedColumn) bool { return c.filter.count > mostAhead })
	if ahead {
		t.r.ahead(len(t.chunks), t.find, func(_ int, done func()) bool {
			done()
			return !t.r.over()
		})
	}
	for i := range t.columns {
		if t.r.over() {
			return false
		}
		col := &t.columns[i]
		if !ahead {
			col.err = t.p.summarize(col.column, col.filter, col.kept, t.add)
		}
		for n := range col.found {
			x := &col.found[n]
			t.add(col.column, x.row, &x.sum, x.spread)
		}
		for _, err := range col.lost {
			t.p.a.Lose(err)
		}
		if col.err != nil {
			t.p.a.Lose(col.v.Ref.Wrong(col.err))
		}
		if i+1 == len(t.columns) || t.columns[i+1].desc.Name != col.desc.Name {
			if !t.handOut() {
				return false
			}
		}
	}
	return true
}

// find sums up the columns of the i-th chunk ahead of their turn.
func (t *summing) find(i int) {
	for _, n := range t.chunks[i] {
		col := &t.columns[n]
		lose := func(err error) { col.lost = append(col.lost, err) }
		col.err = t.p.sum(col.column, col.filter, nil, col.kept, lose, func(_ *column, row int, s *summed, sp Spread) {
			col.found = append(col.found, foundSum{row, *s, sp})
		})
	}
}

// add notes a summary of the present metric.
func (t *summing) add(col *column, row int, s *summed, sp Spread) {
	in := t.r.instance(col.v, row)
	i, ok := t.place[in]
	if !ok {
		i = len(t.order)
		t.place[in] = i
		t.order = append(t.order, nil)
	}
	out := col.summary(t.p.a, in, s)
	out.Spread = sp
	t.order[i] = append(t.order[i], out)
}

// handOut hands out the summaries of the present metric.
func (t *summing) handOut() bool {
	clear(t.place)
	order := t.order
	t.order = nil
	for _, series := range order {
		for _, s := range series {
			if !t.hand(s) {
				return false
			}
		}
	}
	return true
}

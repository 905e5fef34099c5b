package store

import (
	"iter"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
)

// Select returns the values that sel wants: archive by archive in the order of
// time, in an archive metric by metric in the order of names, in a metric
// instance by instance, each in one or more runs in the order of time. What is
// damaged is left out and noted in the archive's Damage.
func (r *Reader) Select(sel Selection) iter.Seq2[*Run, error] {
	return func(yield func(*Run, error) bool) {
		e := emitter{r: r, yield: func(run *Run) bool { return yield(run, nil) }}
		r.walk(&sel, e.emit)
	}
}

// walk calls fn with what sel wants of each archive, until it returns false:
// first with the values before the window, if they are asked for.
func (r *Reader) walk(sel *Selection, fn func(*plan) bool) {
	prior := make(map[instanceID]*archive) // the last archive of each boot so far
	began := make(map[instanceID]bool)     // whether the window has begun in it
	for _, a := range r.archivesOf(sel) {
		boot := instanceID{host: a.info.Host.ID, boot: a.info.BootID}
		if a.info.From > sel.end() {
			break
		}
		if a.info.To < sel.From {
			prior[boot] = a
			continue
		}
		if sel.Prior && !began[boot] {
			began[boot] = true
			if !r.priors(sel, prior[boot], a, fn) {
				return
			}
			delete(prior, boot)
		}
		if !fn(r.plan(a, sel)) {
			return
		}
		r.release(a)
	}
	if sel.Prior {
		for _, a := range r.archives {
			if prior[instanceID{host: a.info.Host.ID, boot: a.info.BootID}] == a && !r.priors(sel, nil, a, fn) {
				return
			}
		}
	}
}

// priors calls fn with the last values before the window: those in a, and of
// metrics that a has none of, those of the archive before it.
func (r *Reader) priors(sel *Selection, before, a *archive, fn func(*plan) bool) bool {
	p := r.before(a, sel)
	if before != nil {
		older := *sel
		older.Metrics = nil
		for _, d := range before.descs {
			if d == nil || p.columns[d.Name] != nil {
				continue
			}
			if sel.Metrics == nil || contains(sel.Metrics, d.Name) {
				older.Metrics = append(older.Metrics, d.Name)
			}
		}
		if older.Metrics != nil && !fn(r.before(before, &older)) {
			return false
		}
		r.release(before)
	}
	return fn(p)
}

// An emitter turns columns into runs.
type emitter struct {
	r     *Reader
	yield func(*Run) bool
	run   Run
	arena arena
}

// A piece is a series of one chunk, waiting for its turn.
type piece struct {
	col *column
	row int
	s   chunk.Series
	// next is the piece of the same instance in a later chunk, 0 for none.
	next int
}

func (e *emitter) emit(p *plan) bool {
	for _, name := range p.names {
		cols := p.columns[name]
		var ok bool
		if cols[0].desc.Indom == metric.NoIndom || len(cols) == 1 {
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

// direct emits series as they are decoded: possible where a metric's columns
// cannot hold the same instance twice out of turn.
func (e *emitter) direct(p *plan, cols []column) bool {
	goOn := true
	for i := range cols {
		col := &cols[i]
		f := p.filter(e.r, col.v)
		if f.count == 0 || !e.names(p, col.v) {
			continue
		}
		err := col.v.Series(col.col, f.has, func(row int, s *chunk.Series) error {
			if goOn = e.series(p, col, row, s); !goOn {
				return errStop
			}
			return nil
		})
		if !goOn {
			return false
		}
		if err != nil {
			p.a.hurt(col.v.ref.wrong(err))
		}
	}
	return true
}

// gathered decodes a metric's columns in all chunks before it emits, so that
// the runs of an instance come together. What is kept is only changes.
func (e *emitter) gathered(p *plan, cols []column) bool {
	pieces := []piece{{}} // number 0 stands for none
	var order []int
	last := make(map[*metric.Instance]int)
	e.arena.reset()
	for i := range cols {
		col := &cols[i]
		f := p.filter(e.r, col.v)
		if f.count == 0 || !e.names(p, col.v) {
			continue
		}
		err := col.v.Series(col.col, f.has, func(row int, s *chunk.Series) error {
			in := e.r.instance(col.v, row)
			n := len(pieces)
			pieces = append(pieces, piece{col: col, row: row, s: e.arena.keep(s)})
			if before, ok := last[in]; ok {
				pieces[before].next = n
			} else {
				order = append(order, n)
			}
			last[in] = n
			return nil
		})
		if err != nil {
			p.a.hurt(col.v.ref.wrong(err))
		}
	}
	for _, first := range order {
		for n := first; n != 0; n = pieces[n].next {
			if !e.series(p, pieces[n].col, pieces[n].row, &pieces[n].s) {
				return false
			}
		}
	}
	return true
}

// names makes sure that the instances of v can be told.
func (e *emitter) names(p *plan, v *view) bool {
	if v.Indom == metric.NoIndom || p.sel.Keys != nil {
		return true // there are none, or the filter has found them
	}
	if _, err := v.Instances(); err != nil {
		p.a.hurt(v.ref.wrong(err))
		return false
	}
	return true
}

// series emits the values of one series in the spans of its column.
func (e *emitter) series(p *plan, col *column, row int, s *chunk.Series) bool {
	v, run := col.v, &e.run
	roster, err := v.Roster()
	if err != nil {
		p.a.hurt(v.ref.wrong(err))
		return true
	}
	run.Archive, run.Metric = &p.a.info, col.desc
	run.Instance = nil
	run.Wall, run.Cont, run.Bits, run.Strs, run.Miss = run.Wall[:0], run.Cont[:0], run.Bits[:0], run.Strs[:0], nil
	var words []string
	text := col.desc.Type == metric.String
	if text {
		if words, err = v.chunk.Words(); err != nil {
			p.a.hurt(v.ref.wrong(err))
			return true
		}
	}
	for _, sp := range col.spans {
		s.Stretches(&roster[row], sp.from, sp.to, func(start, end uint32, bits uint64, why metric.Reason) {
			n := len(run.Wall)
			run.Wall = append(run.Wall, v.wall[start:end]...)
			run.Cont = append(run.Cont, v.cont[start:end]...)
			if why != metric.Present {
				bits = 0
				if run.Miss == nil {
					run.Miss = make([]metric.Reason, n, n+int(end-start))
				}
			}
			for ; start < end; start++ {
				switch {
				case !text:
					run.Bits = append(run.Bits, bits)
				case why == metric.Present && bits < uint64(len(words)):
					run.Strs = append(run.Strs, words[bits])
				default:
					run.Strs = append(run.Strs, "")
				}
				if run.Miss != nil {
					run.Miss = append(run.Miss, why)
				}
			}
		})
	}
	if len(run.Wall) == 0 {
		return true
	}
	run.Instance = e.r.instance(v, row)
	return e.yield(run)
}

// An arena holds copies of series in few allocations.
type arena struct {
	at   []uint32
	bits []uint64
}

const arenaBlock = 8 << 10

func (a *arena) reset() { *a = arena{} }

func (a *arena) keep(s *chunk.Series) chunk.Series {
	n := len(s.At)
	if cap(a.at)-len(a.at) < n {
		a.at = make([]uint32, 0, max(n, arenaBlock))
		a.bits = make([]uint64, 0, max(n, arenaBlock))
	}
	k := len(a.at)
	a.at = append(a.at, s.At...)
	a.bits = append(a.bits, s.Bits...)
	out := *s
	out.At, out.Bits = a.at[k:k+n:k+n], a.bits[k:k+n:k+n]
	return out
}

package store

import (
	"errors"
	"iter"
	"math"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
)

// errStop ends a decoding whose consumer wants no more.
var errStop = errors.New("enough")

// Summarize returns what each numeric series that sel wants comes to, in the
// order of Select and one summary per series and archive. Chunks that are
// wholly in the window are not decoded where they hold summaries. Prior means
// nothing here.
func (r *Reader) Summarize(sel Selection) iter.Seq2[*Summary, error] {
	return func(yield func(*Summary, error) bool) {
		for _, a := range r.archivesOf(&sel) {
			if a.info.From > sel.end() {
				break
			}
			if a.info.To < sel.From {
				continue
			}
			p := r.plan(a, &sel)
			stored := make(map[*view]map[int]chunk.Summary)
			for _, name := range p.names {
				if p.columns[name][0].desc.Type == metric.String {
					continue
				}
				for _, s := range r.summaries(p, p.columns[name], stored) {
					if !yield(s, nil) {
						return
					}
				}
			}
			r.release(a)
		}
	}
}

// summaries adds up one metric over its columns.
func (r *Reader) summaries(p *plan, cols []column, stored map[*view]map[int]chunk.Summary) []*Summary {
	var order []*Summary
	byInstance := make(map[*metric.Instance]*Summary)
	add := func(col *column, row int, s *chunk.Summary) {
		in := r.instance(col.v, row)
		sum := byInstance[in]
		if sum == nil {
			sum = &Summary{Archive: &p.a.info, Metric: col.desc, Instance: in}
			byInstance[in] = sum
			order = append(order, sum)
		}
		sum.add(col.v, s)
	}
	for i := range cols {
		col := &cols[i]
		f := p.filter(r, col.v)
		if f.count == 0 {
			continue
		}
		if err := p.summarize(col, f, stored, add); err != nil {
			p.a.hurt(col.v.ref.wrong(err))
		}
	}
	return order
}

// summarize calls add with the summaries of one column.
func (p *plan) summarize(col *column, f *filter, stored map[*view]map[int]chunk.Summary, add func(*column, int, *chunk.Summary)) error {
	v := col.v
	insts, err := v.Roster()
	if v.Indom != metric.NoIndom && err == nil {
		insts, err = v.Instances()
	}
	if err != nil {
		return err
	}
	var have map[int]chunk.Summary
	if v.whole(col.spans) {
		if have, err = p.storedSummaries(v, stored); err != nil {
			p.a.hurt(v.ref.wrong(err))
		}
	}
	base := col.col * v.Size
	left := 0
	for row := range insts {
		if !f.has(row) {
			continue
		}
		if s, ok := have[base+row]; ok {
			add(col, row, &s)
		} else {
			left++
		}
	}
	if left == 0 {
		return nil
	}
	want := func(row int) bool {
		_, ok := have[base+row]
		return !ok && f.has(row)
	}
	return v.Series(col.col, want, func(row int, s *chunk.Series) error {
		for _, sp := range col.spans {
			if sum, ok := s.Summarize(col.desc, &insts[row], v.cont, sp.from, sp.to); ok {
				add(col, row, &sum)
			}
		}
		return nil
	})
}

// storedSummaries are those of v by series, decoded once for all metrics of
// the plan.
func (p *plan) storedSummaries(v *view, stored map[*view]map[int]chunk.Summary) (map[int]chunk.Summary, error) {
	if m, ok := stored[v]; ok {
		return m, nil
	}
	m := make(map[int]chunk.Summary)
	stored[v] = m
	desc := func(col int) *metric.Desc {
		n := v.Columns[col].Number
		if d := p.a.desc(n); int(n) < len(p.wanted) && p.wanted[n] && d != nil && d.Type == v.Columns[col].Type {
			return d
		}
		return nil
	}
	err := v.Summaries(desc, func(col, row int, s *chunk.Summary) { m[col*v.Size+row] = *s })
	return m, err
}

// add continues s with what came next.
func (s *Summary) add(v *view, next *chunk.Summary) {
	s.Missing += next.Missing
	if next.Count == 0 {
		return
	}
	first := Point{v.wall[next.FirstBlock], v.cont[next.FirstBlock], next.First}
	last := Point{v.wall[next.LastBlock], v.cont[next.LastBlock], next.Last}
	d := s.Metric
	if s.Count == 0 {
		s.First, s.Min, s.Max = first, next.Min, next.Max
	} else {
		s.Weighted += metric.Number(d.Type, next.First) * float64(first.Cont-s.Last.Cont) / 1e9
		if d.Sem == metric.Counter {
			gain, how := metric.Increase(d, s.Last.Bits, next.First)
			s.Increase += gain
			switch how {
			case metric.Wrapped:
				s.Wraps++
			case metric.Restarted:
				s.Resets++
			}
		}
		if math.IsNaN(metric.Number(d.Type, s.Min)) || chunk.Less(d.Type, next.Min, s.Min) {
			s.Min = next.Min
		}
		if math.IsNaN(metric.Number(d.Type, s.Max)) || chunk.Less(d.Type, s.Max, next.Max) {
			s.Max = next.Max
		}
	}
	s.Count += next.Count
	s.Sum += next.Sum
	s.Weighted += next.Weighted
	s.Increase += next.Increase
	s.Resets += next.Resets
	s.Wraps += next.Wraps
	s.Last = last
}

package store

import (
	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/chunk"
	"tachograph/store/layout"
	"tachograph/store/source"
)

// summarize calls add with the summaries of one column, in the order of its rows.
func (p *plan) summarize(col *column, f *filter, kept *storedSums, add func(*column, int, *summed, Spread)) error {
	v := col.v
	if !p.named(v) {
		return nil
	}
	there, err := p.presence(v)
	if err != nil {
		return err
	}
	if p.a.Info.Step != 0 && !layout.IsReduced(col.desc.Name) {
		if steps, err := p.companions(col); steps != nil || err != nil {
			if err != nil {
				return err
			}
			steps.there = there
			return p.summarizeSteps(steps, f.rows, add)
		}
	}
	return p.sum(col, f, there, kept, p.a.Lose, add)
}

// sum is summarize for a column that is not of steps and whose instances' names are read. It
// changes nothing but what its chunk has decoded. there is nil unless the archive records it.
func (p *plan) sum(col *column, f *filter, there *presence, kept *storedSums, lose func(error), add func(*column, int, *summed, Spread)) error {
	v := col.v
	var have map[int]chunk.Summary
	climbs := p.sel.Means && there != nil && col.desc.Sem == metric.Counter
	if v.Whole(col.spans) && !climbs {
		var err error
		if have, err = p.storedSummaries(v, f.rows, kept); err != nil {
			lose(v.Ref.Wrong(err))
		}
	}
	base := col.col * v.Size
	left := f.rows
	if len(have) > 0 {
		left = make([]int, 0, f.count)
		for n := range f.count {
			row := f.row(n)
			if _, ok := have[base+row]; !ok {
				left = append(left, row)
			}
		}
	}
	n := 0
	var out summed
	stored := func(before int) {
		for ; len(have) > 0 && n < f.count && f.row(n) < before; n++ {
			row := f.row(n)
			if s, ok := have[base+row]; ok {
				out = summed{Summary: s}
				there.bound(row, &out)
				add(col, row, &out, p.spread(col, row, &s, lose))
			}
		}
	}
	err := v.SeriesUntil(col.col, left, col.until(), func(row int, s *chunk.Series) error {
		stored(row)
		in, err := v.Instance(row)
		if err != nil {
			return err
		}
		for _, sp := range col.spans {
			if sum, ok := s.Summarize(col.desc, in, v.Cont, sp.From, sp.To); ok {
				out = summed{Summary: sum}
				there.bound(row, &out)
				if climbs {
					out.Weighted -= there.climbed(col.desc, row, s, in, sp)
				}
				add(col, row, &out, p.values(s, in, sp))
			}
		}
		return nil
	})
	stored(v.Size)
	return err
}

// storedSums are the stored summaries of a view by series, once they are decoded.
type storedSums struct {
	descs []*metric.Desc // by column; nil where it is not wanted
	done  bool
	of    map[int]chunk.Summary
}

// storedOf returns what it takes to decode the stored summaries of a view.
func (p *plan) storedOf(v *archive.View) *storedSums {
	k := &storedSums{descs: make([]*metric.Desc, len(v.Columns))}
	for col := range v.Columns {
		n := v.Columns[col].Number
		if int(n) >= len(p.wanted) || !p.wanted[n] {
			continue
		}
		if d := p.a.Desc(n); d != nil && d.Type == v.Columns[col].Type {
			k.descs[col] = d
		}
	}
	return k
}

// storedSummaries returns the stored summaries of the rows of v by series, decoded once for all
// metrics of the plan. It skips counters that fell: what a fall means is judged by the values,
// as it is for all other questions.
func (p *plan) storedSummaries(v *archive.View, rows []int, stored *storedSums) (map[int]chunk.Summary, error) {
	if stored.done {
		return stored.of, nil
	}
	m := make(map[int]chunk.Summary)
	stored.done, stored.of = true, m
	err := v.Summaries(func(col int) *metric.Desc { return stored.descs[col] }, rows, func(col, row int, s *chunk.Summary) {
		if s.Resets+s.Wraps == 0 {
			m[col*v.Size+row] = *s
		}
	})
	return m, err
}

// summary converts a chunk's summary into a Summary of the archive.
func (c *column) summary(a *source.Source, in *metric.Instance, s *summed) *Summary {
	out := new(Summary)
	c.fill(out, a, in, s)
	return out
}

func (c *column) fill(out *Summary, a *source.Source, in *metric.Instance, s *summed) {
	*out = Summary{Archive: &a.Info, Metric: c.desc, Instance: in, Count: s.Count, Missing: s.Missing}
	if s.Count == 0 {
		return
	}
	out.First, out.Lead = Point{c.v.Wall[s.FirstBlock] - s.began, c.v.Cont[s.FirstBlock] - s.began, s.First}, s.lead
	out.Last = Point{c.v.Wall[s.LastBlock] - s.ended, c.v.Cont[s.LastBlock] - s.ended, s.Last}
	out.Averaged = s.averaged
	out.Since, out.Until = max(0, s.since-s.began), s.until-s.ended
	out.Every, out.Came = s.every, s.came
	out.Min, out.Max, out.Sum, out.Weighted = s.Min, s.Max, s.Sum, s.Weighted
	out.Increase, out.Resets, out.Wraps, out.Steepest = s.Increase, s.Resets, s.Wraps, s.Steepest
}

// spread returns the spread of a stored summary.
func (p *plan) spread(col *column, row int, sum *chunk.Summary, lose func(error)) Spread {
	if !p.sel.Spread {
		return Spread{}
	}
	sketch, err := col.v.Sketch(col.col, row, sum)
	if err != nil {
		lose(col.v.Ref.Wrong(err)) // the values themselves still give the spread
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

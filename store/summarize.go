package store

import (
	"iter"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/chunk"
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
			stored := make(map[*archive.View]map[int]chunk.Summary)
			for _, name := range p.names {
				if p.columns[name][0].desc.Type == metric.String {
					continue
				}
				for _, series := range r.summaries(p.plan, p.columns[name], stored) {
					for _, s := range series {
						if !hand(s) {
							return false
						}
					}
				}
			}
			return true
		})
	}
}

// summaries sums up one metric over its columns, by series.
func (r *Reader) summaries(p *plan, cols []column, stored map[*archive.View]map[int]chunk.Summary) [][]*Summary {
	var order [][]*Summary
	place := make(map[*metric.Instance]int)
	add := func(col *column, row int, s *summed, sp Spread) {
		in := r.instance(col.v, row)
		i, ok := place[in]
		if !ok {
			i = len(order)
			place[in] = i
			order = append(order, nil)
		}
		out := col.summary(p.a, in, s)
		out.Spread = sp
		order[i] = append(order[i], out)
	}
	for i := range cols {
		if r.over() {
			return nil
		}
		col := &cols[i]
		f := p.filter(col)
		if f.count == 0 {
			continue
		}
		if err := p.summarize(col, f, stored, add); err != nil {
			p.a.Lose(col.v.Ref.Wrong(err))
		}
	}
	return order
}

package store

import (
	"iter"

	"tachograph/sample/metric"
	"tachograph/store/archive"
)

// Readings yields when the instances that sel asks for were read, whether or not a value was
// found: the wall clocks of Select's runs, without decoding any value. Metrics that are read
// together share one list. The list is valid until the next one.
func (r *Reader) Readings(sel Selection) iter.Seq2[*metric.Instance, []int64] {
	return func(yield func(*metric.Instance, []int64) bool) {
		out := false
		hand := handing(&r.scope, &out, func(x readings) bool { return yield(x.in, x.wall) })
		r.walk(&sel, &out, func(p *filePlan) bool {
			done := make(map[*archive.View]bool)
			var list []int64
			for _, name := range p.names {
				for i := range p.columns[name] {
					col := &p.columns[name][i]
					if r.over() {
						return false
					}
					if done[col.v] || col.v.Indom == metric.NoIndom {
						continue
					}
					done[col.v] = true
					f := p.filter(col)
					if !p.named(col.v) {
						continue
					}
					for n := range f.count {
						row := f.row(n)
						inst, err := col.v.Instance(row)
						if err != nil {
							p.a.Lose(col.v.Ref.Wrong(err))
							break
						}
						list = list[:0]
						for _, run := range inst.Runs {
							for _, sp := range col.spans {
								if lo, hi := max(run.Start, sp.From), min(run.End, sp.To+1); lo < hi {
									list = append(list, col.v.Wall[lo:hi]...)
								}
							}
						}
						if len(list) > 0 && !hand(readings{r.instance(col.v, row), list}) {
							return false
						}
					}
				}
			}
			return true
		})
	}
}

type readings struct {
	in   *metric.Instance
	wall []int64
}

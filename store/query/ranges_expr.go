package query

import (
	"iter"
	"math"

	"tachograph/sample/metric"
)

// RangesOf sums up targets: metrics through Ranges, expressions by computing
// them.
func RangesOf(a Archive, targets []Target, r RangeRequest) iter.Seq2[*Range, error] {
	return func(yield func(*Range, error) bool) {
		r.Metrics = nil
		for _, t := range targets {
			if t.Metric != nil {
				r.Metrics = append(r.Metrics, t.Metric.Name)
			}
		}
		for s, err := range Ranges(a, r) {
			if !yield(s, err) || err != nil {
				return
			}
		}
		for _, t := range targets {
			if t.Expr != nil && !rangeExpr(a, t.Expr, r, yield) {
				return
			}
		}
	}
}

// rangeExpr sums up an expression; with steps, each step by itself.
func rangeExpr(a Archive, e *Expr, r RangeRequest, yield func(*Range, error) bool) bool {
	step := r.Step
	r.Step = 0
	if e.Counter() && r.Mode == Shown {
		e = e.Rate()
	}
	first, _, _ := Covered(a, r.Window)
	stepped := r
	stepped.Step = step
	var steps division
	if step > 0 {
		steps = stepped.division(max(first, r.From))
	}
	type part struct {
		*tally
		n    int64
		last int64
	}
	open := make(map[string]*part)
	var order []string
	finish := func(p *part) bool {
		if step > 0 {
			p.From, p.To = max(steps.edge(p.n-1), r.From), steps.edge(p.n)-1
			if r.To != 0 {
				p.To = min(p.To, r.To)
			}
		}
		return yield(p.finish(), nil)
	}
	for s, err := range Evaluate(a, e, r.Request) {
		if err != nil {
			return yield(nil, err)
		}
		key := s.Archive.Host.ID
		if s.Instance != nil {
			key += "/" + s.Instance.Key
		}
		p := open[key]
		if p == nil {
			p = &part{n: -1}
			open[key] = p
			order = append(order, key)
		}
		for i, wall := range s.Wall {
			n := int64(0)
			if step > 0 {
				n = steps.number(wall + 1)
			}
			if p.tally == nil || p.n != n {
				if p.tally != nil && !finish(p) {
					return false
				}
				p.tally, p.n, p.last = &tally{same: true}, n, 0
				p.Archive, p.Instance, p.Name, p.Units, p.Type, p.Rate = s.Archive, s.Instance, s.Name, s.Units, metric.F64, s.Rate
				p.Increase = math.NaN()
				if r.Percentiles {
					p.dist = &distribution{}
				}
			}
			v := s.Value(i)
			if v.Miss != metric.Present {
				p.Missing++
				continue
			}
			sec := 0.0
			if p.last != 0 {
				sec = float64(wall-p.last) / 1e9
			}
			p.last = wall
			p.add(wall, v, sec)
		}
	}
	for _, key := range order {
		if !finish(open[key]) {
			return false
		}
	}
	return true
}

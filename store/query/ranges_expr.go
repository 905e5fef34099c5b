package query

import (
	"iter"
	"math"

	"tachograph/sample/metric"
)

// RangesOf sums up targets: metrics through Ranges, expressions by computing them.
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

// rangeExpr sums up an expression; with steps, each step separately.
func rangeExpr(a Archive, e *Expr, r RangeRequest, yield func(*Range, error) bool) bool {
	if e.Counter() && r.Mode == Shown {
		e = e.Rate()
	}
	x := &exprRanges{r: r, yield: yield, byKey: make(map[string]*exprRange)}
	if r.Step > 0 {
		first, _, _ := Covered(a, r.Window)
		x.steps = r.division(max(first, r.From))
	}
	values := r.Request
	values.Step = 0
	for s, err := range Evaluate(a, e, values) {
		if err != nil {
			return yield(nil, err)
		}
		if !x.add(s) {
			return false
		}
	}
	for _, one := range x.order {
		if !x.finish(one) {
			return false
		}
	}
	return true
}

// exprRanges sums up the series of an expression.
type exprRanges struct {
	r     RangeRequest
	steps division // if there are any
	yield func(*Range, error) bool
	byKey map[string]*exprRange // by host and instance
	order []*exprRange
}

// exprRange is one of them, in the current step.
type exprRange struct {
	*tally
	step int64 // its number; 0 where there are none
	last int64 // instant of the last value in it; 0 if there is none yet
}

// add adds a stretch of a series. It reports whether to go on.
func (x *exprRanges) add(s *Series) bool {
	key := s.Archive.Host.ID
	if s.Instance != nil {
		key += "/" + s.Instance.Key
	}
	one := x.byKey[key]
	if one == nil {
		one = &exprRange{}
		x.byKey[key] = one
		x.order = append(x.order, one)
	}
	for i, wall := range s.Wall {
		step := int64(0)
		if x.r.Step > 0 {
			step = x.steps.number(wall + 1)
		}
		if one.tally == nil || step != one.step {
			if one.tally != nil && !x.finish(one) {
				return false
			}
			*one = exprRange{tally: x.begin(s), step: step}
		}
		one.add(wall, s.Value(i))
	}
	return true
}

func (x *exprRanges) begin(s *Series) *tally {
	t := &tally{same: true}
	t.Archive, t.Instance, t.Name, t.Units, t.Type, t.Rate = s.Archive, s.Instance, s.Name, s.Units, metric.F64, s.Rate
	t.Increase = math.NaN()
	if x.r.Percentiles {
		t.dist = &distribution{}
	}
	return t
}

// add counts a value, which counts for the time since the one before it.
func (one *exprRange) add(wall int64, v metric.Value) {
	if v.Miss != metric.Present {
		one.Missing++
		return
	}
	seconds := 0.0
	if one.last != 0 {
		seconds = float64(wall-one.last) / 1e9
	}
	one.last = wall
	one.tally.add(wall, v, seconds)
}

// finish yields the current step.
func (x *exprRanges) finish(one *exprRange) bool {
	if x.r.Step > 0 {
		one.From, one.To = max(x.steps.edge(one.step-1), x.r.From), x.steps.edge(one.step)-1
		if x.r.To != 0 {
			one.To = min(one.To, x.r.To)
		}
	}
	return x.yield(one.tally.finish(), nil)
}

package store

import (
	"iter"

	"tachograph/store/archive"
	"tachograph/store/source"
)

// Select yields the values that sel asks for: archive by archive in the order of time, within
// an archive metric by metric in the order of names, within a metric instance by instance, each
// in one or more runs in the order of time. What is damaged is left out and noted in the
// archive's Damage.
func (r *Reader) Select(sel Selection) iter.Seq[*Run] {
	return func(yield func(*Run) bool) {
		out := false
		hand := handing(&r.scope, &out, yield)
		r.walk(&sel, &out, func(p *filePlan) bool { return p.Runs(hand) })
	}
}

// walk calls fn with the plan of sel for each archive, until it returns false: first with the
// values before the window, if sel asks for them. *out is true while fn yields something.
func (r *Reader) walk(sel *Selection, out *bool, fn func(*filePlan) bool) {
	r.plans(sel, out, false, fn)
}

// plans is walk. If whole is set, a plan has summaries of the whole archive instead of columns
// where the archive stores such.
func (r *Reader) plans(sel *Selection, out *bool, whole bool, fn func(*filePlan) bool) {
	r.alone()
	e := &emitter{scope: &r.scope}
	var parts []Part
	for _, a := range r.archives {
		parts = append(parts, &filePart{a, e, out, whole})
	}
	walk(parts, sel, func(p Plan) bool {
		if of := p.(*filePlan); r.over() || !fn(of) {
			return false
		} else if of.done {
			r.release(of.a)
		}
		return true
	})
}

// A filePart is a source as a Part of one question.
type filePart struct {
	*source.Source
	e   *emitter
	out *bool // true while the consumer runs
	// whole says that the summaries of the whole archive are wanted where there are any.
	whole bool
}

func (p *filePart) Describe() *archive.Info { return &p.Info }

func (p *filePart) Contain(fn func() bool) bool { return p.Source.Contain(p.out, fn) }

func (p *filePart) Within(sel *Selection) Plan {
	sel = limited(p.Source, sel)
	var whole []*Summary
	if p.whole {
		whole, sel = p.e.scope.wholes(p.Source, sel)
	}
	return &filePlan{p.e.scope.within(p.Source, sel), p.e, true, whole}
}

func (p *filePart) Before(sel *Selection, later Plan) Plan {
	return &filePlan{p.e.scope.before(p.Source, sel, later), p.e, later != nil, nil}
}

// A filePlan is the plan of a filePart.
type filePlan struct {
	*plan
	e    *emitter
	done bool // nothing more of the archive is read for this question after the plan
	// whole are summaries that need no columns.
	whole []*Summary
}

// Has reports whether the plan has a column of a metric.
func (p *filePlan) Has(metric string) bool { return p.columns[metric] != nil }

// Runs yields the values of the columns.
func (p *filePlan) Runs(yield func(*Run) bool) bool {
	p.e.yield = yield
	return p.e.emit(p.plan)
}

package store

import (
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/chunk"
)

// filter returns the filter of the column's rows. All columns of a view share one, because they
// have the same spans.
func (p *plan) filter(col *column) *filter {
	f := p.filters[col.v]
	if f == nil {
		f = p.sound(p.newFilter(col))
		p.filters[col.v] = f
	}
	return f
}

// sound returns f, or a filter that accepts no rows where making f failed.
func (p *plan) sound(f *filter, err error) *filter {
	if err != nil {
		p.a.Lose(err)
		return some([]int{})
	}
	return f
}

// newFilter asks the selection about the rows of a column, about each instance once per archive.
// It does not keep instances that the selection rejects, and skips those that were absent from
// the window where that saves work.
func (p *plan) newFilter(col *column) (*filter, error) {
	sel, v := p.sel, col.v
	if p.ofCohort(v) {
		return some(sel.Cohort.rows(v)), nil
	}
	all := sel.Instance == nil && sel.Keys == nil
	if v.Indom != metric.NoIndom && !all {
		if k := p.keys(v.Indom); k.few {
			found, err := k.find(v)
			return p.those(v, found, err)
		}
	}
	rows, ok, err := col.there()
	if err != nil {
		return nil, v.Ref.Wrong(err)
	}
	if ok {
		if !all {
			rows, err = p.accepted(v, rows)
		}
		return &filter{rows: rows, count: len(rows), named: true}, err
	}
	if all || v.Indom == metric.NoIndom {
		return &filter{count: v.Size}, nil
	}
	insts, err := v.Instances()
	if err != nil {
		return nil, v.Ref.Wrong(err)
	}
	rows = []int{}
	for i := range insts {
		if p.asks(v.Indom, &insts[i]) {
			rows = append(rows, i)
		}
	}
	return some(rows), nil
}

// accepted returns the rows that the selection accepts.
func (p *plan) accepted(v *archive.View, rows []int) ([]int, error) {
	kept := rows[:0]
	for _, row := range rows {
		in, err := v.Instance(row)
		if err != nil {
			return nil, v.Ref.Wrong(err)
		}
		if p.asks(v.Indom, in) {
			kept = append(kept, row)
		}
	}
	return kept, nil
}

// asks asks the selection about an instance, once.
func (p *plan) asks(indom string, in *chunk.Instance) bool {
	id := [2]string{indom, in.Key}
	yes, asked := p.asked[id]
	if !asked {
		probe := describe(in)
		yes = p.sel.Instance(indom, &probe)
		p.asked[id] = yes
	}
	return yes
}

// ofCohort reports whether the rows of v are divided into cohorts.
func (p *plan) ofCohort(v *archive.View) bool { return p.sel.Cohort != nil && metric.PerBoot(v.Indom) }

// those returns a filter of the found rows, except those that the selection rejects.
func (p *plan) those(v *archive.View, found []int, err error) (*filter, error) {
	if err != nil {
		return nil, err
	}
	rows := []int{}
	for _, i := range found {
		in, err := v.Instance(i)
		if err != nil {
			return nil, v.Ref.Wrong(err)
		}
		if p.sel.Instance == nil || p.asks(v.Indom, in) {
			rows = append(rows, i)
		}
	}
	slices.Sort(rows)
	return some(slices.Compact(rows)), nil
}

// keys returns the keys that the plan wants of a domain: those that the selection lists, or
// those of the instances that it accepts by some name.
func (p *plan) keys(indom string) *keys {
	k := p.chosen[indom]
	if k != nil {
		return k
	}
	k = &keys{}
	p.chosen[indom] = k
	switch sel := p.sel; {
	case sel.Keys != nil:
		if sel.keySet == nil {
			sel.keySet = chunk.NewKeys(sel.Keys)
		}
		k.few, k.Keys = true, sel.keySet
	case sel.Instance != nil && sel.Sought != nil:
		p.seek(indom, k)
	}
	return k
}

// seek looks in all groups of a domain for instances that the selection accepts.
func (p *plan) seek(indom string, k *keys) {
	c := collector{seen: make(map[string]bool), accept: func(in *chunk.Instance) bool {
		probe := describe(in)
		return p.sel.Instance(indom, &probe)
	}}
	asked := make(map[*archive.View]bool)
	views := make(map[*archive.ChunkRef][]*archive.View)
	var refs []*archive.ChunkRef
	for _, name := range p.names {
		for i := range p.columns[name] {
			v := p.columns[name][i].v
			if v.Indom != indom || asked[v] {
				continue
			}
			asked[v] = true
			if views[v.Ref] == nil {
				refs = append(refs, v.Ref)
			}
			views[v.Ref] = append(views[v.Ref], v)
		}
	}
	p.scope.ahead(len(refs), func(i int) {
		for _, v := range views[refs[i]] {
			_ = v.Seek(p.sel.Sought, ignore) // Errors are reported below.
		}
	}, func(i int, done func()) bool {
		if done != nil {
			done()
		}
		for _, v := range views[refs[i]] {
			if err := v.Seek(p.sel.Sought, c.add); err != nil {
				p.a.Lose(v.Ref.Wrong(err))
			}
		}
		return !p.scope.over()
	})
	var list []string
	list, k.few = c.keys()
	k.Keys = chunk.NewKeys(list)
}

// named makes sure that the names of v's wanted instances are read.
func (p *plan) named(v *archive.View) bool {
	if f := p.filters[v]; f != nil && f.named || v.Indom == metric.NoIndom || p.keys(v.Indom).few {
		return true // there are no instances, or the filter has read their names
	}
	var err error
	if p.sel.Cohort != nil {
		err = v.Named(p.filters[v].rows)
	} else {
		_, err = v.Instances()
	}
	if err != nil {
		p.a.Lose(v.Ref.Wrong(err))
	}
	return err == nil
}

// sift finds out ahead which rows of the columns are wanted.
func (p *plan) sift(cols []column) {
	var views []*archive.View
	var firsts []*column
	seen := make(map[*archive.ChunkRef]bool)
	for i := range cols {
		if v := cols[i].v; v.Indom != metric.NoIndom && p.filters[v] == nil {
			if seen[v.Ref] {
				return
			}
			seen[v.Ref] = true
			views, firsts = append(views, v), append(firsts, &cols[i])
			p.keys(v.Indom)
		}
	}
	found := make([][]int, len(views))
	errs := make([]error, len(views))
	p.scope.ahead(len(views), func(i int) {
		v := views[i]
		if k := p.chosen[v.Indom]; p.ofCohort(v) {
			_ = v.Named(p.sel.Cohort.rows(v))
		} else if k.few {
			found[i], errs[i] = k.find(v)
		} else if _, ok, _ := firsts[i].there(); !ok {
			_, _ = v.Instances()
		}
	}, func(i int, done func()) bool {
		if done == nil {
			return false
		}
		done()
		v := views[i]
		if k := p.chosen[v.Indom]; k.few && !p.ofCohort(v) {
			p.filters[v] = p.sound(p.those(v, found[i], errs[i]))
		}
		return !p.scope.over()
	})
}

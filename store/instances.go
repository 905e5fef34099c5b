package store

import (
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/chunk"
)

func (r *Reader) instanceID(a *archive.File, indom, key string) instanceID {
	id := instanceID{host: a.Info.Host.ID, indom: indom, key: key}
	if metric.PerBoot(indom) {
		id.boot = a.Info.BootID
	}
	return id
}

// instance returns the reader's instance for row i of v: the same pointer for the same instance
// wherever it occurs. Its names must have been read before. It carries the latest name seen so
// far.
func (r *Reader) instance(v *archive.View, i int) *metric.Instance {
	if v.Indom == metric.NoIndom {
		return nil
	}
	mine := v.Known(i)
	if *mine != nil {
		return *mine
	}
	in, err := v.Instance(i)
	if err != nil {
		return nil // the caller has read it before
	}
	id := r.instanceID(v.Ref.Archive, v.Indom, in.Key)
	k := r.instances[id]
	if k == nil {
		r.nextID++
		k = &known{Instance: metric.Instance{ID: r.nextID, Key: in.Key}, named: -1 << 63}
		r.instances[id] = k
	}
	if n := len(in.Names); n > 0 {
		// Rev is 1 for an instance with only one name seen so far. A second name, even an
		// earlier one, raises it.
		k.Rev += uint32(n - 1)
		if k.Name != in.Names[0].Name || !slices.Equal(k.Labels, in.Names[0].Labels) {
			k.Rev++
		}
		if last := &in.Names[n-1]; int(last.Block) < len(v.Wall) && v.Wall[last.Block] >= k.named {
			k.named = v.Wall[last.Block]
			k.Name, k.Labels = last.Name, last.Labels
		}
	}
	*mine = &k.Instance
	return *mine
}

// A filter says which rows of a view are wanted.
type filter struct {
	rows  []int // in rising order; nil for all
	count int
	named bool // their names have been read
}

// some returns a filter that accepts rows.
func some(rows []int) *filter { return &filter{rows: rows, count: len(rows)} }

// filter asks the selection about the rows of a column, about each instance once per archive.
// It does not keep instances that the selection rejects, and skips those that were absent from
// the window where that saves work.
func (r *Reader) filter(p *plan, col *column) (*filter, error) {
	sel, v := p.sel, col.v
	if p.ofCohort(v) {
		return sel.Cohort.filter(v), nil
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

// find returns the rows that have the keys, without reading the other names.
func (k *keys) find(v *archive.View) (found []int, err error) {
	if sought(len(k.list), v.Size) {
		for _, key := range k.list {
			i, err := v.Find(key)
			if err != nil {
				return nil, v.Ref.Wrong(err)
			}
			if i >= 0 {
				found = append(found, i)
			}
		}
	} else if err := v.Keys(func(row int, key []byte) {
		if k.set()[string(key)] {
			found = append(found, row)
		}
	}); err != nil {
		return nil, v.Ref.Wrong(err)
	}
	return found, nil
}

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

func contains(keys []string, key string) bool {
	for _, k := range keys {
		if k == key {
			return true
		}
	}
	return false
}

// describe returns an instance with its latest name in the chunk.
func describe(in *chunk.Instance) metric.Instance {
	m := metric.Instance{Key: in.Key}
	if n := len(in.Names); n > 0 {
		m.Name, m.Labels = in.Names[n-1].Name, in.Names[n-1].Labels
	}
	return m
}

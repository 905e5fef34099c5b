package store

import (
	"cmp"
	"math"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/source"
)

// inTime returns the chunks of a in the order of the clock that is never set.
func inTime(a *source.Source) []*archive.ChunkRef {
	refs := slices.Clone(a.Chunks)
	slices.SortStableFunc(refs, func(x, y *archive.ChunkRef) int { return cmp.Compare(x.Info.First.Cont, y.Info.First.Cont) })
	return refs
}

// summarizeChunk fills the list with the summaries of each metric of one chunk in turn. It
// drops what was decoded for them unless the chunk was open before.
func (r *Reader) summarizeChunk(a *source.Source, sel *Selection, ref *archive.ChunkRef, list *[]Summary, yield func() bool) bool {
	p := r.newPlan(a, sel)
	kept := ref.Opened != nil
	defer func() {
		if !kept {
			ref.Opened = nil
		}
	}()
	if !p.wantsOf(ref) {
		return true
	}
	p.each(ref, func(v *archive.View, col int, d *metric.Desc) {
		if spans := r.spans(v, sel); spans != nil && d.Type != metric.String {
			p.columns[d.Name] = append(p.columns[d.Name], column{v: v, col: col, desc: d, spans: spans})
		}
	})
	p.finish()
	stored := make(map[*archive.View]*storedSums)
	instances := make(map[*archive.View][]*metric.Instance)
	for _, name := range p.names {
		cols := p.columns[name]
		*list = (*list)[:0]
		for i := range cols {
			col := &cols[i]
			f := p.filter(col)
			if f.count == 0 {
				continue
			}
			if stored[col.v] == nil {
				stored[col.v] = p.storedOf(col.v)
			}
			known := instances[col.v]
			if known == nil {
				known = make([]*metric.Instance, col.v.Size)
				instances[col.v] = known
			}
			err := p.summarize(col, f, stored[col.v], func(col *column, row int, s *summed, _ Spread) {
				*list = append(*list, Summary{})
				col.fill(&(*list)[len(*list)-1], a, passing(col.v, known, row), s)
			})
			if err != nil {
				p.a.Lose(col.v.Ref.Wrong(err))
			}
		}
		if len(*list) > 0 && !yield() {
			return false
		}
	}
	return true
}

// wantsOf reports whether a chunk can hold anything wanted: chunks hold one class, but a metric
// may have been moved to another class.
func (p *plan) wantsOf(ref *archive.ChunkRef) bool {
	if ref.Lacks(p.wanted) {
		return false
	}
	c, err := ref.Open()
	if err != nil {
		p.a.Lose(err)
		return false
	}
	for _, g := range c.Groups {
		for k := range g.Columns {
			if n := g.Columns[k].Number; int64(n) < math.MaxInt32 && int(n) < len(p.wanted) && p.wanted[n] {
				return true
			}
		}
	}
	return false
}

// passing returns an instance for row i of v that the reader does not keep.
func passing(v *archive.View, known []*metric.Instance, i int) *metric.Instance {
	if v.Indom == metric.NoIndom {
		return nil
	}
	if known[i] == nil {
		inst, err := v.Instance(i)
		if err != nil {
			return nil // The caller has read it before.
		}
		in := describe(inst)
		known[i] = &in
	}
	return known[i]
}

package store

import (
	"cmp"
	"fmt"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/chunk"
	"tachograph/store/source"
)

// A plan says what a selection reads from one archive: for each metric its columns in the order
// of time.
type plan struct {
	scope   *scope
	a       *source.Source
	sel     *Selection
	wanted  []bool // by metric number
	names   []string
	columns map[string][]column
	filters map[*archive.View]*filter
	asked   map[[2]string]bool // domain, key: what sel.Instance answered
	chosen  map[string]*keys   // by domain
	without schemas            // schemas that have no wanted column
	there   map[*archive.View]*presence
}

// newPlan returns a plan without columns.
func (s *scope) newPlan(a *source.Source, sel *Selection) *plan {
	return &plan{scope: s, a: a, sel: sel, wanted: wanted(a, sel), columns: make(map[string][]column),
		filters: make(map[*archive.View]*filter), asked: make(map[[2]string]bool),
		chosen: make(map[string]*keys)}
}

// wanted maps metric numbers to whether sel wants them.
func wanted(a *source.Source, sel *Selection) []bool {
	w := make([]bool, len(a.Descs))
	if sel.Metrics == nil {
		for i, d := range a.Descs {
			w[i] = d != nil
		}
		return w
	}
	for _, name := range sel.Metrics {
		for _, n := range a.ByName[name] {
			w[n] = true
		}
	}
	return w
}

// chunksIn returns the chunks of a that have something in the window of sel.
func chunksIn(a *source.Source, sel *Selection) (refs []*archive.ChunkRef) {
	for _, ref := range a.Chunks {
		if ref.Info.From <= sel.End() && ref.Info.To >= sel.From && !sel.Cohort.misses(ref) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// within finds the columns of a that hold values in the window of sel.
func (s *scope) within(a *source.Source, sel *Selection) *plan {
	p := s.newPlan(a, sel)
	if !slices.Contains(p.wanted, true) {
		return p
	}
	refs := chunksIn(a, sel)
	s.ahead(len(refs), func(i int) { p.warm(refs[i]) }, func(i int, done func()) bool {
		if done != nil {
			done()
		}
		p.each(refs[i], func(v *archive.View, col int, d *metric.Desc) {
			if spans := s.spans(v, sel); spans != nil {
				p.columns[d.Name] = append(p.columns[d.Name], column{v: v, col: col, desc: d, spans: v.Cut(spans, sel.Cuts)})
			}
		})
		return !s.over()
	})
	p.finish()
	return p
}

// warm opens a chunk and reads the times of its wanted groups, so that each finds them read. It
// leaves errors for each to report.
func (p *plan) warm(ref *archive.ChunkRef) {
	if p.without.has(ref.Info.Schema) || ref.Lacks(p.wanted) {
		return
	}
	c, err := ref.Open()
	if err != nil {
		return
	}
	for i, g := range c.Groups {
		for k := range g.Columns {
			if n := g.Columns[k].Number; int(n) < len(p.wanted) && p.wanted[n] {
				if !p.passes(g, func(error) {}) {
					_, _ = c.View(i)
				}
				break
			}
		}
	}
}

// each calls fn for the wanted columns of a chunk.
func (p *plan) each(ref *archive.ChunkRef, fn func(v *archive.View, col int, d *metric.Desc)) {
	if p.without.has(ref.Info.Schema) || ref.Lacks(p.wanted) {
		return
	}
	found := false
	defer func() {
		if !found {
			p.without.add(ref.Info.Schema)
		}
	}()
	c, err := ref.Open()
	if err != nil {
		found = true // as far as is known
		p.a.Lose(err)
		return
	}
	for i, g := range c.Groups {
		if !p.wantsAny(g) {
			continue
		}
		found = true
		if p.passes(g, func(err error) { p.a.Lose(ref.Wrong(err)) }) {
			continue
		}
		for k := range g.Columns {
			n := g.Columns[k].Number
			if int(n) >= len(p.wanted) || !p.wanted[n] || p.a.Descs[n].Type != g.Columns[k].Type {
				continue
			}
			v, err := c.View(i)
			if err != nil {
				p.a.Lose(err)
				break
			}
			fn(v, k, p.a.Effective(n, ref.Info.Class))
		}
	}
}

// wantsAny reports whether any of a group's columns is wanted.
func (p *plan) wantsAny(g *chunk.Group) bool {
	for i := range g.Columns {
		n := g.Columns[i].Number
		if int(n) >= len(p.wanted) {
			p.a.Lose(fmt.Errorf("metric %d is not in the catalogue", n))
		} else if p.wanted[n] {
			return true
		}
	}
	return false
}

// passes reports whether a group holds none of the wanted keys, provided that these are few. It
// does so before anything else of the group is read.
func (p *plan) passes(g *chunk.Group, lose func(error)) bool {
	if p.sel.Keys == nil || g.Indom == metric.NoIndom || !chunk.Few(len(p.sel.Keys), g.Size) {
		return false
	}
	for _, key := range p.sel.Keys {
		i, err := g.Find(key)
		if err != nil {
			lose(err)
		}
		if i >= 0 {
			return false
		}
	}
	return true
}

// finish sorts the columns of each metric by time, on the clock that is never set.
func (p *plan) finish() {
	for name, cols := range p.columns {
		p.names = append(p.names, name)
		slices.SortStableFunc(cols, func(x, y column) int { return cmp.Compare(x.v.Ref.Info.First.Cont, y.v.Ref.Info.First.Cont) })
	}
	slices.Sort(p.names)
}

// before makes a plan with only the last block before the window, for each metric and class
// that sel asks for, without the metrics that later has, if it is not nil.
func (s *scope) before(a *source.Source, sel *Selection, later Plan) *plan {
	p := s.newPlan(a, sel)
	for n, w := range p.wanted {
		p.wanted[n] = w && (later == nil || !later.Has(a.Descs[n].Name))
	}
	type place struct {
		class metric.Class
		name  string
	}
	found := make(map[place]bool)
	names := 0
	seen := make(map[string]bool)
	for n, w := range p.wanted {
		if w && !seen[a.Descs[n].Name] {
			seen[a.Descs[n].Name] = true
			names++
		}
	}
	inClass := make(map[metric.Class]int)
	// The window begins in the first chunk of a class that reaches into it. Later chunks are
	// not before the window, even if the clock was set back in them.
	begin := make(map[metric.Class]*archive.ChunkRef)
	for _, ref := range a.Chunks {
		if ref.Info.From <= sel.End() && ref.Info.To >= sel.From && begin[ref.Info.Class] == nil {
			begin[ref.Info.Class] = ref
		}
	}
	for i := len(a.Chunks) - 1; i >= 0 && !s.over(); i-- {
		ref := a.Chunks[i]
		class := ref.Info.Class
		if begin[class] == ref {
			begin[class] = nil
		}
		if inClass[class] == names || begin[class] != nil || ref.Info.From >= sel.From || ref.Info.To < s.earliest(ref, sel) {
			continue
		}
		p.each(ref, func(v *archive.View, col int, d *metric.Desc) {
			if found[place{class, d.Name}] {
				return
			}
			b := s.lastBefore(v, sel)
			if b < 0 {
				return
			}
			found[place{class, d.Name}] = true
			inClass[class]++
			p.columns[d.Name] = append(p.columns[d.Name], column{v: v, col: col, desc: d, spans: []archive.Span{{From: uint32(b), To: uint32(b)}}})
		})
	}
	p.finish()
	return p
}

// presence returns the presence of v's group, from the plan's cache if it is there.
func (p *plan) presence(v *archive.View) (*presence, error) {
	if x, ok := p.there[v]; ok {
		return x, nil
	}
	x, err := presenceIn(p.a.File, v)
	if err != nil {
		return nil, err
	}
	if p.there == nil {
		p.there = make(map[*archive.View]*presence)
	}
	p.there[v] = x
	return x, nil
}

// limited returns sel limited to what to ask of a: nothing that an earlier archive answers.
func limited(a *source.Source, sel *Selection) *Selection {
	if a.Covered <= sel.From {
		return sel
	}
	part := *sel
	part.From = a.Covered
	return &part
}

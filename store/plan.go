package store

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
)

// A column is one metric in one group of one chunk.
type column struct {
	v    *view
	col  int
	desc *metric.Desc
	// spans are the blocks in the window.
	spans []span
}

// A plan is what a selection comes to in one archive: for each metric its
// columns in the order of time.
type plan struct {
	a       *source
	sel     *Selection
	wanted  []bool // by metric number
	names   []string
	columns map[string][]column
	filters map[*view]*filter
	asked   map[[2]string]bool // domain, key: what sel.Instance said
	without map[uint32]bool    // schemas that have no wanted column
}

func (sel *Selection) end() int64 {
	if sel.To == 0 {
		return math.MaxInt64
	}
	return sel.To
}

// archivesOf are the archives that sel may want something of.
func (r *Reader) archivesOf(sel *Selection) []*source {
	var out []*source
	for _, a := range r.archives {
		if sel.Hosts != nil && !slices.Contains(sel.Hosts, a.info.Host.ID) {
			continue
		}
		out = append(out, a)
	}
	return out
}

// wanted maps metric numbers to whether sel wants them.
func (a *source) wanted(sel *Selection) []bool {
	w := make([]bool, len(a.descs))
	if sel.Metrics == nil {
		for i, d := range a.descs {
			w[i] = d != nil
		}
		return w
	}
	for _, name := range sel.Metrics {
		for _, n := range a.byName[name] {
			w[n] = true
		}
	}
	return w
}

// plan finds the columns of a that hold values in the window of sel.
func (r *Reader) plan(a *source, sel *Selection) *plan {
	p := &plan{a: a, sel: sel, columns: make(map[string][]column), filters: make(map[*view]*filter), asked: make(map[[2]string]bool), without: make(map[uint32]bool)}
	p.wanted = a.wanted(sel)
	if !slices.Contains(p.wanted, true) {
		return p
	}
	for _, ref := range a.chunks {
		if ref.info.From <= sel.end() && ref.info.To >= sel.From {
			p.each(ref, func(v *view, col int, d *metric.Desc) {
				if spans := v.spans(sel.From, sel.end()); spans != nil {
					p.columns[d.Name] = append(p.columns[d.Name], column{v: v, col: col, desc: d, spans: spans})
				}
			})
		}
	}
	p.finish()
	return p
}

// each calls fn for the wanted columns of a chunk.
func (p *plan) each(ref *chunkRef, fn func(v *view, col int, d *metric.Desc)) {
	if p.without[ref.info.Schema] {
		return
	}
	found := false
	defer func() {
		if !found {
			p.without[ref.info.Schema] = true
		}
	}()
	c, err := ref.open()
	if err != nil {
		found = true // for all that is known
		p.a.hurt(err)
		return
	}
	for i, g := range c.Groups {
		if !p.wantsAny(g) {
			continue
		}
		found = true
		if p.sel.Keys != nil && g.Indom != metric.NoIndom && !p.holdsKey(g, ref) {
			continue
		}
		for k := range g.Columns {
			n := g.Columns[k].Number
			if int(n) >= len(p.wanted) || !p.wanted[n] || p.a.descs[n].Type != g.Columns[k].Type {
				continue
			}
			v, err := c.view(i)
			if err != nil {
				p.a.hurt(err)
				break
			}
			fn(v, k, p.a.effective(n, ref.info.Class))
		}
	}
}

// wantsAny reports whether any of a group's columns is wanted.
func (p *plan) wantsAny(g *chunk.Group) bool {
	for i := range g.Columns {
		n := g.Columns[i].Number
		if int(n) >= len(p.wanted) {
			p.a.hurt(fmt.Errorf("store: metric %d is not in the catalogue", n))
		} else if p.wanted[n] {
			return true
		}
	}
	return false
}

// holdsKey reports whether one of the wanted keys is in a group; that is found
// out before anything else of the group is read.
func (p *plan) holdsKey(g *chunk.Group, ref *chunkRef) bool {
	for _, key := range p.sel.Keys {
		i, err := g.Find(key)
		if err != nil {
			p.a.hurt(ref.wrong(err))
		}
		if i >= 0 {
			return true
		}
	}
	return false
}

// finish brings the columns of each metric into the order of time, which is
// that of the clock that is never set.
func (p *plan) finish() {
	for name, cols := range p.columns {
		p.names = append(p.names, name)
		sort.SliceStable(cols, func(i, j int) bool {
			return cols[i].v.ref.info.First.Cont < cols[j].v.ref.info.First.Cont
		})
	}
	sort.Strings(p.names)
}

// before makes a plan that has, of each metric and class that sel wants, only
// the last block before the window.
func (r *Reader) before(a *source, sel *Selection) *plan {
	p := &plan{a: a, sel: sel, columns: make(map[string][]column), filters: make(map[*view]*filter), asked: make(map[[2]string]bool), without: make(map[uint32]bool)}
	p.wanted = a.wanted(sel)
	type place struct {
		class metric.Class
		name  string
	}
	found := make(map[place]bool)
	names := 0
	seen := make(map[string]bool)
	for n, w := range p.wanted {
		if w && !seen[a.descs[n].Name] {
			seen[a.descs[n].Name] = true
			names++
		}
	}
	inClass := make(map[metric.Class]int)
	// The window begins in the first chunk of a class that reaches into it:
	// later ones are not before it, even if the clock was set back in them.
	begin := make(map[metric.Class]*chunkRef)
	for _, ref := range a.chunks {
		if ref.info.From <= sel.end() && ref.info.To >= sel.From && begin[ref.info.Class] == nil {
			begin[ref.info.Class] = ref
		}
	}
	for i := len(a.chunks) - 1; i >= 0; i-- {
		ref := a.chunks[i]
		class := ref.info.Class
		if begin[class] == ref {
			begin[class] = nil
		}
		if inClass[class] == names || begin[class] != nil || ref.info.From >= sel.From {
			continue
		}
		p.each(ref, func(v *view, col int, d *metric.Desc) {
			if found[place{class, d.Name}] {
				return
			}
			b := v.lastBefore(sel)
			if b < 0 {
				return
			}
			found[place{class, d.Name}] = true
			inClass[class]++
			p.columns[d.Name] = append(p.columns[d.Name], column{v: v, col: col, desc: d, spans: []span{{uint32(b), uint32(b)}}})
		})
	}
	p.finish()
	return p
}

// lastBefore is the block that came before the first one in the window, or the
// last of all if none is in it; -1 if that is not before the window.
func (v *view) lastBefore(sel *Selection) int {
	b := len(v.wall) - 1
	if spans := v.spans(sel.From, sel.end()); spans != nil {
		b = int(spans[0].from) - 1
	}
	for b >= 0 && v.wall[b] >= sel.From {
		b--
	}
	return b
}

// filter is what sel wants of the rows of v.
func (p *plan) filter(r *Reader, v *view) *filter {
	f := p.filters[v]
	if f == nil {
		var err error
		if f, err = r.filter(p, v); err != nil {
			p.a.hurt(err)
			f = &filter{rows: make([]bool, v.Size)}
		}
		p.filters[v] = f
	}
	return f
}

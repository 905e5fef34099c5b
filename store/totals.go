package store

import (
	"iter"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/digest"
)

// A Part is some of an answer of Total: summaries, or totals.
type Part struct {
	Summaries []Summary
	Totals    *Totals
}

// Totals is what came and went within some chunks that lie wholly in a window:
// its members have been handed out as summaries, its crowds have not.
type Totals struct {
	Archive *archive.Info
	*digest.Digest
	Descs []*metric.Desc // parallel to Columns; nil where a metric is not wanted
}

// Total returns what SummarizeByChunk does, but takes the digests of chunks where
// there are some: then the summaries of a metric are those of the members, over
// all chunks of the digest, and the digest itself comes behind them. Where decode
// says so the chunks are decoded all the same.
func (r *Reader) Total(sel Selection, decode func(*Totals) bool) iter.Seq[Part] {
	return func(yield func(Part) bool) {
		var list []Summary
		out := false
		hand := handing(&out, yield)
		summaries := func() bool { return hand(Part{Summaries: list}) }
		for _, a := range r.archivesOf(&sel) {
			if a.Info.From > sel.end() || a.Info.To < sel.From {
				continue
			}
			var totals map[*archive.ChunkRef]*Totals
			var digested map[*archive.ChunkRef]bool
			a.contain(&out, func() bool {
				totals, digested = a.totals(&sel, decode)
				return true
			})
			for _, ref := range a.inTime() {
				if ref.Info.From > sel.end() || ref.Info.To < sel.From {
					continue
				}
				goOn := a.contain(&out, func() bool {
					if t := totals[ref]; t != nil {
						return t.summarize(&sel, &list, summaries) && hand(Part{Totals: t})
					}
					return digested[ref] || r.summarizeChunk(a, &sel, ref, &list, summaries)
				})
				if !goOn {
					return
				}
			}
		}
	}
}

// totals are those of an archive that serve a selection, by their first chunks,
// and the other chunks that they are of.
func (a *source) totals(sel *Selection, decode func(*Totals) bool) (map[*archive.ChunkRef]*Totals, map[*archive.ChunkRef]bool) {
	all, digested := make(map[*archive.ChunkRef]*Totals), make(map[*archive.ChunkRef]bool)
	wanted := a.wanted(sel)
	for i := 0; i < len(a.Chunks); i++ {
		first := a.Chunks[i]
		if first.Info.From < sel.From || first.Info.To > sel.end() {
			continue
		}
		d := first.Digest(a.Chunks[i+1:])
		if d == nil {
			continue
		}
		refs := a.Chunks[i : i+len(d.Sums)]
		inside := !slices.ContainsFunc(refs, func(r *archive.ChunkRef) bool { return r.Info.From < sel.From || r.Info.To > sel.end() })
		t := a.digestTotals(d, first, wanted)
		if !inside || t == nil || decode(t) {
			continue
		}
		all[first] = t
		for _, r := range refs[1:] {
			digested[r] = true
		}
		i += len(refs) - 1
	}
	return all, digested
}

// digestTotals are the totals of a digest, nil if that lacks what is wanted.
func (a *source) digestTotals(d *digest.Digest, first *archive.ChunkRef, wanted []bool) *Totals {
	t := &Totals{Archive: &a.Info, Digest: d, Descs: make([]*metric.Desc, len(d.Columns))}
	has := make([]bool, len(wanted))
	for k := range d.Columns {
		n := d.Columns[k].Number
		desc := a.Desc(n)
		if desc == nil || desc.Tally() != d.Columns[k].Tally || desc.Indom != d.Indom {
			return nil
		}
		if int(n) < len(wanted) && wanted[n] {
			t.Descs[k] = a.Effective(n, first.Info.Class)
			has[n] = true
		}
	}
	if !lacking(first, wanted, has) {
		return t
	}
	return nil
}

// lacking reports whether a chunk has a wanted metric that its digest does not
// have.
func lacking(first *archive.ChunkRef, wanted, has []bool) bool {
	if slices.Equal(wanted, has) {
		return false
	}
	if first.Opened == nil {
		defer func() { first.Opened = nil }()
	}
	c, err := first.Open()
	if err != nil {
		return true
	}
	for _, g := range c.Groups {
		for i := range g.Columns {
			if n := g.Columns[i].Number; int64(n) < int64(len(wanted)) && wanted[n] && !has[n] {
				return true
			}
		}
	}
	return false
}

// summarize calls yield with the summaries of the members in the list, metric by
// metric in the order of names.
func (t *Totals) summarize(sel *Selection, list *[]Summary, yield func() bool) bool {
	var order []int
	for k, d := range t.Descs {
		if d != nil {
			order = append(order, k)
		}
	}
	slices.SortFunc(order, func(x, y int) int {
		if t.Descs[x].Name < t.Descs[y].Name {
			return -1
		}
		return 1
	})
	var members []*digest.Member
	for i := range t.Members {
		m := &t.Members[i]
		if sel.Keys != nil && !contains(sel.Keys, m.Key) || sel.Instance != nil && !sel.Instance(t.Indom, &m.Instance) {
			continue
		}
		members = append(members, m)
	}
	for _, k := range order {
		*list = (*list)[:0]
		for _, m := range members {
			if c := &m.Cells[k]; c.Present {
				*list = append(*list, Summary{Archive: t.Archive, Metric: t.Descs[k], Instance: &m.Instance, Count: 1,
					First: Point{c.First.Wall, c.First.Cont, c.FirstBits}, Last: Point{c.Last.Wall, c.Last.Cont, c.LastBits},
					Min: c.FirstBits, Max: c.Max, Weighted: c.Weighted, Increase: c.Increase})
			}
		}
		if len(*list) > 0 && !yield() {
			return false
		}
	}
	return true
}

// LastRead is when what sel wants was read last, whatever there was to read; 0 if
// it was not.
func (r *Reader) LastRead(sel Selection) int64 {
	last := int64(0)
	for _, a := range r.archivesOf(&sel) {
		if a.Info.From > sel.end() || a.Info.To < sel.From {
			continue
		}
		out := false
		a.contain(&out, func() bool {
			for _, cols := range r.plan(a, &sel).columns {
				for _, col := range cols {
					for _, sp := range col.spans {
						last = max(last, col.v.Wall[sp.To])
					}
				}
			}
			return true
		})
		r.release(a)
	}
	return last
}

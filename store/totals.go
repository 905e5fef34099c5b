package store

import (
	"iter"
	"slices"
	"strings"
	"sync"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/digest"
	"tachograph/store/source"
)

// A Subtotal is one piece of the answer of Total: summaries, or totals.
type Subtotal struct {
	Summaries []Summary
	Totals    *Totals
}

// Totals is the digest of some chunks that lie wholly in a window. Its members have already
// been yielded as summaries, its crowds have not.
type Totals struct {
	Archive *archive.Info
	*digest.Digest
	Descs []*metric.Desc // parallel to Columns; nil where a metric is not wanted
}

// spareSummaries are lists for the summaries of a metric, of which there may be thousands.
var spareSummaries = sync.Pool{New: func() any { return new([]Summary) }}

// Total yields what Summarize does, chunk by chunk: each time the summaries of one metric's
// series in one chunk. Chunks come in the order of time within an archive, and their metrics in
// the order of names. Unlike everywhere else, an instance is not the Reader's own: it and the
// summaries are valid only until the next ones, so that a month of short-lived processes passes
// through without being kept.
//
// If decode is not nil, Total uses the digests of chunks where there are any. The summaries of
// a metric are then those of the digest's members, over all its chunks, and the digest itself
// follows them. If decode returns true, Total takes a digest of fewer chunks, or decodes them.
func (r *Reader) Total(sel Selection, decode func(*Totals) bool) iter.Seq[Subtotal] {
	return func(yield func(Subtotal) bool) {
		r.alone()
		spare := spareSummaries.Get().(*[]Summary)
		list := (*spare)[:0]
		defer func() {
			*spare = list
			spareSummaries.Put(spare)
		}()
		out := false
		hand := handing(&r.scope, &out, yield)
		summaries := func() bool { return hand(Subtotal{Summaries: list}) }
		for _, a := range r.archivesOf(&sel) {
			sel := limited(a, &sel)
			place := make(map[*archive.ChunkRef]int)
			for i, ref := range a.Chunks {
				place[ref] = i
			}
			digested := make(map[*archive.ChunkRef]bool)
			for _, ref := range inTime(a) {
				if ref.Info.From > sel.End() || ref.Info.To < sel.From || digested[ref] {
					continue
				}
				goOn := a.Contain(&out, func() bool {
					// One at a time: a foreign archive's chunk may be large.
					if decode != nil {
						for t, refs := range r.totals(a, sel, a.Chunks[place[ref]:]) {
							if decode(t) {
								continue
							}
							for _, of := range refs {
								digested[of] = true
							}
							return t.summarize(sel, &list, summaries) && hand(Subtotal{Totals: t})
						}
					}
					return r.summarizeChunk(a, sel, ref, &list, summaries)
				})
				if !goOn {
					return
				}
			}
		}
	}
}

// totals yields the totals of the digests that begin with the first of chunks and fit the
// selection, and the chunks that each covers, the longest first.
func (r *Reader) totals(a *source.Source, sel *Selection, chunks []*archive.ChunkRef) iter.Seq2[*Totals, []*archive.ChunkRef] {
	return func(yield func(*Totals, []*archive.ChunkRef) bool) {
		fit := slices.IndexFunc(chunks, func(ref *archive.ChunkRef) bool {
			return ref.Info.Class != chunks[0].Info.Class || ref.Info.From < sel.From || ref.Info.To > sel.End() || r.cutsOff(ref)
		})
		if fit < 0 {
			fit = len(chunks)
		}
		if fit == 0 {
			return
		}
		wanted := wanted(a, sel)
		want := func(n uint32) bool { return int(n) < len(wanted) && wanted[n] }
		for d := range chunks[0].Digests(chunks[1:fit], want) {
			if t := totalsOf(a, d, chunks[0], wanted); t != nil && !yield(t, chunks[:len(d.Sums)]) {
				return
			}
		}
	}
}

// totalsOf returns the totals of a digest, or nil if it lacks a wanted metric.
func totalsOf(a *source.Source, d *digest.Digest, first *archive.ChunkRef, wanted []bool) *Totals {
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

// summarize calls yield with the summaries of the members in the list, metric by metric in the
// order of names.
func (t *Totals) summarize(sel *Selection, list *[]Summary, yield func() bool) bool {
	var order []int
	for k, d := range t.Descs {
		if d != nil {
			order = append(order, k)
		}
	}
	slices.SortFunc(order, func(x, y int) int { return strings.Compare(t.Descs[x].Name, t.Descs[y].Name) })
	var members []*digest.Member
	for i := range t.Members {
		m := &t.Members[i]
		if sel.Accepts(t.Indom, &m.Instance) {
			members = append(members, m)
		}
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

// LastRead returns when the recorder last read what sel asks for, whether or not it found any
// values; 0 if it did not read it.
func (r *Reader) LastRead(sel Selection) int64 {
	r.alone()
	last := int64(0)
	for _, a := range r.archivesOf(&sel) {
		out := false
		a.Contain(&out, func() bool {
			for _, cols := range r.within(a, limited(a, &sel)).columns {
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

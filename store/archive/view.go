package archive

import (
	"errors"
	"sort"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
)

func clock(wall int64) string { return time.Unix(0, wall).UTC().Format(time.RFC3339) }

// An OpenChunk is a chunk whose directory has been read.
type OpenChunk struct {
	*chunk.Chunk
	Ref   *ChunkRef
	views []*View
}

// A View is a group of an open chunk with its times, and the reader's
// instances for its rows.
type View struct {
	*chunk.Group
	Ref    *ChunkRef
	Chunk  *chunk.Chunk
	Number int     // of the group
	Wall   []int64 // clocks of the blocks
	Cont   []int64
	rises  bool // Wall never falls
	known  [][]*metric.Instance
}

// View returns group i with its times.
func (c *OpenChunk) View(i int) (*View, error) {
	if c.views[i] == nil {
		g := c.Groups[i]
		wall, cont, err := g.Times()
		if err != nil {
			return nil, c.Ref.Wrong(err)
		}
		v := &View{Group: g, Ref: c.Ref, Chunk: c.Chunk, Number: i, Wall: wall, Cont: cont, rises: true}
		for _, at := range wall {
			// The index defines what an archive covers, and all questions go by it.
			if at < c.Ref.Info.From || at > c.Ref.Info.To {
				return nil, c.Ref.Wrong(errors.New("it holds other times than the index says"))
			}
		}
		for k := 1; k < len(wall); k++ {
			v.rises = v.rises && wall[k] >= wall[k-1]
		}
		c.views[i] = v
	}
	return c.views[i], nil
}

// Known returns where the reader's instance for a row is kept, nil before it is known. It
// allocates pages, because there are thousands of rows and most questions ask for a few.
func (v *View) Known(row int) **metric.Instance {
	const page = 64
	if v.known == nil {
		v.known = make([][]*metric.Instance, v.Size/page+1)
	}
	p := &v.known[row/page]
	if *p == nil {
		*p = make([]*metric.Instance, page)
	}
	return &(*p)[row%page]
}

// Forget drops the reader's instances for the rows.
func (c *OpenChunk) Forget() {
	for _, v := range c.views {
		if v != nil {
			v.known = nil
		}
	}
}

// A Span is a stretch of blocks, both ends inclusive.
type Span struct{ From, To uint32 }

// Spans returns the blocks whose wall clock is between from and to. There is more than one span
// only where the clock was set back, or where stretches are hidden.
func (v *View) Spans(from, to int64) []Span {
	spans := v.spans(from, to)
	if len(v.Ref.Archive.Hidden) == 0 {
		return spans
	}
	var out []Span
	for _, sp := range spans {
		for b := sp.From; b <= sp.To; b++ {
			if v.Ref.Archive.Hides(v.Wall[b]) {
				continue
			}
			if k := len(out); k > 0 && out[k-1].To+1 == b {
				out[k-1].To = b
			} else {
				out = append(out, Span{b, b})
			}
		}
	}
	return out
}

func (v *View) spans(from, to int64) []Span {
	n := len(v.Wall)
	if n == 0 {
		return nil
	}
	if v.rises {
		lo := sort.Search(n, func(i int) bool { return v.Wall[i] >= from })
		hi := sort.Search(n, func(i int) bool { return v.Wall[i] > to })
		if lo >= hi {
			return nil
		}
		return []Span{{uint32(lo), uint32(hi - 1)}}
	}
	var out []Span
	for i := 0; i < n; i++ {
		if v.Wall[i] < from || v.Wall[i] > to {
			continue
		}
		if k := len(out); k > 0 && out[k-1].To == uint32(i-1) {
			out[k-1].To = uint32(i)
		} else {
			out = append(out, Span{uint32(i), uint32(i)})
		}
	}
	return out
}

// Cut divides spans so that none has blocks on both sides of one of the cuts,
// which are wall clocks in order; a block at a cut counts as before it.
func (v *View) Cut(spans []Span, cuts []int64) []Span {
	if len(cuts) == 0 {
		return spans
	}
	side := func(b uint32) int {
		return sort.Search(len(cuts), func(i int) bool { return cuts[i] >= v.Wall[b] })
	}
	var out []Span
	for _, sp := range spans {
		for sp.From <= sp.To {
			first, n := side(sp.From), uint32(1)
			if v.rises {
				n = uint32(sort.Search(int(sp.To-sp.From)+1, func(i int) bool { return side(sp.From+uint32(i)) != first }))
			} else {
				for sp.From+n <= sp.To && side(sp.From+n) == first {
					n++
				}
			}
			out = append(out, Span{sp.From, sp.From + n - 1})
			sp.From += n
		}
	}
	return out
}

// Whole reports whether spans covers all blocks of v.
func (v *View) Whole(spans []Span) bool {
	return len(spans) == 1 && spans[0].From == 0 && int(spans[0].To) == len(v.Wall)-1
}

// LastBefore returns the block before the first one between from and to, or the last of all if
// none is between them. It skips blocks that are hidden or not before from, and returns -1 if
// none is left.
func (v *View) LastBefore(from, to int64) int {
	b := len(v.Wall) - 1
	if spans := v.Spans(from, to); spans != nil {
		b = int(spans[0].From) - 1
	}
	for b >= 0 && (v.Wall[b] >= from || v.Ref.Archive.Hides(v.Wall[b])) {
		b--
	}
	return b
}

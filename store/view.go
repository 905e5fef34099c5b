package store

import (
	"errors"
	"sort"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
)

func clock(wall int64) string { return time.Unix(0, wall).UTC().Format(time.RFC3339) }

// An openChunk is a chunk whose directory has been read.
type openChunk struct {
	*chunk.Chunk
	ref   *chunkRef
	views []*view
}

// A view is a group of an open chunk with its times, and the reader's
// instances for its rows.
type view struct {
	*chunk.Group
	ref   *chunkRef
	chunk *chunk.Chunk
	wall  []int64
	cont  []int64
	rises bool // wall never falls
	known []*metric.Instance
}

// view returns group i with its times.
func (c *openChunk) view(i int) (*view, error) {
	if c.views[i] == nil {
		g := c.Groups[i]
		wall, cont, err := g.Times()
		if err != nil {
			return nil, c.ref.wrong(err)
		}
		v := &view{Group: g, ref: c.ref, chunk: c.Chunk, wall: wall, cont: cont, rises: true}
		for _, at := range wall {
			// What an archive covers is what its index says, and all that is
			// asked of it is measured by that.
			if at < c.ref.info.From || at > c.ref.info.To {
				return nil, c.ref.wrong(errors.New("it holds other times than the index says"))
			}
		}
		for k := 1; k < len(wall); k++ {
			v.rises = v.rises && wall[k] >= wall[k-1]
		}
		c.views[i] = v
	}
	return c.views[i], nil
}

// A span is a stretch of blocks, both ends inclusive.
type span struct{ from, to uint32 }

// spans are the blocks whose wall clock is between from and to. There is more
// than one span only where the clock was set back.
func (v *view) spans(from, to int64) []span {
	n := len(v.wall)
	if n == 0 {
		return nil
	}
	if v.rises {
		lo := sort.Search(n, func(i int) bool { return v.wall[i] >= from })
		hi := sort.Search(n, func(i int) bool { return v.wall[i] > to })
		if lo >= hi {
			return nil
		}
		return []span{{uint32(lo), uint32(hi - 1)}}
	}
	var out []span
	for i := 0; i < n; i++ {
		if v.wall[i] < from || v.wall[i] > to {
			continue
		}
		if k := len(out); k > 0 && out[k-1].to == uint32(i-1) {
			out[k-1].to = uint32(i)
		} else {
			out = append(out, span{uint32(i), uint32(i)})
		}
	}
	return out
}

// whole reports whether spans are all blocks of v.
func (v *view) whole(spans []span) bool {
	return len(spans) == 1 && spans[0].from == 0 && int(spans[0].to) == len(v.wall)-1
}

package archive

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
	"tachograph/store/layout"
)

// A finished archive holds few large chunks instead of many small ones, so that it stores the
// first values, names and times less often. These limits say when a chunk is large enough:
// larger ones gain little, slow down every reader of a short window, and take a multiple of
// their size in memory to make.
const (
	MergeSpan   = int64(time.Hour)
	MergeValues = 32 << 20
	MergeSize   = 512 << 10
)

// compactBatch is how many bytes one transaction of a compaction writes: bbolt keeps all of
// them in memory. Chunks that take several transactions are put apart, because otherwise each
// transaction would write the last ones of the previous one again.
const compactBatch = 2 << 20

// Compact writes the content of a, which is no longer live, to the empty database dst as a
// finished archive. dst is not a finished archive before its last transaction. Compact fails
// where a is damaged.
func Compact(dst *bbolt.DB, a *File) error {
	var t layout.Totals
	size := int64(0)
	for _, ref := range a.Chunks {
		size += ref.Info.Size
	}
	put := (*layout.Builder).ChunkApart
	if size <= compactBatch {
		put = (*layout.Builder).Chunk
	}
	err := dst.Update(layout.Build(&t, func(b *layout.Builder) {
		h := a.head
		h.Format = layout.FormatVersion
		b.Create(&h)
	}))
	if err != nil {
		return err
	}
	// A transaction of its own, because the next ones can then reuse the pages that this one
	// freed.
	err = dst.Update(layout.Build(&t, func(b *layout.Builder) {
		b.Settings(a.Info.Config, a.Info.Intervals)
		b.Descs(0, a.Descs)
		b.Count()
	}))
	digests := layout.NewDigests(a.Desc)
	for next := 0; err == nil && next < len(a.Chunks); {
		err = dst.Update(layout.Build(&t, func(b *layout.Builder) {
			b.Digest(digests)
			next = compactChunks(b, a, next, put)
		}))
	}
	if err != nil {
		return err
	}
	return dst.Update(layout.Build(&t, func(b *layout.Builder) {
		compactEvents(b, a)
		b.Digest(digests)
		b.Finish()
	}))
}

// compactChunks merges neighbours of a class, from the i-th on, until the batch is full. It
// returns the index to go on from.
func compactChunks(b *layout.Builder, a *File, i int, put func(*layout.Builder, *chunk.Sealed)) int {
	for size := int64(0); i < len(a.Chunks) && size < compactBatch; {
		end := mergeable(a, i)
		s, err := mergeChunks(a, a.Chunks[i:end])
		for errors.Is(err, chunk.ErrMuchText) && end-i > 1 {
			end = i + (end-i)/2
			s, err = mergeChunks(a, a.Chunks[i:end])
		}
		if err != nil {
			b.Fail(err)
			break
		}
		put(b, s)
		size += s.Info.Size
		i = end
	}
	return i
}

// mergeable returns the end of the chunks from the i-th on that merge into one.
func mergeable(a *File, i int) int {
	return i + together(func(n int) *chunk.Info {
		if i+n == len(a.Chunks) {
			return nil
		}
		return &a.Chunks[i+n].Info
	})
}

// together returns how many chunks from the first on merge into one.
func together(at func(n int) *chunk.Info) int {
	first := at(0)
	values, ticks, size := first.Values, first.Ticks, first.Size
	for n := 1; ; n++ {
		in := at(n)
		if in == nil || in.Class != first.Class {
			return n
		}
		values += in.Values
		ticks += in.Ticks
		size += in.Size
		if in.Last.Cont-first.First.Cont > MergeSpan+MergeSpan/8 || values > MergeValues || ticks > chunk.MaxTicks || size > MergeSize {
			return n
		}
	}
}

// Together returns how many of parts, which are in the order of time, merge into one chunk.
func Together(parts []*chunk.Sealed) int {
	return together(func(n int) *chunk.Info {
		if n == len(parts) {
			return nil
		}
		return &parts[n].Info
	})
}

// Merge merges parts of the same class into one chunk.
func Merge(parts []*chunk.Sealed, desc func(number uint32) *metric.Desc) (*chunk.Sealed, error) {
	if len(parts) == 1 {
		return parts[0], nil
	}
	var cs []*chunk.Chunk
	for _, s := range parts {
		c, err := chunk.Open(bytes.NewReader(s.Data), s.Info.Size)
		if err != nil {
			return nil, err
		}
		cs = append(cs, c)
	}
	return chunk.Merge(cs, desc)
}

// mergeChunks merges several chunks. A single chunk is copied unchanged.
func mergeChunks(a *File, refs []*ChunkRef) (*chunk.Sealed, error) {
	if len(refs) == 1 {
		b, err := refs[0].copied()
		if err != nil {
			return nil, refs[0].Wrong(err)
		}
		return &chunk.Sealed{Info: refs[0].Info, Data: b}, nil
	}
	var cs []*chunk.Chunk
	for _, ref := range refs {
		c, err := ref.Open()
		if err != nil {
			return nil, err
		}
		cs = append(cs, c.Chunk)
		ref.Opened = nil
	}
	s, err := chunk.Merge(cs, a.Desc)
	if err != nil {
		return nil, fmt.Errorf("chunks %d to %d of class %v: %w", refs[0].n, refs[len(refs)-1].n, refs[0].Info.Class, err)
	}
	return s, nil
}

func compactEvents(b *layout.Builder, a *File) {
	for _, churn := range []bool{false, true} {
		var batch []metric.Event
		for i := range a.Events {
			if a.Events[i].Churn != churn {
				continue
			}
			events, err := a.Events[i].Events(a)
			if err != nil {
				b.Fail(err)
				return
			}
			if batch = append(batch, events...); len(batch) >= layout.EventBatch {
				b.Events(slices.Values(batch))
				batch = nil
			}
		}
		b.Events(slices.Values(batch))
	}
}

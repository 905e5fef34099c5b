package archive

import (
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
	"tachograph/store/layout"
)

// A finished archive holds few large chunks instead of many small ones: the
// first values, names and times of each are paid for once. These say when a
// chunk is large enough: larger ones gain little and cost every reader of a
// short window, and making one takes a multiple of its size in memory.
const (
	MergeSpan   = int64(time.Hour)
	mergeValues = 32 << 20
	MergeSize   = 512 << 10
)

// compactBatch is how much one transaction of a compaction writes: bbolt keeps
// all of it in memory. Chunks that come in several transactions stand apart,
// or each transaction would write the last ones of the previous one again.
const compactBatch = 2 << 20

// A compaction writes the content of an archive to another database.
type compaction struct {
	dst *bbolt.DB
	a   *File
	t   layout.Totals
	put func(*bbolt.Tx, uint32, *chunk.Sealed) error
}

// Compact writes the content of a, which is not live any more, to the empty
// database dst as a finished archive, which it is not before its last
// transaction. It fails where a is damaged.
func Compact(dst *bbolt.DB, a *File) error {
	c := compaction{dst: dst, a: a, t: layout.Totals{Chunks: make(map[string]uint32), Metrics: uint32(len(a.Descs))}}
	size := int64(0)
	for _, ref := range a.Chunks {
		size += ref.Info.Size
	}
	if c.put = layout.PutChunkApart; size <= compactBatch {
		c.put = layout.PutChunk
	}
	err := dst.Update(func(tx *bbolt.Tx) error {
		h := &layout.Header{Format: layout.FormatVersion, ID: a.Info.ID, Host: a.Info.Host, BootID: a.Info.BootID,
			TimeZone: a.Info.TimeZone, Recorder: a.Info.Recorder, Created: a.created, Serial: a.serial}
		if err := layout.Create(tx, h); err != nil {
			return err
		}
		if err := layout.PutConfig(tx, a.Info.Config); err != nil {
			return err
		}
		if err := layout.PutIntervals(tx, a.Info.Intervals); err != nil {
			return err
		}
		if err := compactMetrics(tx, a); err != nil {
			return err
		}
		return layout.PutTotals(tx, &c.t)
	})
	for next := 0; err == nil && next < len(a.Chunks); {
		err = dst.Update(func(tx *bbolt.Tx) (err error) {
			next, err = c.chunks(tx, next)
			return err
		})
	}
	if err != nil {
		return err
	}
	return dst.Update(func(tx *bbolt.Tx) error {
		if err := compactEvents(tx, a, &c.t); err != nil {
			return err
		}
		c.t.Finished = true
		return layout.PutTotals(tx, &c.t)
	})
}

func compactMetrics(tx *bbolt.Tx, a *File) error {
	for first := 0; first < len(a.Descs); {
		if a.Descs[first] == nil {
			first++
			continue
		}
		end := first
		for end < len(a.Descs) && a.Descs[end] != nil {
			end++
		}
		if err := layout.PutMetrics(tx, uint32(first), a.Descs[first:end]); err != nil {
			return err
		}
		first = end
	}
	return nil
}

// chunks merges neighbours of a class, from the i-th on, until the batch is
// full, and returns where to go on.
func (c *compaction) chunks(tx *bbolt.Tx, i int) (int, error) {
	for size := int64(0); i < len(c.a.Chunks) && size < compactBatch; {
		end := mergeable(c.a, i)
		s, err := mergeChunks(c.a, c.a.Chunks[i:end])
		if err != nil {
			return i, err
		}
		class := s.Info.Class.String()
		if err := c.put(tx, c.t.Chunks[class], s); err != nil {
			return i, err
		}
		c.t.Chunks[class]++
		size += s.Info.Size
		i = end
	}
	return i, nil
}

// mergeable is the end of the chunks from the i-th on that make one.
func mergeable(a *File, i int) int {
	first := &a.Chunks[i].Info
	values, ticks, size := first.Values, first.Ticks, first.Size
	for i++; i < len(a.Chunks) && a.Chunks[i].Info.Class == first.Class; i++ {
		in := &a.Chunks[i].Info
		values += in.Values
		ticks += in.Ticks
		size += in.Size
		if in.Last.Cont-first.First.Cont > MergeSpan+MergeSpan/8 || values > mergeValues || ticks > chunk.MaxTicks || size > MergeSize {
			break
		}
	}
	return i
}

// mergeChunks makes one chunk of several. A chunk that stays alone is taken
// over as it is.
func mergeChunks(a *File, refs []*Ref) (*chunk.Sealed, error) {
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
	}
	s, err := chunk.Merge(cs, a.Desc)
	if err != nil {
		return nil, fmt.Errorf("chunks %d to %d of class %v: %w", refs[0].n, refs[len(refs)-1].n, refs[0].Info.Class, err)
	}
	for _, ref := range refs {
		ref.Opened = nil
	}
	return s, nil
}

func compactEvents(tx *bbolt.Tx, a *File, t *layout.Totals) error {
	for _, churn := range []bool{false, true} {
		var batch []metric.Event
		for i := range a.Events {
			if a.Events[i].Churn != churn {
				continue
			}
			events, err := a.Events[i].Events(a)
			if err != nil {
				return err
			}
			batch = append(batch, events...)
			if len(batch) >= layout.EventBatch {
				if t.Events, err = layout.PutEvents(tx, t.Events, batch); err != nil {
					return err
				}
				batch = nil
			}
		}
		var err error
		if t.Events, err = layout.PutEvents(tx, t.Events, batch); err != nil {
			return err
		}
	}
	return nil
}

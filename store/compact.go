package store

import (
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
)

// A finished archive holds few large chunks instead of many small ones: the
// first values, names and times of each are paid for once. These say when a
// chunk is large enough: larger ones gain little and cost every reader of a
// short window, and making one takes a multiple of its size in memory.
const (
	mergeSpan   = int64(time.Hour)
	mergeValues = 32 << 20
	mergeSize   = 512 << 10
)

// compactBatch is how much one transaction of a compaction writes: bbolt keeps
// all of it in memory. Chunks that come in several transactions stand apart,
// or each transaction would write the last ones of the previous one again.
const compactBatch = 2 << 20

// A compaction writes the content of an archive to another database.
type compaction struct {
	dst *bbolt.DB
	a   *archive
	t   totals
	put func(*bbolt.Tx, uint32, *chunk.Sealed) error
}

// compact writes the content of a, which is not live any more, to the empty
// database dst as a finished archive, which it is not before its last
// transaction. It fails where a is damaged.
func compact(dst *bbolt.DB, a *archive) error {
	c := compaction{dst: dst, a: a, t: totals{Chunks: make(map[string]uint32), Metrics: uint32(len(a.descs))}}
	size := int64(0)
	for _, ref := range a.chunks {
		size += ref.info.Size
	}
	if c.put = putChunkApart; size <= compactBatch {
		c.put = putChunk
	}
	err := dst.Update(func(tx *bbolt.Tx) error {
		h := &header{Format: FormatVersion, ID: a.info.ID, Host: a.info.Host, BootID: a.info.BootID,
			TimeZone: a.info.TimeZone, Recorder: a.info.Recorder, Created: a.created, Serial: a.serial}
		if err := createLayout(tx, h); err != nil {
			return err
		}
		if err := putConfig(tx, a.info.Config); err != nil {
			return err
		}
		if err := putIntervals(tx, a.info.Intervals); err != nil {
			return err
		}
		if err := compactMetrics(tx, a); err != nil {
			return err
		}
		return putTotals(tx, &c.t)
	})
	for next := 0; err == nil && next < len(a.chunks); {
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
		return putTotals(tx, &c.t)
	})
}

func compactMetrics(tx *bbolt.Tx, a *archive) error {
	for first := 0; first < len(a.descs); {
		if a.descs[first] == nil {
			first++
			continue
		}
		end := first
		for end < len(a.descs) && a.descs[end] != nil {
			end++
		}
		if err := putMetrics(tx, uint32(first), a.descs[first:end]); err != nil {
			return err
		}
		first = end
	}
	return nil
}

// chunks merges neighbours of a class, from the i-th on, until the batch is
// full, and returns where to go on.
func (c *compaction) chunks(tx *bbolt.Tx, i int) (int, error) {
	for size := int64(0); i < len(c.a.chunks) && size < compactBatch; {
		end := mergeable(c.a, i)
		s, err := mergeChunks(c.a, c.a.chunks[i:end])
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
func mergeable(a *archive, i int) int {
	first := &a.chunks[i].info
	values, ticks, size := first.Values, first.Ticks, first.Size
	for i++; i < len(a.chunks) && a.chunks[i].info.Class == first.Class; i++ {
		in := &a.chunks[i].info
		values += in.Values
		ticks += in.Ticks
		size += in.Size
		if in.Last.Cont-first.First.Cont > mergeSpan+mergeSpan/8 || values > mergeValues || ticks > chunk.MaxTicks || size > mergeSize {
			break
		}
	}
	return i
}

// mergeChunks makes one chunk of several. A chunk that stays alone is taken
// over as it is.
func mergeChunks(a *archive, refs []*chunkRef) (*chunk.Sealed, error) {
	if len(refs) == 1 {
		b, err := refs[0].copied()
		if err != nil {
			return nil, refs[0].wrong(err)
		}
		return &chunk.Sealed{Info: refs[0].info, Data: b}, nil
	}
	var cs []*chunk.Chunk
	for _, ref := range refs {
		c, err := ref.open()
		if err != nil {
			return nil, err
		}
		cs = append(cs, c.Chunk)
	}
	s, err := chunk.Merge(cs, a.desc)
	if err != nil {
		return nil, fmt.Errorf("store: chunks %d to %d of class %v: %w", refs[0].n, refs[len(refs)-1].n, refs[0].info.Class, err)
	}
	for _, ref := range refs {
		ref.opened = nil
	}
	return s, nil
}

func compactEvents(tx *bbolt.Tx, a *archive, t *totals) error {
	for _, churn := range []bool{false, true} {
		var batch []metric.Event
		for i := range a.events {
			if a.events[i].churn != churn {
				continue
			}
			events, err := a.events[i].events(a)
			if err != nil {
				return err
			}
			batch = append(batch, events...)
			if len(batch) >= eventBatch {
				if t.Events, err = putEvents(tx, t.Events, batch); err != nil {
					return err
				}
				batch = nil
			}
		}
		var err error
		if t.Events, err = putEvents(tx, t.Events, batch); err != nil {
			return err
		}
	}
	return nil
}

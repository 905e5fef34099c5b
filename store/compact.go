package store

import (
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
)

// A finished archive holds few large chunks instead of many small ones: the
// first values, names and times of each are paid for once. mergeSpan and
// mergeValues say when a chunk is large enough: larger ones gain little and
// cost every reader of a short window.
const (
	mergeSpan   = int64(time.Hour)
	mergeValues = 32 << 20
)

// compact writes the content of a, which is not live any more, to the empty
// database dst as a finished archive. It
// fails where a is damaged.
func compact(dst *bbolt.DB, a *archive) error {
	return dst.Update(func(tx *bbolt.Tx) error {
		h := &header{Format: FormatVersion, ID: a.info.ID, Host: a.info.Host, BootID: a.info.BootID,
			TimeZone: a.info.TimeZone, Recorder: a.info.Recorder, Created: a.created}
		if err := createLayout(tx, h); err != nil {
			return err
		}
		if err := putConfig(tx, a.info.Config); err != nil {
			return err
		}
		if err := putIntervals(tx, a.info.Intervals); err != nil {
			return err
		}
		t := totals{Chunks: make(map[string]uint32), Metrics: uint32(len(a.descs)), Finished: true}
		if err := compactMetrics(tx, a); err != nil {
			return err
		}
		if err := compactChunks(tx, a, &t); err != nil {
			return err
		}
		if err := compactEvents(tx, a, &t); err != nil {
			return err
		}
		return putTotals(tx, &t)
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

// compactChunks merges neighbours of a class into chunks of up to mergeSpan.
func compactChunks(tx *bbolt.Tx, a *archive, t *totals) error {
	for i := 0; i < len(a.chunks); {
		class := a.chunks[i].info.Class
		end, values, ticks := i, uint64(0), uint64(0)
		for end < len(a.chunks) && a.chunks[end].info.Class == class {
			in := &a.chunks[end].info
			values += in.Values
			ticks += in.Ticks
			if end > i && (in.Last.Cont-a.chunks[i].info.First.Cont > mergeSpan+mergeSpan/8 || values > mergeValues || ticks > chunk.MaxTicks) {
				break
			}
			end++
		}
		s, err := mergeChunks(a, a.chunks[i:end])
		if err != nil {
			return err
		}
		n := t.Chunks[class.String()]
		if err := putChunk(tx, n, s); err != nil {
			return err
		}
		t.Chunks[class.String()] = n + 1
		i = end
	}
	return nil
}

func mergeChunks(a *archive, refs []*chunkRef) (*chunk.Sealed, error) {
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

// eventBatch is how many events a batch of a finished archive holds.
const eventBatch = 4096

func compactEvents(tx *bbolt.Tx, a *archive, t *totals) error {
	for _, churn := range []bool{false, true} {
		var batch []metric.Event
		for i := range a.events {
			if a.events[i].churn != churn {
				continue
			}
			events, err := a.events[i].events()
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

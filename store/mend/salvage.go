package mend

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/boltread"
	"tachograph/store/chunk"
	"tachograph/store/fault"
	"tachograph/store/layout"
)

// salvage holds the finds from a damaged archive file: records whose checksums are right, and
// chunks, whole or damaged.
type salvage struct {
	header    *layout.Header
	config    string
	intervals metric.Intervals
	totals    *layout.Totals
	sealed    *layout.Progress
	stale     bool           // totals are of an older state of the file
	descs     []*metric.Desc // by number; nil for a lost description
	index     map[string]chunk.Info
	events    map[uint32][]metric.Event
	chunks    map[string][]*io.SectionReader // by key: all candidates for that chunk
	damage    []string
	records   map[string]bool // bucket and key of the records already found
}

func newSalvage() *salvage {
	return &salvage{index: make(map[string]chunk.Info), events: make(map[uint32][]metric.Event),
		chunks: make(map[string][]*io.SectionReader), records: make(map[string]bool)}
}

func (s *salvage) hurt(format string, args ...any) {
	s.damage = append(s.damage, fmt.Sprintf(format, args...))
}

// collect takes in everything that src holds.
func (s *salvage) collect(src boltread.Source, progress func(done, total int64)) error {
	damage, err := boltread.Salvage(src, progress, func(f boltread.Found) error {
		s.found(f)
		return nil
	})
	for _, d := range damage {
		s.hurt("%v", d)
	}
	return err
}

// found sorts out one key and value. A record's checksum shows which bucket it belongs to, no
// matter how it was found; a chunk's content shows that it is one.
func (s *salvage) found(f boltread.Found) {
	if class, _, err := layout.ParseChunkKey(f.Key); err == nil && f.Section.Size() > 4 {
		if c, err := chunk.Open(f.Section, f.Section.Size()); err == nil && c.Class == class {
			key := string(f.Key)
			s.chunks[key] = append(s.chunks[key], f.Section)
			return
		}
	}
	bucket, value, err := layout.Recognize(f.Key, f.Section.Size(), f.Value)
	switch {
	case err != nil:
		s.hurt("page %d: %v", f.Page, err)
	case bucket != "":
		s.record(bucket, f, value)
	case len(f.Bucket) == 1 && !f.Loose && !f.Older && f.Section.Size() <= layout.MaxRecord:
		s.inPlace(f)
	}
}

// inPlace takes in a record that is in its bucket and has one wrong bit.
func (s *salvage) inPlace(f boltread.Found) {
	stored, err := f.Value()
	var value []byte
	if err == nil {
		value, err = layout.Mended(f.Bucket[0], f.Key, stored)
	}
	if err == nil {
		s.record(f.Bucket[0], f, value)
		err = chunk.ErrMended
	}
	s.hurt("page %d: record %q of %s: %v", f.Page, f.Key, f.Bucket[0], err)
}

// record takes in a record if it is the first with its key: the first is the best.
func (s *salvage) record(bucket string, f boltread.Found, value []byte) {
	name := bucket + "\x00" + string(f.Key)
	if s.records[name] {
		return
	}
	s.records[name] = true
	v := layout.Visitor{
		Header:    func(h layout.Header) { s.header = &h },
		Config:    func(text string) { s.config = text },
		Intervals: func(iv metric.Intervals) { s.intervals = iv },
		Totals:    func(t layout.Totals) { s.totals, s.stale = &t, f.Older || f.Loose },
		Progress:  func(p layout.Progress) { s.sealed = &p },
		Descs:     func(first uint32, ds []*metric.Desc) { s.descs = layout.Place(s.descs, first, ds) },
		SpareHeader: func(h layout.Header) {
			if s.header == nil {
				s.header = &h
			}
		},
		SpareDescs: func(first uint32, ds []*metric.Desc) {
			for i := range ds {
				if n := first + uint32(i); s.desc(n) == nil {
					s.descs = layout.Place(s.descs, n, ds[i:i+1])
				}
			}
		},
		Index:  func(n uint32, in chunk.Info) { s.index[string(layout.ChunkKey(in.Class, n))] = in },
		Events: func(n uint32, events []metric.Event) { s.events[n] = events },
	}
	if err := v.Record(bucket, f.Key, value); err != nil {
		s.hurt("record %q of %s: %v", f.Key, bucket, err)
	}
}

func (s *salvage) desc(n uint32) *metric.Desc {
	if int(n) < len(s.descs) {
		return s.descs[n]
	}
	return nil
}

// standIns describes the metrics whose descriptions are lost, as far as the chunks show, and
// returns how many these are. Those without values are described, too.
func (s *salvage) standIns() int {
	n := 0
	for _, key := range s.keys() {
		for _, sec := range s.chunks[key] {
			c, err := chunk.Open(sec, sec.Size())
			if err != nil {
				continue
			}
			for _, g := range c.Groups {
				for _, col := range g.Columns {
					if s.desc(col.Number) != nil || col.Number > layout.MaxMetrics {
						continue
					}
					s.descs = layout.Place(s.descs, col.Number, []*metric.Desc{{
						Name: fmt.Sprintf("lost.%s.metric%d", g.Name, col.Number), Type: col.Type, Sem: metric.Instant,
						Indom: g.Indom, Class: c.Class, Help: "A metric whose description was lost to damage.",
					}})
					n++
				}
			}
		}
	}
	for i, d := range s.descs {
		if d == nil {
			s.descs[i] = &metric.Desc{Name: fmt.Sprintf("lost.metric%d", i), Class: metric.Disabled,
				Help: "A metric whose description was lost to damage, and that has no values."}
			n++
		}
	}
	return n
}

// keys lists all chunks that were found or are in the index, by class and number.
func (s *salvage) keys() []string {
	var keys []string
	for k := range s.chunks {
		keys = append(keys, k)
	}
	for k := range s.index {
		if s.chunks[k] == nil {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// best returns the best version of a chunk: a whole one if its index entry or its content
// confirms it, else what can be rescued of it, with a list of what cannot.
func (s *salvage) best(key string) (*chunk.Sealed, []string) {
	var best *chunk.Sealed
	var lost []string
	in, listed := s.index[key]
	for _, sec := range s.chunks[key] {
		data := make([]byte, sec.Size())
		if n, err := sec.ReadAt(data, 0); n < len(data) {
			s.hurt("chunk %x: %v", key, err)
			continue
		}
		c, err := chunk.Open(sec, sec.Size())
		if err != nil {
			continue
		}
		var got chunk.Info
		err = fault.Contain(func() error { got, err = layout.InspectChunk(data, s.desc); return err })
		if err == nil && (!listed || got == in) {
			return &chunk.Sealed{Info: got, Data: data}, nil
		}
		mended := errors.Is(err, chunk.ErrMended)
		var r *chunk.Sealed
		var missing []string
		err = fault.Contain(func() error { r, missing, err = chunk.Rescue(c, s.desc); return err })
		if err == nil && mended && len(missing) == 0 {
			s.hurt("chunk %x: %v", key, chunk.ErrMended)
			return r, nil
		}
		if err == nil && (best == nil || len(missing) < len(lost)) {
			best, lost = r, missing
		}
	}
	if best != nil && len(lost) == 0 {
		lost = []string{"it is not the chunk that the index describes"}
	}
	return best, lost
}

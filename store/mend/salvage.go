package mend

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/boltread"
	"tachograph/store/chunk"
	"tachograph/store/fault"
	"tachograph/store/layout"
)

// salvage is what was found in a damaged archive file: records whose checksums
// are right, and chunks that may be whole or not.
type salvage struct {
	header  *layout.Header
	config  []byte
	iv      map[string]int64
	totals  *layout.Totals
	sealed  *layout.Progress
	stale   bool           // totals are of an older state of the file
	descs   []*metric.Desc // by number; nil where one is lost
	index   map[string]chunk.Info
	events  map[uint32][]metric.Event
	chunks  map[string][]*io.SectionReader // what claims to be that chunk
	damage  []string
	records map[string]bool // bucket and key of those already found
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

// found sorts out one key and value. A record says by its checksum what bucket
// it belongs to, whatever led to it; a chunk says it by its content.
func (s *salvage) found(f boltread.Found) {
	if class, _, ok := layout.ParseChunkKey(f.Key); ok && f.Section.Size() > 4 {
		if c, err := chunk.Open(f.Section, f.Section.Size()); err == nil && c.Class == class {
			key := string(f.Key)
			s.chunks[key] = append(s.chunks[key], f.Section)
			return
		}
	}
	if f.Section.Size() > layout.MaxRecord {
		return
	}
	stored, err := f.Value()
	if err != nil {
		s.hurt("page %d: %v", f.Page, err)
		return
	}
	for _, bucket := range layout.Buckets {
		value, err := layout.Unwrap(bucket, f.Key, stored)
		if err != nil {
			continue
		}
		if name := bucket + "\x00" + string(f.Key); !s.records[name] {
			s.records[name] = true
			s.record(bucket, f.Key, value)
			if bucket == layout.BucketMeta && string(f.Key) == layout.MetaTotals {
				s.stale = f.Older || f.Loose
			}
		}
		return
	}
	if len(f.Bucket) == 1 && !f.Loose && !f.Older {
		s.hurt("page %d: record %q of %s: %v", f.Page, f.Key, f.Bucket[0], layout.ErrRecord)
	}
}

func (s *salvage) record(bucket string, key, value []byte) {
	var err error
	switch bucket {
	case layout.BucketMeta:
		err = s.meta(string(key), value)
	case layout.BucketMetrics:
		err = s.metrics(key, value)
	case layout.BucketSpare:
		err = s.spare(key, value)
	case layout.BucketIndex:
		var in chunk.Info
		if in, err = chunk.ParseInfo(value); err == nil {
			s.index[string(key)] = in
		}
	case layout.BucketEvents:
		var es []metric.Event
		if es, err = chunk.ParseEvents(value); err == nil && len(key) == 4 {
			s.events[binary.BigEndian.Uint32(key)] = es
		}
	}
	if err != nil {
		s.hurt("record %q of %s: %v", key, bucket, err)
	}
}

func (s *salvage) meta(key string, value []byte) error {
	switch key {
	case layout.MetaArchive:
		s.header = &layout.Header{}
		return json.Unmarshal(value, s.header)
	case layout.MetaConfig:
		raw, err := chunk.Unpack(value, chunk.MaxConfig)
		s.config = raw
		return err
	case layout.MetaIntervals:
		return json.Unmarshal(value, &s.iv)
	case layout.MetaJournal:
		s.sealed = &layout.Progress{}
		return json.Unmarshal(value, s.sealed)
	case layout.MetaTotals:
		s.totals = &layout.Totals{}
		return json.Unmarshal(value, s.totals)
	}
	return nil
}

func (s *salvage) metrics(key, value []byte) error {
	first, ds, err := s.batch(key, value)
	copy(s.descs[first:], ds)
	return err
}

// spare takes what is not known better.
func (s *salvage) spare(key, value []byte) error {
	if string(key) == layout.MetaArchive {
		if s.header != nil {
			return nil
		}
		return s.meta(layout.MetaArchive, value)
	}
	first, ds, err := s.batch(key, value)
	for i, d := range ds {
		if s.descs[first+i] == nil {
			s.descs[first+i] = d
		}
	}
	return err
}

// batch parses descriptions and makes room for them.
func (s *salvage) batch(key, value []byte) (first int, ds []*metric.Desc, err error) {
	if ds, err = layout.ParseDescs(value); err != nil {
		return 0, nil, err
	}
	if len(key) != 4 || int(binary.BigEndian.Uint32(key))+len(ds) > layout.MaxMetrics {
		return 0, nil, fmt.Errorf("no number of a metric")
	}
	first = int(binary.BigEndian.Uint32(key))
	for len(s.descs) < first+len(ds) {
		s.descs = append(s.descs, nil)
	}
	return first, ds, nil
}

func (s *salvage) desc(n uint32) *metric.Desc {
	if int(n) < len(s.descs) {
		return s.descs[n]
	}
	return nil
}

// standIns describes the metrics whose descriptions are lost but whose values
// are not, as far as the chunks tell, and returns how many they are.
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
					for len(s.descs) <= int(col.Number) {
						s.descs = append(s.descs, nil)
					}
					s.descs[col.Number] = &metric.Desc{
						Name: fmt.Sprintf("lost.%s.metric%d", g.Name, col.Number), Type: col.Type, Sem: metric.Instant,
						Indom: g.Indom, Class: c.Class, Help: "A metric whose description was lost to damage.",
					}
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

// keys lists all chunks that were found or are known of, by class and number.
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

// best returns the best there is of a chunk: whole if its checksum or its
// content says so, else what can be rescued of it, with a list of what cannot.
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
		err = fault.Contain(func() error { got, err = c.Inspect(s.desc); return err })
		got.Size, got.Sum = int64(len(data)), chunk.Checksum(data)
		if err == nil && (!listed || got == in) {
			return &chunk.Sealed{Info: got, Data: data}, nil
		}
		var r *chunk.Sealed
		var missing []string
		err = fault.Contain(func() error { r, missing, err = chunk.Rescue(c, s.desc); return err })
		if err == nil && (best == nil || len(missing) < len(lost)) {
			best, lost = r, missing
		}
	}
	if best != nil && len(lost) == 0 {
		lost = []string{"it is not the chunk that the index describes"}
	}
	return best, lost
}

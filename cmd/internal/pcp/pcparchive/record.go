package pcparchive

import (
	"fmt"
	"io"

	"tachograph/sample/metric"
	"tachograph/sample/pcp"
)

// A Record is what was read at one time. A record without sets is a mark: nothing is known
// between the records before and after it.
type Record struct {
	Time int64
	Sets []ReadSet
	// Damaged counts the sets that could not be read.
	Damaged int
}

// A ReadSet is the values of a metric in a record, one for each of Instances, or an error.
// Values and Instances are valid until the next record.
type ReadSet struct {
	PMID      uint32
	Err       int32
	Desc      *Desc // nil for a metric that the archive does not describe
	Instances []uint32
	Values    metric.Column
	// Skipped counts values that are neither numbers nor strings.
	Skipped int
}

// maxKept is how many values the reused memory may hold.
const maxKept = 1 << 22

// Next returns the next record, valid until the following one; io.EOF at the end.
func (r *Reader) Next() (*Record, error) {
	for {
		if r.volume == nil {
			if r.number >= len(r.volumes) {
				return nil, io.EOF
			}
			if err := r.openVolume(r.volumes[r.number]); err != nil {
				return nil, err
			}
			r.number++
			if r.volume == nil {
				continue
			}
		}
		b, err := r.volume.next()
		if err != nil {
			if err != io.EOF {
				r.note(err)
			}
			r.volume.close()
			r.volume = nil
			continue
		}
		if r.parse(b) {
			r.upTo(r.record.Time)
			return &r.record, nil
		}
		r.note(&cutError{r.volume.name, r.volume.off - int64(len(b)) - 8, "damaged"})
	}
}

// openVolume opens a part that holds values. It skips a part of another archive.
func (r *Reader) openVolume(path string) error {
	f, err := openFrames(path)
	if err != nil {
		return err
	}
	b, err := f.next()
	var l Label
	if err == nil {
		l, err = parseLabel(b)
	}
	if err == nil && l.Version != r.Label.Version {
		err = fmt.Errorf("it is of version %d, %s of version %d", l.Version, r.meta, r.Label.Version)
	}
	if err != nil {
		f.close()
		r.note(fmt.Errorf("%s holds no values of this archive: %w", path, err))
		return nil
	}
	r.volume = f
	return nil
}

// parse reads a record; it returns false for an invalid one.
func (r *Reader) parse(b []byte) bool {
	in := body{b: b}
	rec := &r.record
	rec.Time, rec.Damaged = in.time(r.Label.Version), 0
	n := in.count(8)
	if in.short || rec.Time == 0 || n > maxDescs { // a metric is in a record only once
		return false
	}
	if r.kept > maxKept {
		rec.Sets, r.kept = nil, 0
	}
	if cap(rec.Sets) < n {
		rec.Sets = append(rec.Sets[:cap(rec.Sets)], make([]ReadSet, n-cap(rec.Sets))...)
	}
	rec.Sets = rec.Sets[:n]
	p := valueParser{whole: b, budget: 4*len(b) + 1<<16}
	for i := range rec.Sets {
		s := &rec.Sets[i]
		s.PMID = in.word()
		s.Err = 0
		s.empty()
		s.Desc = r.Descs[s.PMID]
		count := int32(in.word())
		if count <= 0 {
			s.Err = count
			continue
		}
		format := in.word()
		values := in.take(8 * int(count))
		if in.short {
			return false
		}
		had := cap(s.Instances)
		if s.Desc == nil || !p.values(s, values, format) {
			rec.Damaged++
			s.empty()
		}
		r.kept += cap(s.Instances) - had
	}
	return !in.short
}

// empty makes a set have no values.
func (s *ReadSet) empty() {
	s.Skipped, s.Instances = 0, s.Instances[:0]
	s.Values.Bits, s.Values.Words, s.Values.Miss = s.Values.Bits[:0], s.Values.Words[:0], nil
}

// A valueParser reads values of a record. Several values may share a block, so the total of the
// strings has its own bound.
type valueParser struct {
	whole  []byte
	budget int
}

func (p *valueParser) values(s *ReadSet, b []byte, format uint32) bool {
	in := body{b: b}
	for range len(b) / 8 {
		id, v := in.word(), in.word()
		if format == inSitu {
			if s.Desc.Type != pcp.I32 && s.Desc.Type != pcp.U32 && s.Desc.Type != pcp.Float {
				return false
			}
			s.Instances = append(s.Instances, id)
			s.Values.Bits = append(s.Values.Bits, pcp.Bits(s.Desc.Type, v))
			continue
		}
		if v < 3 || uint64(v)*4-12 > uint64(len(p.whole)) {
			return false
		}
		_, value, ok := pcp.Block(p.whole[v*4-12:])
		if !ok {
			return false
		}
		switch bits, numeric := pcp.Number(s.Desc.Type, value); {
		case numeric:
			s.Values.Bits = append(s.Values.Bits, bits)
		case s.Desc.Type == pcp.String:
			text := cstring(value)
			if p.budget -= len(text) + 16; p.budget < 0 {
				return false
			}
			s.Values.Bits = append(s.Values.Bits, uint64(len(s.Values.Words)))
			s.Values.Words = append(s.Values.Words, text)
		case s.Desc.Type == pcp.Aggregate || s.Desc.Type > pcp.String:
			s.Skipped++
			s.Values.Bits = append(s.Values.Bits, 0)
		default:
			return false
		}
		s.Instances = append(s.Instances, id)
	}
	return true
}

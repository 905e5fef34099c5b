package chunk

import (
	"encoding/binary"
	"errors"
	"sort"

	"tachograph/sample/metric"
	"tachograph/store/varint"
)

// A column is cut into segments of consecutive series. A segment is a stream of its own, with
// fresh models, so that one series can be read without the series of other segments.
const (
	segmentBytes = 768 // a segment ends after the series that brings it here
	hotChanges   = 96  // a series with this many changes begins its own
	hotRoom      = 256 // unless the segment is still this small
	// A series that others refer to always begins its own, so that it can be
	// decoded without any that refer to it.
)

// Flags for what a column's layout has besides segments.
const (
	withMisses = 1 << iota
	withUnit
)

type segment struct {
	series int // how many series
	bytes  int
}

// encode appends a column: its segments' sizes, the absences, the streams.
func (t *columnTable) encode(out []byte, lives []uint32, act *activity, codes map[metric.Reason]uint64, guides func(i int) *guide, roots func(i int) bool) []byte {
	var segs []segment
	var streams []byte
	var e encoder
	var m seriesModel
	var sv sieve
	n := len(lives)
	for i := 0; i < n; {
		m.init(true)
		from := i
		e.begin(streams)
		for i < n {
			t.encodeSeries(&e, &m, &sv, i, lives[i], act, guides(i))
			i++
			have := len(e.out) - e.start
			if have >= segmentBytes || i < n && (roots(i) || have >= hotRoom && t.off[i+1]-t.off[i] >= hotChanges) {
				break
			}
		}
		streams = e.end()
		segs = append(segs, segment{i - from, len(streams) - e.start})
	}
	misses := t.encodeMisses(codes)
	flags := uint64(0)
	if misses != nil {
		flags |= withMisses
	}
	if t.unit > 1 {
		flags |= withUnit
	}
	out = binary.AppendUvarint(out, uint64(len(segs))<<2|flags)
	if t.unit > 1 {
		out = binary.AppendUvarint(out, t.unit)
	}
	for i, s := range segs {
		if i < len(segs)-1 { // the last one gets the rest
			out = binary.AppendUvarint(out, uint64(s.series))
			out = binary.AppendUvarint(out, uint64(s.bytes))
		}
	}
	if misses != nil {
		out = binary.AppendUvarint(out, uint64(len(misses)))
		out = append(out, misses...)
	}
	return append(out, streams...)
}

func (t *columnTable) encodeSeries(e *encoder, m *seriesModel, sv *sieve, i int, life uint32, act *activity, g *guide) {
	at, vals := t.at[t.off[i]:t.off[i+1]], t.bits[t.off[i]:t.off[i+1]]
	active := act.of(i)
	if miss := t.missOf(i); miss != nil {
		sv.set(miss, life)
		life = sv.count
		at = sv.squeeze(at, false)
		if active != nil {
			active = sv.squeeze(active, true)
		}
	}
	if life == 0 {
		return
	}
	e.series(m, at, vals, life, active, g)
}

// decodeColumn reads the series of a column in the given rows, which must be in rising order,
// nil for all, and calls fn for each. fn must not keep the series. Changes beyond the ordinal
// until may be missing.
func decodeColumn(in []byte, lives *lifetimes, act *activity, reasons []metric.Reason, find other, rows []int, until uint32, fn func(i int, s *Series) error) error {
	l, err := columnLayout(in, lives, reasons)
	if err != nil {
		return err
	}
	streams := l.streams
	m := spareModels.Get().(*seriesModel)
	defer spareModels.Put(m)
	s := borrowSeries()
	defer returnSeries(s)
	first := 0
	for _, seg := range l.segs {
		end := first + seg.series
		last := end - 1
		if rows != nil {
			if len(rows) == 0 {
				return nil
			}
			last = -1
			if n := sort.SearchInts(rows, end); n > 0 {
				last = rows[n-1]
			}
		}
		if last >= first {
			lives, err := lives.of(first, last+1)
			if err != nil {
				return err
			}
			act.reach(first, last)
			var d decoder
			d.begin(streams[:seg.bytes])
			m.init(true)
			for i := first; i <= last; i++ {
				active, err := act.get(i)
				if err != nil {
					return err
				}
				far := uint32(wholeSeries)
				if i == last {
					far = until // nothing after it is read
				}
				if err := s.decode(&d, m, lives[i-first], l.misses.missOf(i), active, find, far); err != nil {
					return err
				}
				if d.short() {
					return errShort
				}
				if rows != nil {
					if rows[0] != i {
						continue
					}
					rows = rows[1:]
				}
				s.unit = l.unit
				if err := fn(i, s); err != nil {
					return err
				}
			}
		}
		first = end
		streams = streams[seg.bytes:]
	}
	return nil
}

var errColumn = errors.New("a column's layout contradicts its length")

// layout is the structure of a column's streams.
type layout struct {
	segs    []segment
	misses  absences
	unit    uint64
	streams []byte
}

// columnLayout reads the layout of a column.
func columnLayout(in []byte, lives *lifetimes, reasons []metric.Reason) (l layout, err error) {
	r := varint.Reader{In: in}
	head := r.Uvarint()
	flags := head & (withMisses | withUnit)
	n := int(head >> 2)
	if r.Bad || n > len(lives.list) || n > len(in) || n == 0 && len(lives.list) > 0 {
		return l, errColumn
	}
	if flags&withUnit != 0 {
		if l.unit = r.Uvarint(); l.unit < 2 {
			return l, errColumn
		}
	}
	l.segs = make([]segment, n)
	left := len(lives.list)
	bytes := 0
	for i := 0; i < n-1; i++ {
		l.segs[i] = segment{r.Count(left), r.Count(len(in))}
		left -= l.segs[i].series
		bytes += l.segs[i].bytes
	}
	if flags&withMisses != 0 {
		l.misses, err = decodeMisses(r.Bytes(r.Count(len(in))), lives, reasons)
		if err != nil {
			return l, err
		}
	}
	if r.Bad || bytes > len(r.In) {
		return l, errColumn
	}
	if n > 0 {
		l.segs[n-1] = segment{left, len(r.In) - bytes}
	}
	l.streams = r.In
	return l, nil
}

// encodeMisses lists the absences of the column's series, nil when there are
// none.
func (t *columnTable) encodeMisses(codes map[metric.Reason]uint64) []byte {
	var out []byte
	prev := 0
	for i := range len(t.off) - 1 {
		ms := t.missOf(i)
		if ms == nil {
			continue
		}
		out = binary.AppendUvarint(out, uint64(i-prev))
		out = binary.AppendUvarint(out, uint64(len(ms)))
		prev = i
		at := uint32(0)
		for _, m := range ms {
			out = binary.AppendUvarint(out, uint64(m.at-at))
			out = binary.AppendUvarint(out, codes[m.why])
			at = m.at
		}
	}
	if out == nil {
		return nil
	}
	return Pack(out)
}

func decodeMisses(in []byte, lives *lifetimes, reasons []metric.Reason) (a absences, err error) {
	raw, err := Unpack(in, maxAbsences)
	if err != nil {
		return absences{}, err
	}
	r := varint.Reader{In: raw}
	a.from = make([]uint32, 1, len(lives.list)+1)
	for len(r.In) > 0 && !r.Bad {
		skip := r.Count(len(lives.list))
		if len(a.from) > 1 {
			skip-- // from the series before
		}
		n := r.Count(len(r.In) / 2)
		i := len(a.from) - 1 + skip
		if r.Bad || skip < 0 || i >= len(lives.list) || n == 0 {
			return absences{}, errColumn
		}
		for len(a.from) <= i {
			a.from = append(a.from, uint32(len(a.miss)))
		}
		life, err := lives.of(i, i+1)
		if err != nil {
			return absences{}, err
		}
		at := uint64(0)
		for k := range n {
			d := r.Uvarint()
			why := r.Uvarint()
			at += d
			if r.Bad || at >= uint64(life[0]) || d == 0 && k > 0 || why >= uint64(len(reasons)) {
				return absences{}, errColumn
			}
			a.miss = append(a.miss, missAt{uint32(at), reasons[why]})
		}
		a.from = append(a.from, uint32(len(a.miss)))
	}
	if r.Bad {
		return absences{}, errColumn
	}
	for len(a.from) <= len(lives.list) {
		a.from = append(a.from, uint32(len(a.miss)))
	}
	return a, nil
}

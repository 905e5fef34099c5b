package pcparchive

import (
	"encoding/binary"
	"fmt"

	"tachograph/sample/metric"
	"tachograph/sample/pcp"
)

// A Set is the values that one metric had at a time, one for each of Instances. Absent values
// are left out; if all are absent, their reason is written in their place.
type Set struct {
	PMID      uint32
	Type      pcp.Type
	Instances []uint32
	Values    *metric.Column
}

// singular are the instances of a metric without an instance domain.
var singular = []uint32{pcp.Null}

// Singular returns the list of instances of a metric without an instance domain.
func Singular() []uint32 { return singular }

const (
	resultHead = 20 // length, time, number of sets
	inSitu     = 0
	byPointer  = 1
)

// Result writes what was read at one time, which must not be before that of the last result. A
// metric may be in it only once.
func (w *Writer) Result(when int64, sets []Set) error {
	need := resultHead + 4
	for i := range sets {
		need += 12 + 20*len(sets[i].Instances)
		if sets[i].Type == pcp.String {
			need += stringsSize(&sets[i])
		}
	}
	if need > maxRecord {
		return fmt.Errorf("%d values that were read together do not fit into a record of PCP: choose metrics or instances", need/20)
	}
	if err := w.room(when, need); err != nil {
		return err
	}
	p := w.volume
	at := len(p.buf)
	p.buf = grow(p.buf, need)
	n := encode(p.buf[at:at+need], when, sets)
	p.buf = p.buf[:at+n]
	return w.wrote(n)
}

// Mark writes that nothing is known between the records before and after it.
func (w *Writer) Mark(when int64) error {
	if err := w.room(when, resultHead+4); err != nil {
		return err
	}
	p := w.volume
	at := len(p.buf)
	p.buf = grow(p.buf, resultHead+4)
	return w.wrote(encode(p.buf[at:], when, nil))
}

func (w *Writer) wrote(n int) error {
	if err := w.volume.wrote(n); err != nil {
		return w.wrong(err)
	}
	return nil
}

// room prepares for a record at that time and of at most that size, and updates the index.
func (w *Writer) room(when int64, need int) error {
	if w.any && when < w.last {
		return fmt.Errorf("a record of %d comes after one of %d: PCP's archives do not go back in time", when, w.last)
	}
	if w.volume.off+int64(need) > w.opt.VolumeSize && w.volume.off > labelSize3 {
		if w.volume.flush(); w.volume.err != nil {
			return w.wrong(w.volume.err)
		}
		w.number++
		v, err := w.open(fmt.Sprint(w.number), int32(w.number))
		if err != nil {
			return err
		}
		w.volume.buf = nil
		w.volume, w.indexAt = v, 0
	}
	w.last = when
	if !w.any || w.indexAt == 0 || w.volume.off-w.indexAt > indexEvery {
		w.any = true
		return w.point(when)
	}
	return nil
}

// point adds an index entry: records from here on are of that time or later.
func (w *Writer) point(when int64) error {
	if !w.any {
		when = w.opt.Label.Start
	}
	p := w.index
	at := len(p.buf)
	p.buf = appendTime(p.buf, when)
	p.buf = binary.BigEndian.AppendUint32(p.buf, uint32(w.number))
	p.buf = binary.BigEndian.AppendUint64(p.buf, uint64(w.meta.off))
	p.buf = binary.BigEndian.AppendUint64(p.buf, uint64(w.volume.off))
	w.indexAt = w.volume.off
	if err := p.wrote(len(p.buf) - at); err != nil {
		return w.wrong(err)
	}
	return nil
}

// grow returns b longer by n bytes with any contents.
func grow(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b[:len(b)+n]
	}
	bigger := make([]byte, len(b)+n, 2*cap(b)+n)
	copy(bigger, b)
	return bigger
}

func stringsSize(s *Set) int {
	n := 0
	for i := range s.Instances {
		n += pcp.StringBlock(s.Values.Word(i))
	}
	return n
}

// encode writes a record of sets to b, which is long enough, and returns its length.
func encode(b []byte, when int64, sets []Set) int {
	area := resultHead
	for i := range sets {
		if n := present(&sets[i]); n > 0 {
			area += 12 + 8*n
		} else {
			area += 8
		}
	}
	e := encoder{b: b, set: resultHead, block: area}
	for i := range sets {
		e.one(&sets[i])
	}
	n := e.block + 4
	binary.BigEndian.PutUint32(b, uint32(n))
	appendTime(b[4:4], when)
	binary.BigEndian.PutUint32(b[16:], uint32(len(sets)))
	binary.BigEndian.PutUint32(b[n-4:], uint32(n))
	return n
}

func present(s *Set) int {
	n := len(s.Instances)
	for _, why := range s.Values.Miss {
		if why != metric.Present {
			n--
		}
	}
	return n
}

// An encoder fills a record: with sets from the front, and with blocks after all sets.
type encoder struct {
	b          []byte
	set, block int
}

func (e *encoder) one(s *Set) {
	n := present(s)
	b := e.b[e.set:]
	binary.BigEndian.PutUint32(b, s.PMID)
	if n == 0 {
		code := int32(0)
		if len(s.Values.Miss) > 0 {
			code = pcp.ErrorOf(s.Values.Miss[0])
		}
		binary.BigEndian.PutUint32(b[4:], uint32(code))
		e.set += 8
		return
	}
	binary.BigEndian.PutUint32(b[4:], uint32(n))
	format := uint32(byPointer)
	if s.Type.InSitu() {
		format = inSitu
	}
	binary.BigEndian.PutUint32(b[8:], format)
	out := b[12 : 12+8*n]
	e.set += 12 + 8*n
	switch {
	case s.Type.InSitu():
		e.here(out, s)
	case s.Type == pcp.String:
		e.strings(out, s)
	case s.Type == pcp.Float:
		e.narrow(out, s)
	case s.Values.Miss != nil:
		e.some(out, s)
	default:
		e.wide(out, s.Instances, s.Values.Bits, uint32(s.Type)<<24|12)
	}
}

// wide writes 64-bit values without absent ones. Nearly all values are such.
func (e *encoder) wide(out []byte, ids []uint32, bits []uint64, head uint32) {
	bits = bits[:len(ids)]
	at := e.block
	blocks := e.b[at : at+12*len(ids)]
	index := uint64(at+8) / 4
	for i, id := range ids {
		binary.BigEndian.PutUint64(out[8*i:], uint64(id)<<32|index)
		index += 3
		block := blocks[12*i : 12*i+12]
		binary.BigEndian.PutUint32(block, head)
		binary.BigEndian.PutUint64(block[4:], bits[i])
	}
	e.block = at + 12*len(ids)
}

// point writes an instance and the position of its block.
func (e *encoder) point(out []byte, id uint32) {
	binary.BigEndian.PutUint64(out, uint64(id)<<32|uint64(e.block+8)/4)
}

func (e *encoder) some(out []byte, s *Set) {
	for i, id := range s.Instances {
		if s.Values.Miss[i] != metric.Present {
			continue
		}
		e.point(out, id)
		out = out[8:]
		e.block += len(pcp.AppendBlock(e.b[e.block:e.block], s.Type, s.Values.Bits[i]))
	}
}

func (e *encoder) narrow(out []byte, s *Set) {
	for i, id := range s.Instances {
		if s.Values.Miss != nil && s.Values.Miss[i] != metric.Present {
			continue
		}
		e.point(out, id)
		out = out[8:]
		e.block += len(pcp.AppendBlock(e.b[e.block:e.block], pcp.Float, s.Values.Bits[i]))
	}
}

func (e *encoder) here(out []byte, s *Set) {
	for i, id := range s.Instances {
		if s.Values.Miss != nil && s.Values.Miss[i] != metric.Present {
			continue
		}
		binary.BigEndian.PutUint64(out, uint64(id)<<32|uint64(uint32(s.Values.Bits[i])))
		out = out[8:]
	}
}

func (e *encoder) strings(out []byte, s *Set) {
	for i, id := range s.Instances {
		if s.Values.Miss != nil && s.Values.Miss[i] != metric.Present {
			continue
		}
		e.point(out, id)
		out = out[8:]
		e.block += len(pcp.AppendString(e.b[e.block:e.block], s.Values.Word(i)))
	}
}

package chunk

import (
	"math"
	"slices"
	"strings"

	"tachograph/sample/metric"
)

// A segmentReader is a segment of instances as far as it has been decoded: first the heads,
// which are when the instances came, their kinds and keys, by which they are found; then the
// rest.
type segmentReader struct {
	begins  []uint32
	rows    []int32
	kinds   []int32
	names   []int32 // how many names; the complement if the body has their blocks
	frames  []int32 // of the keys
	figures []figure
	from    []int32 // where the figures of a key begin
	insts   []Instance

	d      decoder // at the end of the heads
	head   *headModel
	body   *bodyModel
	bodies *bodyReader // until all are decoded
	bodied int         // how many are decoded
}

// heads decodes the heads of a segment, once.
func (r *register) heads(i int) (*segmentReader, error) {
	s := &r.read[i]
	if s.begins != nil || len(r.runs) == 0 {
		return s, nil
	}
	if r.names == nil {
		b, err := r.g.read(r.g.namesAt, "names")
		if err != nil {
			return nil, err
		}
		r.names, r.limits = b, limitsFor(b)
	}
	index := &r.segs[i]
	if r.teaches(i) {
		s.head = new(headModel)
		s.head.init()
	} else {
		t, err := r.heads(r.teacher(i))
		if err != nil {
			return nil, err
		}
		s.head = t.head.clone()
	}
	at := 0
	for k := range i {
		at += r.segs[k].bytes
	}
	s.d.begin(r.names[at : at+index.bytes])
	ok := s.decodeHeads(r, index)
	if !r.teaches(i) {
		s.head.spare()
		s.head = nil
	}
	if !ok {
		s.begins = nil
		return nil, r.g.wrong("names", errNames)
	}
	return s, nil
}

// unlearn frees the models of a segment when no other segment will learn from them any more.
func (s *segmentReader) unlearn() {
	if s.head != nil {
		s.head.spare()
	}
	if s.body != nil {
		s.body.spare()
	}
	s.head, s.body = nil, nil
}

// teaches reports whether other segments have learned from segment i.
func (r *register) teaches(i int) bool {
	return r.segs[i].first == 0 || r.segs[i].first == r.early
}

// teacher returns the segment from which segment i has learned.
func (r *register) teacher(i int) int {
	if r.segs[i].first < r.early {
		return 0
	}
	return slices.IndexFunc(r.segs, func(s segmentIndex) bool { return s.first == r.early })
}

func (s *segmentReader) decodeHeads(r *register, index *segmentIndex) bool {
	n := index.end - index.first
	all := make([]int32, 5*n+1)
	s.begins, s.rows, s.kinds, s.names = make([]uint32, n), room(&all, n), room(&all, n), room(&all, n)
	s.frames, s.from = room(&all, n), room(&all, n+1)
	s.figures = make([]figure, 0, n*len(index.spans))
	d, m := &s.d, s.head
	for i, sp := range index.spans {
		m.key.last[i] = figure{sp.lo, digits(sp.lo)}
	}
	c := newKindCoder(index.kinds)
	begin := int64(index.base)
	for k := range n {
		if m.was = d.bit(&m.again[m.was], fastLimit); m.was == 0 {
			if begin += 1 + d.number(made(&m.begin)); begin < 0 || begin >= int64(r.g.Blocks) {
				return false
			}
		}
		if (begin == 0) != (index.first < r.early) {
			return false
		}
		s.begins[k] = uint32(begin)
		kind := d.kind(m, c)
		run := &index.kinds[kind]
		s.kinds[k] = run.kind
		s.rows[k] = run.row + run.count - c.left[kind] - 1
		names := int64(1)
		if d.bit(&m.plain[0], fastLimit) == 0 {
			// It has no name, several, or one that came later. The body has their blocks.
			if names = d.number(made(&m.counts)); names < 0 || names >= int64(r.g.Blocks)+2 {
				return false
			}
			names = ^names
		}
		s.names[k] = int32(names)
		frame := int32(index.frame)
		switch {
		case frame >= 0:
		case names == ^0:
			frame = run.kind
		default:
			f := int64(m.key.used) + d.number(made(&m.key.which))
			if f < 0 || f >= int64(len(r.fr.list)) {
				return false
			}
			frame = int32(f)
			m.key.used = frame
		}
		s.frames[k] = frame
		if r.texts--; r.texts < 0 || d.short() || !s.keyFigures(r.fr.marks[frame], index.spans) {
			return false
		}
		s.from[k+1] = int32(len(s.figures))
	}
	return true
}

// keyFigures decodes the numbers of a key, the last one first.
func (s *segmentReader) keyFigures(n int, spans []span) bool {
	m := s.head.key
	from := len(s.figures)
	s.figures = slices.Grow(s.figures, n)[:from+n]
	figures := s.figures[from:]
	grown := uint32(0)
	for i := n - 1; i >= 0; i-- {
		delta := made(&m.delta[i])
		if i < n-1 {
			delta.prev = grown
		}
		f := &figures[i]
		f.value = m.last[i].value + uint64(s.d.number(delta))
		grown = delta.prev
		if spans != nil && (f.value < spans[i].lo || f.value > spans[i].hi) || !s.d.digits(m, i, f) {
			return false
		}
		m.last[i] = *f
	}
	return true
}

// digits decodes how many digits a number has.
func (d *decoder) digits(s *slotModel, i int, f *figure) bool {
	f.width = s.usual(i, f.value)
	if d.bit(&s.width[i], fastLimit) != 0 {
		w := int64(f.width) + d.number(made(&s.wide))
		if w < 1 || w > maxFigure {
			return false
		}
		f.width = uint32(w)
	}
	return true
}

// find returns the place of a key, -1 if it is not there.
func (s *segmentReader) find(frame int, figures []figure) int {
	for k, f := range s.frames {
		if int(f) == frame && slices.Equal(s.figures[s.from[k]:s.from[k+1]], figures) {
			return k
		}
	}
	return -1
}

// bodies decodes a segment up to the instance at a place, once.
func (r *register) bodies(i, place int) (*segmentReader, error) {
	s, err := r.heads(i)
	if err != nil || place < s.bodied {
		return s, err
	}
	if len(r.runs) == 0 {
		s.insts, s.begins, s.bodied = make([]Instance, 1), make([]uint32, 1), 1
		return s, nil
	}
	if s.bodies == nil {
		if r.teaches(i) {
			s.body = new(bodyModel)
		} else {
			t := r.teacher(i)
			learned, err := r.bodies(t, len(r.read[t].rows)-1)
			if err != nil {
				return nil, err
			}
			s.body = learned.body.clone()
		}
		s.bodies = &bodyReader{r: r, s: s, d: s.d, m: s.body, alike: newLikeness()}
		s.insts = make([]Instance, len(s.rows))
	}
	for ; s.bodied <= place; s.bodied++ {
		b := s.bodies
		if b.d.short() || !b.instance(&s.insts[s.bodied], s.bodied) || b.d.short() {
			b.d.at = math.MaxInt32 // an error once remains an error
			return nil, r.g.wrong("names", errNames)
		}
	}
	if s.bodied == len(s.insts) {
		s.bodies = nil
		if !r.teaches(i) {
			s.body.spare()
			s.body = nil
		}
	}
	return s, nil
}

// A bodyReader decodes the names and labels of the instances of a segment.
type bodyReader struct {
	r       *register
	s       *segmentReader
	d       decoder
	m       *bodyModel
	alike   *likeness
	figures [maxFigures]figure
	out     strings.Builder // all texts
	text    []byte
}

func (b *bodyReader) instance(in *Instance, k int) bool {
	s, m, fr := b.s, b.m, &b.r.fr
	m.keyed = s.figures[s.from[k]:s.from[k+1]]
	var ok bool
	if in.Key, ok = b.build(s.frames[k], m.keyed); !ok {
		return false
	}
	kind := s.kinds[k]
	before := b.alike.to(kind)
	refs := make([]textRef, slotLabels, max(slotLabels, len(before)))
	n := int(s.names[k])
	plain := n >= 0
	if !plain {
		n = ^n
	}
	if n > 0 {
		in.Names = make([]Naming, 0, min(n, 16))
	}
	for left := n; left > 0 && !b.d.short(); left-- {
		nm := Naming{Block: s.begins[k]}
		if !plain {
			at := int64(nm.Block) + b.d.number(made(&m.blocks))
			if at < 0 || at >= int64(b.r.g.Blocks) {
				return false
			}
			nm.Block = uint32(at)
		}
		slot := m.slot(slotName)
		frame := int64(kind)
		if left > 1 {
			frame = b.frame(slot)
		}
		if frame < 0 || !b.numbers(slot, fr.marks[frame]) {
			return false
		}
		if nm.Name, ok = b.build(int32(frame), b.figures[:fr.marks[frame]]); !ok {
			return false
		}
		labels := b.d.number(made(&m.labels)) + int64(max(len(before)-slotLabels, 0)/2)
		for l := 0; int64(l) < labels; l++ {
			name, ok1 := b.label(slotLabels+2*l, before, &refs)
			value, ok2 := b.label(slotLabels+2*l+1, before, &refs)
			if !ok1 || !ok2 || b.d.short() {
				return false
			}
			nm.Labels = append(nm.Labels, metric.Label{Name: name, Value: value})
		}
		in.Names = append(in.Names, nm)
	}
	b.alike.note(kind, refs)
	return true
}

// label decodes a text of a label.
func (b *bodyReader) label(slot int, before []textRef, refs *[]textRef) (string, bool) {
	m, d := b.m.slot(slot), &b.d
	var like *textRef
	if slot < len(before) {
		like = &before[slot]
	}
	keep := func(t textRef) (string, bool) {
		if slot == len(*refs) {
			*refs = append(*refs, t)
		}
		return t.text, true
	}
	if like != nil {
		if m.was = d.bit(&m.same[m.was], fastLimit); m.was != 0 {
			if b.r.texts--; b.r.texts < 0 {
				return "", false
			}
			return keep(*like)
		}
	}
	frame := int64(-1)
	if like != nil && d.bit(&m.frame[0], fastLimit) != 0 {
		frame = int64(like.frame)
	} else if frame = b.frame(m); frame < 0 {
		return "", false
	}
	n := b.r.fr.marks[frame]
	if !b.numbers(m, n) {
		return "", false
	}
	text, ok := b.build(int32(frame), b.figures[:n])
	if !ok {
		return "", false
	}
	return keep(textRef{text, int32(frame)})
}

// frame decodes the number of a frame, -1 if there is no such frame.
func (b *bodyReader) frame(m *slotModel) int64 {
	f := int64(m.used) + b.d.number(made(&m.which))
	if f < 0 || f >= int64(len(b.r.fr.list)) {
		return -1
	}
	m.used = int32(f)
	return f
}

// numbers decodes the n numbers of a text that is not a key.
func (b *bodyReader) numbers(m *slotModel, n int) bool {
	d, keyed := &b.d, b.m.keyed
	for i := range b.figures[:n] {
		f := &b.figures[i]
		copied := i < len(keyed) && d.bit(&m.copy[i], fastLimit) != 0
		if copied {
			f.value = keyed[i].value
		} else {
			f.value = m.last[i].value + uint64(d.number(made(&m.delta[i])))
		}
		if !d.digits(m, i, f) {
			return false
		}
		m.last[i] = *f
	}
	return true
}

// build assembles a text from its frame and figures.
func (b *bodyReader) build(frame int32, figures []figure) (string, bool) {
	if b.r.texts--; b.r.texts < 0 {
		return "", false
	}
	list := b.r.fr.list[frame]
	if len(figures) == 0 {
		return strings.TrimPrefix(list, plainMark), true
	}
	b.text = appendText(b.text[:0], list, figures)
	if b.r.room -= len(b.text); b.r.room < 0 {
		return "", false
	}
	from := b.out.Len()
	b.out.Write(b.text)
	return b.out.String()[from:], true
}

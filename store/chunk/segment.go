package chunk

import (
	"slices"
	"strconv"
)

// describe returns the index entry of the instances from first to before end in the order of
// appearance.
func (x *instanceEncoder) describe(first, end int) *segmentIndex {
	s := &segmentIndex{first: first, end: end, base: x.origins[x.order[first]].begin, frame: -1, copied: true}
	counts := make(map[int32]int32)
	for k := first; k < end; k++ {
		o := &x.origins[x.order[k]]
		counts[int32(x.fr.number(o.kind))]++
		if k == first {
			s.frame = x.fr.number(o.frame)
			for _, f := range o.figures {
				s.spans = append(s.spans, span{f.value, f.value})
			}
		} else if s.frame >= 0 && x.fr.number(o.frame) != s.frame {
			s.frame, s.spans = -1, nil
		}
		for i := range s.spans {
			s.spans[i].lo, s.spans[i].hi = min(s.spans[i].lo, o.figures[i].value), max(s.spans[i].hi, o.figures[i].value)
		}
		names := x.insts[x.order[k]].Names
		for i, n := range names {
			frame, figures := split(n.Name, nil)
			if i < len(names)-1 {
				if f := int32(x.fr.number(frame)); !slices.Contains(s.others, f) {
					s.others = append(s.others, f)
				}
			}
			if len(figures) > 0 && (len(o.figures) == 0 || o.figures[0].value != figures[0].value) {
				s.copied = false
			}
		}
	}
	for kind, n := range counts {
		s.kinds = append(s.kinds, kindRun{kind: kind, count: n})
	}
	slices.SortFunc(s.kinds, func(a, b kindRun) int { return int(a.kind - b.kind) })
	return s
}

// echoes returns the frames of the names of labels whose values always equal the first number
// of the key, as a pid does. A question that this number rules out is ruled out by these labels
// too.
func (x *instanceEncoder) echoes() []int {
	echo := make(map[string]bool)
	var names []string
	for i := range x.insts {
		for _, n := range x.insts[i].Names {
			for _, l := range n.Labels {
				o := &x.origins[i]
				same := len(o.figures) > 0 && l.Value == strconv.FormatUint(o.figures[0].value, 10)
				if was, known := echo[l.Name]; !known {
					names = append(names, l.Name)
					echo[l.Name] = same
				} else {
					echo[l.Name] = was && same
				}
			}
		}
	}
	var out []int
	for _, name := range names {
		if frame, figures := split(name, nil); echo[name] && len(figures) == 0 {
			out = append(out, x.fr.number(frame))
		}
	}
	return out
}

// segment appends the stream of a segment.
func (x *instanceEncoder) segment(out []byte, s *segmentIndex, head *headModel, body *bodyModel) []byte {
	e := &x.e
	e.begin(out)
	for i, sp := range s.spans {
		head.key.last[i] = figure{sp.lo, digits(sp.lo)}
	}
	c := newKindCoder(s.kinds)
	begin := s.base
	for _, i := range x.order[s.first:s.end] {
		o := &x.origins[i]
		again := uint32(0)
		if o.begin == begin {
			again = 1
		}
		e.bit(&head.again[head.was], fastLimit, again)
		if head.was = again; again == 0 {
			e.number(made(&head.begin), int64(o.begin)-int64(begin)-1)
			begin = o.begin
		}
		e.kind(head, c, int32(x.fr.number(o.kind)))
		names := x.insts[i].Names
		plain := uint32(0)
		if x.plain(i) {
			plain = 1
		}
		e.bit(&head.plain[0], fastLimit, plain)
		if plain == 0 {
			e.number(made(&head.counts), int64(len(names)))
		}
		if len(names) > 0 && s.frame < 0 {
			e.frame(head.key, int32(x.fr.number(o.frame)))
		}
		e.keyFigures(head.key, o.figures)
	}
	alike := newLikeness()
	for _, i := range x.order[s.first:s.end] {
		x.body(body, int32(i), alike)
	}
	return e.end()
}

// plain reports whether an instance had one name throughout.
func (x *instanceEncoder) plain(i int32) bool {
	in := &x.insts[i]
	return len(in.Names) == 1 && in.Names[0].Block == in.Runs[0].Start
}

// frame codes the number of a frame.
func (e *encoder) frame(s *slotModel, f int32) {
	e.number(made(&s.which), int64(f)-int64(s.used))
	s.used = f
}

// keyFigures codes the numbers of a key, the last one first: by how much that one grew
// indicates by how much the others may have grown.
func (e *encoder) keyFigures(s *slotModel, figures []figure) {
	grown := uint32(0)
	for i := len(figures) - 1; i >= 0; i-- {
		m := made(&s.delta[i])
		if i < len(figures)-1 {
			m.prev = grown
		}
		e.number(m, int64(figures[i].value-s.last[i].value))
		grown = m.prev
		e.digits(s, i, figures[i])
		s.last[i] = figures[i]
	}
}

// digits codes how many digits a number has.
func (e *encoder) digits(s *slotModel, i int, f figure) {
	if usual := s.usual(i, f.value); f.width == usual {
		e.bit(&s.width[i], fastLimit, 0)
	} else {
		e.bit(&s.width[i], fastLimit, 1)
		e.number(made(&s.wide), int64(f.width)-int64(usual))
	}
}

// A likeness finds the instance of a segment that the next one of a kind is compared to: the
// last of that kind, or else the last of all.
type likeness struct {
	byKind map[int32][]textRef
	last   []textRef
}

func newLikeness() *likeness { return &likeness{byKind: make(map[int32][]textRef)} }

func (l *likeness) to(kind int32) []textRef {
	if refs, ok := l.byKind[kind]; ok {
		return refs
	}
	return l.last
}

func (l *likeness) note(kind int32, refs []textRef) {
	l.byKind[kind], l.last = refs, refs
}

// body codes the names and labels of an instance. The frame of its latest name is its kind.
func (x *instanceEncoder) body(m *bodyModel, i int32, alike *likeness) {
	e, in, o := &x.e, &x.insts[i], &x.origins[i]
	kind := int32(x.fr.number(o.kind))
	before := alike.to(kind)
	refs := make([]textRef, slotLabels, slotLabels+2)
	m.keyed = o.figures
	text := func(slot int, s string) {
		var b *textRef
		if slot < len(before) {
			b = &before[slot]
		}
		r := x.text(m, m.slot(slot), s, b)
		if slot == len(refs) {
			refs = append(refs, r)
		}
	}
	for k, n := range in.Names {
		last := k == len(in.Names)-1
		if !x.plain(i) {
			e.number(made(&m.blocks), int64(n.Block)-int64(o.begin))
		}
		frame, figures := split(n.Name, nil)
		if s := m.slot(slotName); last {
			e.figures(m, s, figures)
		} else {
			e.frame(s, int32(x.fr.number(frame)))
			e.figures(m, s, figures)
		}
		e.number(made(&m.labels), int64(len(n.Labels))-int64(max(len(before)-slotLabels, 0)/2))
		for l, label := range n.Labels {
			text(slotLabels+2*l, label.Name)
			text(slotLabels+2*l+1, label.Value)
		}
	}
	alike.note(kind, refs)
}

// text codes one text of a label, given the text of the instance it is compared to.
func (x *instanceEncoder) text(m *bodyModel, s *slotModel, text string, before *textRef) textRef {
	e := &x.e
	if before != nil {
		if text == before.text {
			e.bit(&s.same[s.was], fastLimit, 1)
			s.was = 1
			return *before
		}
		e.bit(&s.same[s.was], fastLimit, 0)
		s.was = 0
	}
	frame, figures := split(text, nil)
	f := int32(x.fr.number(frame))
	alike := before != nil && f == before.frame
	if before != nil {
		bit := uint32(0)
		if alike {
			bit = 1
		}
		e.bit(&s.frame[0], fastLimit, bit)
	}
	if !alike {
		e.frame(s, f)
	}
	e.figures(m, s, figures)
	return textRef{text, f}
}

// figures codes the numbers of a text that is not a key.
func (e *encoder) figures(m *bodyModel, s *slotModel, figures []figure) {
	for i, f := range figures {
		copied := i < len(m.keyed) && m.keyed[i].value == f.value
		if i < len(m.keyed) {
			bit := uint32(0)
			if copied {
				bit = 1
			}
			e.bit(&s.copy[i], fastLimit, bit)
		}
		if !copied {
			e.number(made(&s.delta[i]), int64(f.value-s.last[i].value))
		}
		e.digits(s, i, f)
		s.last[i] = f
	}
}

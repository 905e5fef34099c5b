package chunk

import (
	"encoding/binary"
	"slices"
	"sync"
)

// The instances of a group - their keys, their names from which block on, and when they came -
// are coded in the order of appearance, since their numbers grow with time, in segments that
// are decoded alone. Instances that were there from the first block on are few and read most,
// so they have segments of their own. For each segment, an index gives the ranges of the
// numbers in its keys and how many instances of each kind it has, which rules it out for most
// questions. The same counts give the rows, which are ordered by kind and within it by
// appearance.

// segmentInstances is how many instances a segment has. earlySegment is the number for
// instances that were there from the first block on: they are read most.
const (
	segmentInstances = 256
	earlySegment     = 64
)

// segmentEnd returns where the segment that begins with instance first ends, for n instances.
func segmentEnd(first, early, n int) int {
	if first < early {
		return min(first+earlySegment, early)
	}
	return min(first+segmentInstances, n)
}

// The texts of an instance are coded by slot: the key, the name, and then the names and values
// of the labels alternately.
const (
	slotKey = iota
	slotName
	slotLabels
	maxSlots = 34
)

// A slotModel codes the texts of one slot.
type slotModel struct {
	same  [2]prob // the whole text equals that of the similar instance
	frame [2]prob // its frame does
	which *number // otherwise: the number of the frame
	copy  [maxFigures]prob
	width [maxFigures]prob
	delta [maxFigures]*number
	wide  *number
	last  [maxFigures]figure // of the instance coded before
	was   uint32
	used  int32 // the frame that was last coded by its number
}

// A headModel codes when an instance came, its kind and its key.
type headModel struct {
	again  [2]prob // it came at the same block as the one before
	begin  *number
	was    uint32
	follow [4]prob // its kind is the one that followed the previous kind the last time
	plain  [2]prob // it has one name throughout
	counts *number // otherwise: how many names
	key    *slotModel
}

// A bodyModel codes the names and labels of an instance.
type bodyModel struct {
	blocks *number
	labels *number
	slots  [maxSlots]*slotModel
	keyed  []figure // the numbers in the present instance's key
}

func (m *headModel) init() {
	fill(m.again[:])
	fill(m.follow[:])
	fill(m.plain[:])
	m.key = newSlotModel()
}

func newSlotModel() *slotModel {
	s := &slotModel{}
	fill(s.same[:])
	fill(s.frame[:])
	fill(s.copy[:])
	fill(s.width[:])
	return s
}

func (m *bodyModel) slot(i int) *slotModel {
	i = min(i, maxSlots-1)
	if m.slots[i] == nil {
		m.slots[i] = newSlotModel()
	}
	return m.slots[i]
}

// spareNumbers are number models for reuse: they take ten kilobytes each.
var spareNumbers = sync.Pool{New: func() any { return new(number) }}

// made returns the number model at p. It makes the model when it is first needed.
func made(p **number) *number {
	if *p == nil {
		*p = spareNumbers.Get().(*number)
		(*p).init()
	}
	return *p
}

// again replaces the model at p by a copy, which can learn further.
func again(p **number) {
	if *p != nil {
		n := spareNumbers.Get().(*number)
		*n = **p
		*p = n
	}
}

// spare frees the model at p for reuse.
func spare(p **number) {
	if *p != nil {
		spareNumbers.Put(*p)
		*p = nil
	}
}

// clone copies what has been learned, so that the copy can learn further.
func (s *slotModel) clone() *slotModel {
	if s == nil {
		return nil
	}
	c := *s
	c.numbers(again)
	return &c
}

// numbers calls fn with the place of each number model.
func (s *slotModel) numbers(fn func(p **number)) {
	fn(&s.which)
	fn(&s.wide)
	for i := range s.delta {
		fn(&s.delta[i])
	}
}

func (m *headModel) clone() *headModel {
	c := *m
	again(&c.begin)
	again(&c.counts)
	c.key = m.key.clone()
	return &c
}

// spare frees the models of m.
func (m *headModel) spare() {
	spare(&m.begin)
	spare(&m.counts)
	m.key.numbers(spare)
}

// spare frees the models of m.
func (m *bodyModel) spare() {
	spare(&m.blocks)
	spare(&m.labels)
	for _, s := range m.slots {
		if s != nil {
			s.numbers(spare)
		}
	}
}

func (m *bodyModel) clone() *bodyModel {
	c := *m
	again(&c.blocks)
	again(&c.labels)
	for i, s := range m.slots {
		c.slots[i] = s.clone()
	}
	c.keyed = nil
	return &c
}

// usual returns the number of digits that v should have: as many as it needs, or, if the
// previous number had leading zeros, at least as many as that had.
func (s *slotModel) usual(i int, v uint64) uint32 {
	n := digits(v)
	if l := s.last[i]; l.width > digits(l.value) {
		n = max(n, l.width)
	}
	return n
}

// A textRef is a text and its frame. The texts of an instance are kept because similar
// instances are coded relative to them.
type textRef struct {
	text  string
	frame int32
}

// A kindRun is how many instances of a kind a segment has. Their rows begin at row.
type kindRun struct {
	kind, count int32
	segment     int32
	row         int32
}

// A span is the range of a number in the keys of a segment.
type span struct{ lo, hi uint64 }

// A segmentIndex is the index entry of a segment.
type segmentIndex struct {
	first, end int // in the order of appearance
	bytes      int
	base       uint32 // the earliest block at which the first instance came
	kinds      []kindRun
	frame      int // of all keys; -1 if they differ
	spans      []span
	// copied says that the first figures of all names equal those of the keys.
	copied bool
	others []int32 // frames of names that are not the latest of their instances
}

// indexModel codes the index.
type indexModel struct {
	bytes, base, kinds, gap, count, frame, lo, width, others *number
}

// spare frees the models of m.
func (m *indexModel) spare() {
	for _, n := range []**number{&m.bytes, &m.base, &m.kinds, &m.gap, &m.count, &m.frame, &m.lo, &m.width, &m.others} {
		spare(n)
	}
}

// index codes the index entry of a segment, given the entry before.
func (e *encoder) index(m *indexModel, s, before *segmentIndex) {
	e.number(made(&m.bytes), int64(s.bytes-before.bytes))
	e.number(made(&m.base), int64(s.base)-int64(before.base))
	e.number(made(&m.kinds), int64(len(s.kinds)-len(before.kinds)))
	next := int32(0)
	for _, k := range s.kinds {
		e.number(made(&m.gap), int64(k.kind-next))
		e.number(made(&m.count), int64(k.count-1))
		next = k.kind + 1
	}
	e.number(made(&m.frame), int64(s.frame-before.frame))
	for i, sp := range s.spans {
		lo := uint64(0)
		if i < len(before.spans) {
			lo = before.spans[i].hi
		}
		e.number(made(&m.lo), int64(sp.lo-lo))
		e.number(made(&m.width), int64(sp.hi-sp.lo))
	}
	copied := int64(0)
	if s.copied {
		copied = 1
	}
	e.number(made(&m.others), int64(len(s.others))<<1|copied)
	for _, f := range s.others {
		e.number(made(&m.others), int64(f))
	}
}

// An instanceEncoder encodes the instances of a group.
type instanceEncoder struct {
	insts   []Instance
	origins []origin
	fr      frames
	kinds   int
	order   []int32 // of appearance
	e       encoder
}

// encodeInstances appends the index and the segments of instances, which are in the order of
// their rows. early is how many were there from the first block.
func encodeInstances(index, names []byte, insts []Instance) (_, _ []byte, early int, err error) {
	if len(insts) == 0 || len(insts) == 1 && insts[0].Key == "" && len(insts[0].Names) == 0 && insts[0].Runs[0].Start == 0 {
		return index, names, len(insts), nil
	}
	x := &instanceEncoder{insts: insts, origins: make([]origin, len(insts)), order: make([]int32, len(insts))}
	for i := range insts {
		x.origins[i] = originOf(&insts[i])
		x.order[i] = int32(i)
		if x.origins[i].begin == 0 {
			early++
		}
	}
	x.number()
	slices.SortStableFunc(x.order, func(p, q int32) int { return x.origins[p].byAppearance(&x.origins[q]) })
	var segs []*segmentIndex
	var head *headModel
	var body *bodyModel
	for first := 0; first < len(insts); {
		end := segmentEnd(first, early, len(insts))
		var h *headModel
		var b *bodyModel
		if first == 0 || first == early {
			if head != nil {
				head.spare()
				body.spare()
			}
			h, b = new(headModel), new(bodyModel)
			h.init()
			head, body = h, b
		} else {
			h, b = head.clone(), body.clone()
		}
		s := x.describe(first, end)
		from := len(names)
		names = x.segment(names, s, h, b)
		s.bytes = len(names) - from
		segs = append(segs, s)
		if h != head {
			h.spare()
			b.spare()
		}
		first = end
	}
	head.spare()
	body.spare()
	index = binary.AppendUvarint(index, uint64(early))
	index = binary.AppendUvarint(index, uint64(x.kinds))
	packed, err := x.fr.marshal()
	if err != nil {
		return nil, nil, 0, err
	}
	index = binary.AppendUvarint(index, uint64(len(packed)))
	index = append(index, packed...)
	echoes := x.echoes()
	index = binary.AppendUvarint(index, uint64(len(echoes)))
	for _, f := range echoes {
		index = binary.AppendUvarint(index, uint64(f))
	}
	var m indexModel
	defer m.spare()
	x.e.begin(index)
	before := &segmentIndex{}
	for _, s := range segs {
		x.e.index(&m, s, before)
		before = s
	}
	return x.e.end(), names, early, nil
}

// number gives the first frame numbers to the kinds, in their order.
func (x *instanceEncoder) number() {
	kinds := make([]*origin, 0, 64)
	seen := make(map[string]bool)
	for i := range x.origins {
		if o := &x.origins[i]; !seen[o.kind] {
			seen[o.kind] = true
			kinds = append(kinds, o)
		}
	}
	slices.SortFunc(kinds, (*origin).byKind)
	for _, o := range kinds {
		x.fr.number(o.kind)
	}
	x.kinds = len(kinds)
}

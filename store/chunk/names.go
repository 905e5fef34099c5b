package chunk

import (
	"encoding/binary"
	"errors"
)

// Names are the keys of the instances, and what they were called from which
// block on. They are coded in the order in which the instances appeared: their
// numbers then grow slowly. The frame of a text, though, is expected to be that
// of the instance before in the chunk's own order, which puts like and like
// together and hence needs no words for what is alike.

var errNames = errors.New("the names contradict themselves")

// The texts of an instance are coded by slot: the key, the name, and then the
// names and values of the labels in turn.
const (
	slotKey = iota
	slotName
	slotLabels
	maxSlots = 34
)

// A slotModel codes the texts of one slot.
type slotModel struct {
	same  [2]prob // whole text as in the instance before in chunk order
	frame [2]prob // frame as there
	which *number // otherwise: number of the frame, minus the next new one
	copy  [maxFigures]prob
	width [maxFigures]prob
	delta [maxFigures]*number
	wide  *number
	last  [maxFigures]figure // of the instance coded before
	was   uint32
}

type nameModel struct {
	slots   [maxSlots]*slotModel
	counts  number // namings minus one
	blocks  number // block of a naming, minus the first of the instance
	labels  number // labels, minus those of the instance before in chunk order
	newest  int    // frames in use so far
	figures [maxFigures]figure
	keyed   []figure // the numbers of the present instance's key
}

func (m *nameModel) init() {
	m.counts.init()
	m.blocks.init()
	m.labels.init()
}

func (m *nameModel) slot(i int) *slotModel {
	i = min(i, maxSlots-1)
	if m.slots[i] == nil {
		s := &slotModel{}
		fill(s.same[:])
		fill(s.frame[:])
		fill(s.copy[:])
		fill(s.width[:])
		m.slots[i] = s
	}
	return m.slots[i]
}

// made makes the model of numbers at p when it is first needed.
func made(p **number) *number {
	if *p == nil {
		*p = new(number)
		(*p).init()
	}
	return *p
}

// appearance is the order of instances by first block; begin is 0 for those
// that were there from the start.
func appearance(insts []Instance, blocks int) []int32 {
	counts := make([]int32, blocks+1)
	for i := range insts {
		counts[insts[i].Runs[0].Start+1]++
	}
	for b := range blocks {
		counts[b+1] += counts[b]
	}
	order := make([]int32, len(insts))
	for i := range insts {
		b := insts[i].Runs[0].Start
		order[counts[b]] = int32(i)
		counts[b]++
	}
	return order
}

// A textRef is a text as its frame and figures; the texts of an instance are
// kept for the next one in chunk order to refer to.
type textRef struct {
	text  string
	frame int32
}

func encodeNames(out []byte, insts []Instance, blocks int) []byte {
	if len(insts) == 1 && insts[0].Key == "" && len(insts[0].Names) == 0 {
		return out
	}
	var e encoder
	e.begin(nil)
	var m nameModel
	m.init()
	var fr frames
	refs := make([][]textRef, len(insts))
	for _, i := range appearance(insts, blocks) {
		in := &insts[i]
		var before []textRef
		if i > 0 {
			before = refs[i-1] // empty if it appeared later
		}
		refs[i] = e.instance(&m, &fr, in, before)
	}
	stream := e.end()
	head := fr.marshal()
	out = binary.AppendUvarint(out, uint64(len(head)))
	out = append(out, head...)
	return append(out, stream...)
}

func (e *encoder) instance(m *nameModel, fr *frames, in *Instance, before []textRef) []textRef {
	refs := make([]textRef, 0, slotLabels)
	text := func(slot int, s string) {
		var b *textRef
		if slot < len(before) {
			b = &before[slot]
		}
		r := e.text(m, m.slot(slot), fr, s, b, slot == slotKey)
		if slot == len(refs) {
			refs = append(refs, r)
		}
	}
	text(slotKey, in.Key)
	e.number(&m.counts, int64(len(in.Names))-1)
	for _, n := range in.Names {
		e.number(&m.blocks, int64(n.Block)-int64(in.Runs[0].Start))
		text(slotName, n.Name)
		e.number(&m.labels, int64(len(n.Labels))-int64(max(len(before)-slotLabels, 0)/2))
		for l, label := range n.Labels {
			text(slotLabels+2*l, label.Name)
			text(slotLabels+2*l+1, label.Value)
		}
	}
	return refs
}

// text codes one text, given that of the instance before in chunk order.
func (e *encoder) text(m *nameModel, s *slotModel, fr *frames, text string, before *textRef, isKey bool) textRef {
	if before != nil && !isKey {
		if text == before.text {
			e.bit(&s.same[s.was], fastLimit, 1)
			s.was = 1
			return *before
		}
		e.bit(&s.same[s.was], fastLimit, 0)
		s.was = 0
	}
	frame, figures := split(text, m.figures[:0])
	f := fr.number(frame)
	if before != nil && int32(f) == before.frame {
		e.bit(&s.frame[0], fastLimit, 1)
	} else {
		if before != nil {
			e.bit(&s.frame[0], fastLimit, 0)
		}
		e.number(made(&s.which), int64(m.newest-f))
		if f == m.newest {
			m.newest++
		}
	}
	for i, fig := range figures {
		e.figure(m, s, i, fig, isKey)
	}
	if isKey {
		m.keyed = append(m.keyed[:0], figures...)
	}
	return textRef{text, int32(f)}
}

func (e *encoder) figure(m *nameModel, s *slotModel, i int, fig figure, isKey bool) {
	copied := false
	if !isKey && i < len(m.keyed) {
		same := uint32(0)
		if m.keyed[i].value == fig.value {
			same, copied = 1, true
		}
		e.bit(&s.copy[i], fastLimit, same)
	}
	if !copied {
		e.number(made(&s.delta[i]), int64(fig.value-s.last[i].value))
	}
	if plain := s.usual(i, fig.value); fig.width == plain {
		e.bit(&s.width[i], fastLimit, 0)
	} else {
		e.bit(&s.width[i], fastLimit, 1)
		e.number(made(&s.wide), int64(fig.width)-int64(plain))
	}
	s.last[i] = fig
}

// usual is the number of digits that v should have: as many as it needs, or,
// if the number before had zeros in front, no less than that.
func (s *slotModel) usual(i int, v uint64) uint32 {
	n := digits(v)
	if l := s.last[i]; l.width > digits(l.value) {
		n = max(n, l.width)
	}
	return n
}

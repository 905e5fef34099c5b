package chunk

import (
	"strings"

	"tachograph/sample/metric"
)

// A nameReader decodes names one instance after another, in the order in which
// they appeared.
type nameReader struct {
	insts []Instance
	order []int32
	next  int
	fr    frames
	refs  [][]textRef
	d     decoder
	m     nameModel
	text  []byte
	limits
}

func newNameReader(in []byte, insts []Instance, blocks int) (*nameReader, error) {
	n := &nameReader{insts: insts}
	if len(in) == 0 {
		if len(insts) > 1 {
			return nil, errNames
		}
		return n, nil
	}
	r := reader{in: in}
	if !n.fr.parse(r.bytes(r.count(len(in)))) || r.bad {
		return nil, errNames
	}
	n.order = appearance(insts, blocks)
	n.refs = make([][]textRef, len(insts))
	n.limits = limitsFor(in)
	n.m.init()
	n.d.begin(r.in)
	return n, nil
}

// step decodes the names of the next instance and returns its number, or -1
// when there are no more.
func (n *nameReader) step() (int, error) {
	if n.next == len(n.order) {
		return -1, nil
	}
	i := int(n.order[n.next])
	n.next++
	var before []textRef
	if i > 0 {
		before = n.refs[i-1]
	}
	in := &n.insts[i]
	refs := make([]textRef, 0, slotLabels)
	text := func(slot int) (string, error) {
		var b *textRef
		if slot < len(before) {
			b = &before[slot]
		}
		t, err := n.one(n.m.slot(slot), b, slot == slotKey)
		if slot == len(refs) {
			refs = append(refs, t)
		}
		return t.text, err
	}
	var err error
	if in.Key, err = text(slotKey); err != nil {
		return -1, err
	}
	for k := 1 + n.d.number(&n.m.counts); k > 0 && !n.d.short(); k-- {
		nm := Naming{Block: uint32(int64(in.Runs[0].Start) + n.d.number(&n.m.blocks))}
		if nm.Name, err = text(slotName); err != nil {
			return -1, err
		}
		labels := n.d.number(&n.m.labels) + int64(max(len(before)-slotLabels, 0)/2)
		for l := 0; int64(l) < labels; l++ {
			var label metric.Label
			if label.Name, err = text(slotLabels + 2*l); err != nil {
				return -1, err
			}
			if label.Value, err = text(slotLabels + 2*l + 1); err != nil {
				return -1, err
			}
			nm.Labels = append(nm.Labels, label)
		}
		in.Names = append(in.Names, nm)
	}
	n.refs[i] = refs
	if n.d.short() {
		return -1, errShort
	}
	return i, nil
}

// one decodes one text.
func (n *nameReader) one(s *slotModel, before *textRef, isKey bool) (textRef, error) {
	d, m := &n.d, &n.m
	if n.texts--; n.texts < 0 {
		return textRef{}, errNames
	}
	if before != nil && !isKey {
		s.was = d.bit(&s.same[s.was], fastLimit)
		if s.was != 0 {
			return *before, nil
		}
	}
	f := int64(-1)
	if before != nil && d.bit(&s.frame[0], fastLimit) != 0 {
		f = int64(before.frame)
	}
	if f < 0 {
		f = int64(m.newest) - d.number(made(&s.which))
		if f == int64(m.newest) {
			m.newest++
		}
	}
	if f < 0 || f >= int64(len(n.fr.list)) || f >= int64(m.newest) {
		return textRef{}, errNames
	}
	figures := m.figures[:n.fr.marks[f]]
	for i := range figures {
		if !n.figure(s, i, &figures[i], isKey) {
			return textRef{}, errNames
		}
	}
	if isKey {
		m.keyed = append(m.keyed[:0], figures...)
	}
	if len(figures) == 0 {
		// Nothing is put together, so that nothing need be copied.
		return textRef{strings.TrimPrefix(n.fr.list[f], plainMark), int32(f)}, nil
	}
	n.text = appendText(n.text[:0], n.fr.list[f], figures)
	if n.room -= len(n.text); n.room < 0 {
		return textRef{}, errNames
	}
	return textRef{string(n.text), int32(f)}, nil
}

func (n *nameReader) figure(s *slotModel, i int, fig *figure, isKey bool) bool {
	d, m := &n.d, &n.m
	copied := false
	if !isKey && i < len(m.keyed) {
		if copied = d.bit(&s.copy[i], fastLimit) != 0; copied {
			fig.value = m.keyed[i].value
		}
	}
	if !copied {
		fig.value = s.last[i].value + uint64(d.number(made(&s.delta[i])))
	}
	fig.width = s.usual(i, fig.value)
	if d.bit(&s.width[i], fastLimit) != 0 {
		w := int64(fig.width) + d.number(made(&s.wide))
		if w < 1 || w > maxFigure {
			return false
		}
		fig.width = uint32(w)
	}
	s.last[i] = *fig
	return true
}

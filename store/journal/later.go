package journal

import "tachograph/sample/metric"

// A Later is a tick whose rows have not been decoded.
type Later struct {
	kept   *kept
	coder  coder
	class  metric.Class
	at     metric.Stamp
	groups []*group
	stamps []metric.Stamp
}

// Halves is how many sets of classes there are whose rows share models. Those of different halves
// can be decoded at the same time.
const Halves = numHalves

// Half returns the number of the half of the tick's class.
func (l *Later) Half() int { return HalfOf(l.class) }

// Decode completes the tick, and any earlier one of its half that was not completed. It must be called
// in the order of the ticks, once for each. t is valid until the next call for the same half.
func (l *Later) Decode(t *metric.Tick) error {
	waiting := &l.kept.waiting[l.Half()]
	for len(*waiting) > 0 {
		next := (*waiting)[0]
		*waiting = (*waiting)[1:]
		if err := next.decode(t); err != nil || next == l {
			return err
		}
	}
	return errCorrupt
}

func (l *Later) decode(t *metric.Tick) error {
	*t = metric.Tick{Class: l.class, At: l.at, Blocks: t.Blocks[:0]}
	for i, g := range l.groups {
		g.block.At = l.stamps[i]
		t.Blocks = append(t.Blocks, &g.block)
	}
	rows := l.kept.rows[l.Half()].used()
	rows.coder.resume(&l.coder)
	err := rows.tickRows(l.groups, t, nil, false)
	if err == nil && rows.coder.bad() {
		err = errCorrupt
	}
	return err
}

// kept holds what the rows need that are left for later.
type kept struct {
	rows    [numHalves]*state
	waiting [numHalves][]*Later
	bodies  []byte
	groups  []*group
	kept    []metric.Stamp
	stamps  []metric.Stamp // scratch
}

// keptOf returns what s keeps. The halves get instances of their own, because they may be decoded at
// the same time.
func keptOf(s *state) *kept {
	for _, r := range s.rows {
		if r != nil {
			r.intern = nil
		}
	}
	return &kept{rows: s.rows}
}

// keptTogether is how many bytes of bodies are allocated at a time.
const keptTogether = 16 << 10

// tick decodes the beginning of the tick that s has begun to decode, and keeps the rest.
func (k *kept) tick(s *state, cl metric.Class, t *metric.Tick) (*Later, error) {
	if err := s.tickHead(cl, t, true); err != nil {
		return nil, err
	}
	l := &Later{kept: k, coder: s.coder, class: cl, at: t.At}
	l.coder.buf = keep(&k.bodies, s.coder.buf, keptTogether)
	blocks := s.classes[cl].blocks
	l.groups = keep(&k.groups, blocks, len(blocks)*64)
	k.stamps = k.stamps[:0]
	for _, b := range t.Blocks {
		k.stamps = append(k.stamps, b.At)
	}
	l.stamps = keep(&k.kept, k.stamps, len(blocks)*64)
	k.waiting[l.Half()] = append(k.waiting[l.Half()], l)
	return l, nil
}

// keep returns a copy of what, which takes its room from a larger allocation.
func keep[T any](room *[]T, what []T, together int) []T {
	if len(*room)+len(what) > cap(*room) {
		*room = make([]T, 0, max(together, len(what)))
	}
	from := len(*room)
	*room = append(*room, what...)
	return (*room)[from:len(*room):len(*room)]
}

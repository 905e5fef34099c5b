package journal

import (
	"errors"
	"math/bits"

	"tachograph/sample/metric"
)

var errCorrupt = errors.New("a record with a sound checksum does not decode")

// stamp codes an instant after the last one of its series: the continuous clock against the
// series' nominal step, the other clocks by their distance from it, which hardly moves.
func (s *state) stamp(m *stamps, at metric.Stamp) metric.Stamp {
	c := &s.coder
	step := at.Cont - m.last.Cont
	step = m.nominal + c.signed(&m.cont, step-m.nominal)
	cont := m.last.Cont + step
	m.nominal = step - step%1e6
	if step%1e6 > 5e5 {
		m.nominal += 1e6
	}
	wallOff, awakeOff := m.last.Wall-m.last.Cont, m.last.Awake-m.last.Cont
	wallOff += c.signed(&m.wall, at.Wall-at.Cont-wallOff)
	awakeOff += c.signed(&m.awake, at.Awake-at.Cont-awakeOff)
	m.last = metric.Stamp{Wall: cont + wallOff, Awake: cont + awakeOff, Cont: cont}
	return m.last
}

// beside codes the instant of a block relative to that of its tick.
func (s *state) beside(m *stamps, tick, at metric.Stamp) metric.Stamp {
	c := &s.coder
	off := m.nominal + c.signed(&m.cont, at.Cont-tick.Cont-m.nominal)
	m.nominal = off - off%1e6
	cont := tick.Cont + off
	wall := cont + (tick.Wall - tick.Cont) + c.signed(&m.wall, (at.Wall-at.Cont)-(tick.Wall-tick.Cont))
	awake := cont + (tick.Awake - tick.Cont) + c.signed(&m.awake, (at.Awake-at.Cont)-(tick.Awake-tick.Cont))
	return metric.Stamp{Wall: wall, Awake: awake, Cont: cont}
}

// tick codes t, a tick of class cl. When decoding, t is empty and filled in. It returns the coder
// with which the tick ended.
func (s *state) tick(cl metric.Class, t *metric.Tick, still *Still) (*coder, error) {
	r := s.rowsOf(cl)
	if err := s.tickHead(cl, t, r != s); err != nil {
		return nil, err
	}
	if r != s {
		r.coder.resume(&s.coder)
	}
	return &r.coder, r.tickRows(s.classes[cl].blocks, t, still, r == s)
}

// tickHead codes the beginning of t: when it was, and which groups it has. If stamped it also
// codes when the blocks were.
func (s *state) tickHead(cl metric.Class, t *metric.Tick, stamped bool) error {
	c := &s.coder
	k := s.classOf(cl)
	t.Class = cl
	t.At = s.stamp(&k.at, t.At)
	if err := s.blockList(k, s.groupsOf(cl), t); err != nil {
		return err
	}
	for i, g := range k.blocks {
		if c.dec {
			g.block.Group = g.g
			t.Blocks = append(t.Blocks, &g.block)
		}
		if stamped {
			s.blockStamp(g, t.At, t.Blocks[i])
		}
		if c.bad() {
			return errCorrupt
		}
	}
	return nil
}

// tickRows codes the rest of t, whose blocks are of gs. If stamps, it also codes when they were.
func (s *state) tickRows(gs []*group, t *metric.Tick, still *Still, stamps bool) error {
	c := &s.coder
	s.ticks++
	for i, g := range gs {
		b := t.Blocks[i]
		if g.cols == nil {
			g.begin(s)
		}
		if stamps {
			s.blockStamp(g, t.At, b)
		}
		if !c.dec {
			s.same = still.rows(i, g, t.Class)
			g.before, g.class = b.At, t.Class
		}
		if err := s.oneBlock(g, b); err != nil {
			return err
		}
		if c.bad() {
			return errCorrupt
		}
	}
	return nil
}

// blockList codes which groups a tick holds: usually the same as the last tick.
func (s *state) blockList(k *class, gs *groups, t *metric.Tick) error {
	c := &s.coder
	same := 1
	if !c.dec {
		same = b2i(len(t.Blocks) == len(k.blocks))
		for i := 0; same != 0 && i < len(t.Blocks); i++ {
			same = b2i(t.Blocks[i].Group == k.blocks[i].g)
		}
	}
	if c.bit(&k.same, same) != 0 {
		return nil
	}
	n := c.count(&k.count, len(t.Blocks), maxBlocks)
	if c.bad() {
		return errCorrupt
	}
	k.blocks = k.blocks[:0]
	last := -1
	for i := range n {
		var g *group
		at := len(gs.list)
		if !c.dec {
			if g = gs.of[t.Blocks[i].Group]; g != nil {
				at = g.index
			}
		}
		at = last + 1 + int(c.signed(&k.ref, int64(at-last-1)))
		switch {
		case at == len(gs.list):
			var def *metric.Group
			if !c.dec {
				def = t.Blocks[i].Group
			}
			var err error
			if g, err = s.define(gs, def); err != nil {
				return err
			}
		case at < 0 || at > len(gs.list) || c.bad():
			return errCorrupt
		default:
			g = gs.list[at]
		}
		last = at
		if c.dec && inBlocks(k.blocks, g) {
			return errCorrupt
		}
		k.blocks = append(k.blocks, g)
	}
	return nil
}

func inBlocks(bs []*group, g *group) bool {
	for _, b := range bs {
		if b == g {
			return true
		}
	}
	return false
}

// blockStamp codes when b, a block of g, was.
func (s *state) blockStamp(g *group, tick metric.Stamp, b *metric.Block) {
	if s.coder.bit(&g.sameAt, b2i(b.At == tick)) != 0 {
		b.At = tick
	} else {
		if g.at == nil {
			g.at = new(stamps)
			g.at.reset()
		}
		b.At = s.beside(g.at, tick, b.At)
	}
}

func (s *state) oneBlock(g *group, b *metric.Block) error {
	c := &s.coder
	if err := s.rowList(g, b); err != nil {
		return err
	}
	if c.dec {
		s.startBlock(g, b)
	}
	before := 0
	s.work += len(g.rows)
	if c.dec && s.work > workFree+c.fed*workPerByte {
		return errCorrupt
	}
	for i, r := range g.rows {
		if g.g.Indom == metric.NoIndom {
			s.cellsOf(g, r, b, i)
		} else {
			before = s.oneRow(g, r, b, i, before)
		}
		if c.dec && g.anew {
			s.show(g, r, b, i)
		}
		if c.bad() {
			return errCorrupt
		}
	}
	if c.dec {
		s.endBlock(g, b)
	}
	return nil
}

// oneRow codes whether anything in row r changed and, if so, what.
func (s *state) oneRow(g *group, r *row, b *metric.Block, i, before int) int {
	c := &s.coder
	changed := 1
	if r.age > 0 {
		if !c.dec {
			changed = b2i((s.same == nil || !s.same[i]) && s.rowChanged(r, b, i))
		}
		changed = c.bit3(&g.rowMix[min(bits.OnesCount8(r.hist), 7)],
			&r.own, &g.rowHist[r.hist], &g.rowPair[before][bits.Len32(r.age)&15], changed)
		r.hist = r.hist<<1 | uint8(changed)
	}
	if changed != 0 {
		s.cellsOf(g, r, b, i)
	} else {
		r.age++
	}
	return changed
}

// rowChanged reports whether any cell of row i of b differs from r.
func (s *state) rowChanged(r *row, b *metric.Block, i int) bool {
	for j := range r.vals {
		if s.cellChanged(r, j, &b.Cols[j], i) {
			return true
		}
	}
	return false
}

// cellChanged reports whether row i of a column differs from cell j of r.
func (s *state) cellChanged(r *row, j int, col *metric.Column, i int) bool {
	miss := r.miss[j]
	if len(col.Miss) != 0 && col.Miss[i] != metric.Present {
		return miss == 0 || s.reasons[miss] != col.Miss[i]
	}
	if miss != 0 {
		return true
	}
	if col.Words != nil {
		return s.strs[r.vals[j]] != col.Word(i)
	}
	return r.vals[j] != col.Bits[i]
}

// cellsOf codes the cells of row r, some of which changed.
func (s *state) cellsOf(g *group, r *row, b *metric.Block, i int) {
	c := &s.coder
	s.work += len(r.vals)
	before, beside := 0, uint8(0)
	fresh := r.age == 0
	r.age++
	if r.age == 0 {
		r.age--
	}
	var moves []motion
	if !fresh {
		moves = r.stir()
	}
	for j := range r.vals {
		k, m := &s.newborn, &g.cols[j]
		if j+1 < len(g.cols) {
			s.touched += g.cols[j+1].touch()
		}
		var col *metric.Column
		changed := 0
		if fresh {
			r.vals[j] = m.birth
		} else {
			k = &moves[j]
		}
		if !c.dec {
			col = &b.Cols[j]
			changed = b2i(s.cellChanged(r, j, col, i))
		}
		if fresh {
			changed = c.bit(&m.fresh[before], changed)
		} else {
			changed = c.bit3(&g.cellMix[bits.OnesCount8(k.hist)],
				&k.own, &m.changed[before][k.hist&15], &g.cellHist[k.hist], changed)
			k.hist = k.hist<<1 | uint8(changed)
		}
		before = changed
		if changed != 0 {
			if fresh {
				*k = still
			}
			s.change(m, k, cellAt{r, uint16(j)}, col, i, beside)
			beside = k.class
			if fresh {
				m.birth = r.vals[j]
				if k.twin.row != nil {
					r.first = append(r.first, twin{k.twin.row, k.twin.col, uint16(j), k.ratio})
				}
			}
			if c.dec && !g.anew {
				s.showCell(g, r, b, i, j)
			}
		}
		if c.bad() {
			return
		}
	}
}

// change codes the new value of the cell at a place.
func (s *state) change(m *column, k *motion, at cellAt, col *metric.Column, i int, beside uint8) {
	c := &s.coder
	why := metric.Present
	if !c.dec && len(col.Miss) != 0 {
		why = col.Miss[i]
	}
	val, miss := &at.row.vals[at.col], &at.row.miss[at.col]
	if c.bit(&m.miss, b2i(!c.dec && s.reasons[*miss] != why)) != 0 {
		*miss = s.reasonOf(why)
		if *miss != 0 {
			return
		}
		back := 0
		if !c.dec {
			back = b2i(s.cellChanged(at.row, int(at.col), col, i))
		}
		if c.bit(&m.back, back) == 0 {
			return
		}
	}
	if m.typ == metric.String {
		var v string
		if !c.dec {
			v = col.Word(i)
		}
		*val = s.stringOf(v)
		return
	}
	var v uint64
	if !c.dec {
		v = col.Bits[i]
	}
	if m.typ.Float() {
		*val = s.float(m, k, at, v, beside)
	} else {
		*val += uint64(s.delta(m, k, at, int64(v-*val), beside))
	}
}

// delta codes d, the difference, not 0, between the new value of the cell at a place and its
// last one.
func (s *state) delta(m *column, k *motion, at cellAt, d int64, beside uint8) int64 {
	c := &s.coder
	if twin := k.twin.motion(); twin != nil && twin.tick == s.ticks && twin.delta != 0 {
		if like := scaled(twin.delta, k.ratio); like != 0 {
			if c.bit3(&s.likeMix, &k.like, &m.like, &s.likeAll[k.ratio], b2i(d == like)) != 0 {
				k.delta, k.class = like, uint8(bits.Len64(uint64(max(like, -like))))
				s.made(k, at, true)
				return like
			}
		}
	}
	d = s.alone(m, k, d, beside)
	s.made(k, at, false)
	return d
}

// alone codes d by the history of the cell itself and of its column.
func (s *state) alone(m *column, k *motion, d int64, beside uint8) int64 {
	c := &s.coder
	if k.delta != 0 {
		if c.bit3(&s.againMix, &k.again, &m.again, &s.againLen[k.class], b2i(d == k.delta)) != 0 {
			return k.delta
		}
	}
	was := 0
	if k.delta > 0 {
		was = 1
	} else if k.delta < 0 {
		was = 2
	}
	neg := c.bit(&m.sign[was], b2i(d < 0))
	u := uint64(d)
	if neg != 0 {
		u = -u
	}
	u = s.magnitude(m, k, u, beside)
	if neg != 0 {
		u = -u
	}
	k.delta = int64(u)
	return k.delta
}

// magnitude codes u, not 0: its length in bits, then its bits from the top, the upper ones
// together with those of the last change.
func (s *state) magnitude(m *column, k *motion, u uint64, beside uint8) uint64 {
	c := &s.coder
	n := uint64(bits.Len64(u) - 1)
	node := uint64(1)
	for i := 5; i >= 0; i-- {
		y := c.bit3(&s.classMix[node], &m.class[node], &s.classAfter[max(k.class, m.lastLen)][node], &s.classBeside[beside][node], int(n>>i&1))
		node = node<<1 | uint64(y)
	}
	n = node - 64
	last := uint64(k.delta)
	if k.delta < 0 {
		last = -last
	}
	matched := 2
	if uint64(bits.Len64(last)) == n+1 {
		matched = 0
	}
	k.class = uint8(n + 1)
	m.lastLen = k.class
	out := uint64(1)
	topNode := 1
	rest := max(int(n)-8, 0)
	for i := int(n) - 1; i >= rest; i-- {
		y := int(u >> i & 1)
		depth := int(n) - 1 - i
		was := int(last >> i & 1)
		y = c.bit3(&s.topMix[depth], &m.follow[depth][matched*2+was], &m.low[i], &s.top[n+1][topNode&7], y)
		if matched == 0 && y != was {
			matched = 1
		}
		if depth < 2 {
			topNode = topNode<<1 | y
		}
		out = out<<1 | uint64(y)
	}
	return out<<rest | c.bits(&m.low, rest, u)
}

// reasonOf codes a reason: a known one by number, a new one by text.
func (s *state) reasonOf(why metric.Reason) uint16 {
	c := &s.coder
	at, ok := uint16(len(s.reasons)), false
	if !c.dec {
		if n, seen := s.reason[why]; seen {
			at, ok = n, true
		}
	}
	n := c.unsigned(&s.reasonNr, uint64(at))
	if n < uint64(len(s.reasons)) {
		return uint16(n)
	}
	if n > uint64(len(s.reasons)) || n >= 1<<16-1 || c.bad() {
		c.fail()
		return 0
	}
	var text string
	if !c.dec && !ok {
		text = why.String()
	}
	text = c.text(&s.texts, s.why, text)
	if c.dec {
		why = metric.ReasonFor(text)
	}
	s.reasons = append(s.reasons, why)
	s.reason[why] = uint16(n)
	return uint16(n)
}

// stringOf codes a string value: a known one by number, counted from the latest, a new one by
// text.
func (s *state) stringOf(v string) uint64 {
	c := &s.coder
	at, seen := uint64(0), false
	if !c.dec {
		at, seen = s.str[v]
		seen = seen || len(s.strs) >= maxStrings
	}
	if c.bit(&s.strNew, b2i(!seen)) == 0 {
		n := c.unsigned(&s.strNr, uint64(len(s.strs)-1)-at)
		if n >= uint64(len(s.strs)) {
			c.fail()
			return 0
		}
		return uint64(len(s.strs)-1) - n
	}
	v = c.text(&s.texts, s.strings, v)
	if len(s.strs) >= maxStrings {
		c.fail()
		return 0
	}
	s.strs = append(s.strs, v)
	s.str[v] = uint64(len(s.strs) - 1)
	return uint64(len(s.strs) - 1)
}

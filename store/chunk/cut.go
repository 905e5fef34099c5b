package chunk

import (
	"fmt"
	"slices"
	"sort"

	"tachograph/sample/metric"
)

// A Stretch is a range of ticks of a chunk.
type Stretch struct {
	Chunk *Chunk
	// From is the number of the first tick, Until the number after the last.
	From, Until int
	// Stands says that the first tick holds standing values: a group without a block in it
	// contributes its last block before it.
	Stands bool
}

// Cut makes one chunk of stretches of chunks of the same class and archive, given in the order
// of time. It works column by column, without building ticks. number gives the numbers of
// metrics in the new chunk.
func Cut(parts []Stretch, desc func(number uint32) *metric.Desc, number func(*metric.Desc) uint32) (*Sealed, error) {
	m := merger{words: make(map[string]uint64)}
	for _, s := range parts {
		if err := m.cut(s); err != nil {
			return nil, err
		}
	}
	m.atOnce = cutCells
	if err := m.tables(desc); err != nil {
		return nil, err
	}
	for _, g := range m.out.groups {
		for c := range g.metrics {
			g.metrics[c].number = number(g.metrics[c].desc)
		}
	}
	return m.out.seal()
}

// cutCells is up to how many cells of a group Cut holds all its columns in memory together, so
// that none is decoded twice.
const cutCells = 1 << 21

// A cutting says which blocks of a group are wanted, and which instances.
type cutting struct {
	from, until uint32 // blocks
	rows        []int  // the instances in them
	lo, hi      []uint32
	series      Series // of the current column
}

// cut adds the ticks of s.
func (m *merger) cut(s Stretch) error {
	stamps, err := s.Chunk.Stamps()
	if err != nil {
		return err
	}
	if s.From < 0 || s.From >= s.Until || s.Until > len(stamps) {
		return fmt.Errorf("of %d ticks none are those from number %d to %d", len(stamps), s.From, s.Until)
	}
	words, err := s.Chunk.Words()
	if err != nil {
		return err
	}
	m.out.class = s.Chunk.Class
	base := uint32(len(m.out.ticks))
	m.out.ticks = append(m.out.ticks, stamps[s.From:s.Until]...)
	own := &cutWords{merger: m, texts: words, numbers: make([]uint64, len(words))}
	for _, g := range s.Chunk.Groups {
		at, err := g.blocks()
		if err != nil {
			return err
		}
		before := func(tick int) int { return sort.Search(len(at), func(i int) bool { return int(at[i].tick) >= tick }) }
		from, until := before(s.From), before(s.Until)
		if s.Stands {
			from = max(before(s.From+1)-1, 0)
		}
		if from == until {
			continue
		}
		if err := m.group(g).cut(g, at[from:until], uint32(from), s.From, base, own); err != nil {
			return err
		}
	}
	return nil
}

// cut adds the blocks at, the first of which has number from. Blocks of tick first, or of a
// tick before it, are assigned to tick base.
func (m *groupMerger) cut(g *Group, at []blockAt, from uint32, first int, base uint32, words *cutWords) error {
	insts, err := g.Instances()
	if err != nil {
		return err
	}
	block := uint32(len(m.at))
	for _, b := range at {
		m.at = append(m.at, blockAt{max(b.tick, uint32(first)) - uint32(first) + base, b.at})
	}
	c := &cutting{from: from, until: from + uint32(len(at))}
	part := mergePart{g: g, cut: c, texts: words}
	for i := range insts {
		in, lo, hi := insts[i].within(c.from, c.until)
		if lo == hi {
			continue
		}
		n := m.instance(in.Key)
		c.rows, c.lo, c.hi = append(c.rows, i), append(c.lo, lo), append(c.hi, hi)
		part.place, part.base = append(part.place, n), append(part.base, m.lives[n])
		m.lives[n] += hi - lo
		m.insts[n].extend(&in, block)
	}
	m.parts = append(m.parts, part)
	return nil
}

// within returns in restricted to the blocks from from to before until, renumbered from 0, and
// the range of its ordinals in them.
func (in *Instance) within(from, until uint32) (out Instance, lo, hi uint32) {
	ordinal := uint32(0)
	for _, r := range in.Runs {
		if r.Start >= until {
			break
		}
		if r.End > from {
			start, end := max(r.Start, from), min(r.End, until)
			if len(out.Runs) == 0 {
				lo = ordinal + start - r.Start
			}
			hi = ordinal + end - r.Start
			out.Runs = append(out.Runs, Run{start - from, end - from})
		}
		ordinal += r.End - r.Start
	}
	if lo == hi {
		return Instance{}, 0, 0
	}
	out.Key = in.Key
	begin, end := out.Runs[0].Start+from, out.Runs[len(out.Runs)-1].End+from
	for i, nm := range in.Names {
		if i > 0 && nm.Block >= end {
			break
		}
		if i > 0 && nm.Block <= begin {
			out.Names = out.Names[:0]
		}
		nm.Block = max(nm.Block, begin) - from
		out.Names = append(out.Names, nm)
	}
	return out, lo, hi
}

// column adds column c of the part to j.
func (p *mergePart) column(c int, text bool, j *joiner) error {
	cut := p.cut
	rows, at := cut.rows, 0
	switch len(rows) {
	case 0:
		return nil
	case p.g.Size:
		rows = nil
	}
	return p.g.SeriesUntil(c, rows, cut.until-1, func(row int, s *Series) error {
		for cut.rows[at] != row {
			at++
		}
		s.within(cut.lo[at], cut.hi[at], &cut.series)
		if text {
			if err := p.texts.number(cut.series.Bits); err != nil {
				return err
			}
		}
		return j.add(p.place[at], p.base[at], &cut.series, nil)
	})
}

// within sets out to s at the ordinals from lo to before hi.
func (s *Series) within(lo, hi uint32, out *Series) {
	out.Life, out.At, out.Bits, out.miss = hi-lo, out.At[:0], out.Bits[:0], out.miss[:0]
	m := sort.Search(len(s.miss), func(i int) bool { return s.miss[i].at > lo })
	begin, there := lo, true
	if m > 0 && s.miss[m-1].why != metric.Present {
		there = false
		out.miss = append(out.miss, missAt{0, s.miss[m-1].why})
	}
	for ; m < len(s.miss) && s.miss[m].at < hi; m++ {
		x := s.miss[m]
		if !there && x.why == metric.Present {
			begin, there = x.at, true
		}
		out.miss = append(out.miss, missAt{x.at - lo, x.why})
	}
	if !there {
		return
	}
	k, _ := slices.BinarySearch(s.At, begin+1)
	value := uint64(0)
	if k > 0 {
		value = s.Bits[k-1]
	}
	out.At, out.Bits = append(out.At, begin-lo), append(out.Bits, value)
	for ; k < len(s.At) && s.At[k] < hi; k++ {
		out.At, out.Bits = append(out.At, s.At[k]-lo), append(out.Bits, s.Bits[k])
	}
}

// cutWords are the strings of a chunk that is cut. Only those that the cut cells hold are
// wanted.
type cutWords struct {
	*merger
	texts   []string
	numbers []uint64 // their numbers in the new chunk, plus 1
}

// number replaces numbers of strings by their numbers in the new chunk.
func (w *cutWords) number(bits []uint64) error {
	for i, old := range bits {
		if old >= uint64(len(w.texts)) {
			return errWords
		}
		if w.numbers[old] == 0 {
			w.numbers[old] = w.word(w.texts[old]) + 1
		}
		bits[i] = w.numbers[old] - 1
	}
	return nil
}

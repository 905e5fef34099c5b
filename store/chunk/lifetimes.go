package chunk

import (
	"encoding/binary"
	"errors"

	"tachograph/store/varint"
)

// Lifetimes give for how many blocks each instance of a group was there. They are coded row by
// row, where similar instances follow each other, and separately from when the instances came.
// A series needs nothing else, and to decode a column's segment takes no more lifetimes than it
// has rows.

var errLives = errors.New("the lifetimes contradict themselves")

// lifeRows is how many rows have a stream of their own.
const lifeRows = 1024

// lifetimes are decoded a segment at a time.
type lifetimes struct {
	list   []uint32
	blocks int
	segs   []lifeSegment
	absent map[int][]uint32 // by row, with more than one run: the length of the first run, then gap and length of each further one
	left   uint64           // the most that all those not decoded yet may add up to
	runs   int              // likewise for their runs
}

// A lifeSegment holds the lifetimes of some rows, which were either all there from the first
// block on or none of them. Its bytes are dropped once they are decoded.
type lifeSegment struct {
	first, end int
	early      bool
	in         []byte
	done       bool
}

// lifeModel codes lifetimes. A row that was there from the first block mostly lasts for the
// whole chunk.
type lifeModel struct {
	whole [2]prob
	size  number
	more  prob
	gap   number
	was   uint32
}

func (m *lifeModel) init() {
	fill(m.whole[:])
	m.size.init()
	m.more = probInit
	m.gap.init()
	m.was = 0
}

// lifeSegments divides n rows, of which the first early ones were there from the start.
func lifeSegments(n, early int) []lifeSegment {
	var segs []lifeSegment
	for first := 0; first < n; {
		s := lifeSegment{first: first, end: min(first+lifeRows, n), early: first < early}
		if s.early {
			s.end = min(s.end, early)
		}
		segs = append(segs, s)
		first = s.end
	}
	return segs
}

// encodeLives appends the lifetimes of instances in the order of their rows.
func encodeLives(out []byte, insts []Instance, early, blocks int) []byte {
	all := true
	for i := range insts {
		r := insts[i].Runs
		all = all && len(r) == 1 && r[0].Start == 0 && int(r[0].End) == blocks
	}
	if all {
		return out
	}
	segs := lifeSegments(len(insts), early)
	var sizes, streams []byte
	var e encoder
	var m lifeModel
	for i, s := range segs {
		m.init()
		e.begin(streams)
		for k := s.first; k < s.end; k++ {
			e.life(&m, insts[k].Runs, s.early, blocks)
		}
		streams = e.end()
		if i < len(segs)-1 {
			sizes = binary.AppendUvarint(sizes, uint64(len(streams)-e.start))
		}
	}
	return append(append(append(out, 1), sizes...), streams...)
}

func (e *encoder) life(m *lifeModel, runs []Run, early bool, blocks int) {
	if early {
		whole := uint32(0)
		if len(runs) == 1 && int(runs[0].End) == blocks {
			whole = 1
		}
		e.bit(&m.whole[m.was], fastLimit, whole)
		if m.was = whole; whole != 0 {
			return
		}
	}
	for k, r := range runs {
		if k > 0 {
			e.bit(&m.more, fastLimit, 1)
			e.number(&m.gap, int64(r.Start-runs[k-1].End)-1)
		}
		e.number(&m.size, int64(r.End-r.Start)-1)
	}
	e.bit(&m.more, fastLimit, 0)
}

// openLives reads the layout only. limit bounds the sum of the lifetimes of all n instances.
func openLives(in []byte, n, early, blocks int, limit uint64) (*lifetimes, error) {
	l := &lifetimes{list: make([]uint32, n), blocks: blocks, segs: lifeSegments(n, early), left: limit, runs: maxRuns}
	if len(in) == 0 {
		if uint64(n)*uint64(blocks) > limit {
			return nil, errLives
		}
		for i := range l.list {
			l.list[i] = uint32(blocks)
		}
		for i := range l.segs {
			l.segs[i].done = true
		}
		return l, nil
	}
	r := varint.Reader{In: in[1:]}
	sizes := make([]int, len(l.segs))
	for i := range max(len(sizes)-1, 0) {
		sizes[i] = r.Count(len(in))
	}
	for i := range l.segs {
		if i == len(l.segs)-1 {
			sizes[i] = len(r.In)
		}
		l.segs[i].in = r.Bytes(sizes[i])
	}
	if r.Bad || in[0] != 1 {
		return nil, errLives
	}
	return l, nil
}

// of returns the lifetimes of the rows from from to before to.
func (l *lifetimes) of(from, to int) ([]uint32, error) {
	for i := range l.segs {
		s := &l.segs[i]
		if s.end <= from || s.done {
			continue
		}
		if s.first >= to {
			break
		}
		if err := l.decode(s); err != nil {
			return nil, err
		}
	}
	return l.list[from:to], nil
}

func (l *lifetimes) decode(s *lifeSegment) error {
	var d decoder
	d.begin(s.in)
	var m lifeModel
	m.init()
	for i := s.first; i < s.end; i++ {
		life, err := d.life(&m, l, i, s.early)
		if err != nil {
			return err
		}
		if uint64(life) > l.left || l.runs < 0 {
			return errLives
		}
		l.left -= uint64(life)
		l.list[i] = life
		if d.short() {
			return errShort
		}
	}
	s.done, s.in = true, nil
	return nil
}

func (d *decoder) life(m *lifeModel, l *lifetimes, row int, early bool) (uint32, error) {
	l.runs--
	if early {
		if m.was = d.bit(&m.whole[m.was], fastLimit); m.was != 0 {
			return uint32(l.blocks), nil
		}
	}
	var runs []uint32
	life := int64(0)
	for at := int64(0); ; {
		size := d.number(&m.size) + 1
		if size < 1 || size > int64(l.blocks) {
			return 0, errLives
		}
		at += size
		life += size
		more := d.bit(&m.more, fastLimit)
		if more == 0 && runs == nil {
			return uint32(life), nil
		}
		runs = append(runs, uint32(size))
		if more == 0 {
			break
		}
		gap := d.number(&m.gap) + 1
		if at += gap; gap < 1 || at >= int64(l.blocks) || d.short() {
			return 0, errLives
		}
		l.runs--
		runs = append(runs, uint32(gap))
	}
	if l.absent == nil {
		l.absent = make(map[int][]uint32)
	}
	l.absent[row] = runs
	return uint32(life), nil
}

// runsOf returns the runs of a row that came at block begin.
func (l *lifetimes) runsOf(row int, begin uint32) ([]Run, error) {
	life, err := l.of(row, row+1)
	if err != nil {
		return nil, err
	}
	parts := l.absent[row]
	if parts == nil {
		parts = life
	}
	runs := make([]Run, 0, len(parts)/2+1)
	at := uint64(begin)
	for i := 0; i < len(parts); i += 2 {
		if i > 0 {
			at += uint64(parts[i-1])
		}
		end := at + uint64(parts[i])
		if end > uint64(l.blocks) {
			return nil, errLives
		}
		runs = append(runs, Run{uint32(at), uint32(end)})
		at = end
	}
	return runs, nil
}

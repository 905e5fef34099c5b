package chunk

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"sync"

	"tachograph/store/varint"
)

// An activity says, for each instance of a group, at which ordinals any of its columns changes.
// Processes that are mostly idle are idle in all columns at once. The activity says this once,
// so that the columns need not.
type activity struct {
	// lists, when encoding: the active ordinals of each instance, never 0.
	lists [][]uint32
	// all says that every ordinal may be active: nothing is stored.
	all bool
	// segs, when decoding.
	segs []activeSegment
}

type activeSegment struct {
	first, end int // instances
	in         []byte
	lives      *lifetimes
	off        []uint32 // for the instances so far; nil before any is decoded
	at         []uint32
	d          decoder
	m          *activeModel // until all are decoded
}

// activeShare is the share of active ordinals, in sixteenths, above which the list is not
// worthwhile.
const activeShare = 11

const activeHistory = 8

// activeBytes is the size at which a segment ends: finding an instance requires decoding those
// before it in its segment.
const activeBytes = 160

// activeModel codes whether an instance is active at all, and then whether it is active at each
// ordinal.
type activeModel struct {
	ever    [2]prob
	now     [1 << activeHistory]prob
	context uint32
}

func (m *activeModel) init() {
	fill(m.ever[:])
	fill(m.now[:])
	m.context = 0
}

// changeMarks have a bit for each ordinal of each instance, set if any column changes there.
// The words from[i] to from[i+1] belong to instance i.
type changeMarks struct {
	from  []uint64
	words []uint64
}

func newMarks(lives []uint32) *changeMarks {
	m := &changeMarks{from: make([]uint64, len(lives)+1)}
	for i, n := range lives {
		m.from[i+1] = m.from[i] + (uint64(n)+63)/64
	}
	m.words = make([]uint64, m.from[len(lives)])
	return m
}

// see marks where a column changes.
func (m *changeMarks) see(col *columnTable) {
	for i := range len(m.from) - 1 {
		words := m.words[m.from[i]:m.from[i+1]]
		for k := col.off[i] + 1; k < col.off[i+1]; k++ {
			words[col.at[k]>>6] |= 1 << (col.at[k] & 63)
		}
	}
}

// activity lists the marked ordinals.
func (m *changeMarks) activity(lives []uint32) *activity {
	a := &activity{lists: make([][]uint32, len(lives))}
	total, active := 0, 0
	for i := range lives {
		words := m.words[m.from[i]:m.from[i+1]]
		count := 0
		for _, w := range words {
			count += bits.OnesCount64(w)
		}
		list := make([]uint32, 0, count)
		for k, w := range words {
			for ; w != 0; w &= w - 1 {
				list = append(list, uint32(k<<6+bits.TrailingZeros64(w)))
			}
		}
		a.lists[i] = list
		total += int(lives[i])
		active += count
	}
	a.all = active*16 > total*activeShare
	return a
}

// of returns the list of instance i, nil for all ordinals.
func (a *activity) of(i int) []uint32 {
	if a.all {
		return nil
	}
	return a.lists[i]
}

func (a *activity) encode(out []byte, lives []uint32, early int) []byte {
	if a.all {
		return out
	}
	var sizes []segment
	var streams []byte
	var e encoder
	var m activeModel
	for i := 0; i < len(lives); {
		m.init()
		from := i
		e.begin(streams)
		for i < len(lives) && len(e.out)-e.start < activeBytes && (i != early || i == from) {
			e.active(&m, a.lists[i], lives[i])
			i++
		}
		streams = e.end()
		sizes = append(sizes, segment{i - from, len(streams) - e.start})
	}
	out = binary.AppendUvarint(out, uint64(len(sizes)))
	for _, s := range sizes {
		out = binary.AppendUvarint(out, uint64(s.series))
		out = binary.AppendUvarint(out, uint64(s.bytes))
	}
	return append(out, streams...)
}

func (e *encoder) active(m *activeModel, list []uint32, life uint32) {
	if life < 2 {
		return
	}
	if len(list) == 0 {
		e.bit(&m.ever[m.context], fastLimit, 0)
		m.context = 0
		return
	}
	e.bit(&m.ever[m.context], fastLimit, 1)
	m.context = 1
	history := uint32(0)
	for t := uint32(1); t < life; t++ {
		bit := uint32(0)
		if len(list) > 0 && list[0] == t {
			bit = 1
			list = list[1:]
		}
		e.bit(&m.now[history], slowLimit, bit)
		history = history<<1&(1<<activeHistory-1) | bit
	}
}

func (d *decoder) active(m *activeModel, list []uint32, life uint32) []uint32 {
	if life < 2 {
		return list
	}
	m.context = d.bit(&m.ever[m.context], fastLimit)
	if m.context == 0 {
		return list
	}
	history := uint32(0)
	for t := uint32(1); t < life; t++ {
		bit := d.bit(&m.now[history], slowLimit)
		if bit != 0 {
			list = append(list, t)
		}
		history = history<<1&(1<<activeHistory-1) | bit
	}
	return list
}

var errActivity = errors.New("the activity part contradicts its length")

// openActivity reads the layout only; lists are decoded when needed.
func openActivity(in []byte, lives *lifetimes) (*activity, error) {
	if len(in) == 0 {
		return &activity{all: true}, nil
	}
	r := varint.Reader{In: in}
	n := r.Count(len(in))
	a := &activity{segs: make([]activeSegment, n)}
	first := 0
	sizes := make([]int, n)
	for i := range a.segs {
		end := first + r.Count(len(lives.list)-first)
		a.segs[i] = activeSegment{first: first, end: end, lives: lives}
		sizes[i] = r.Count(len(in))
		first = end
	}
	for i := range a.segs {
		a.segs[i].in = r.Bytes(sizes[i])
	}
	if r.Bad || first != len(lives.list) || len(r.In) != 0 {
		return nil, errActivity
	}
	return a, nil
}

// reach decodes the lists of the instances from first to last at once. It leaves errors for get to report.
func (a *activity) reach(first, last int) {
	for i := range a.segs {
		if s := &a.segs[i]; s.end > first && s.first <= last {
			_ = s.decode(min(last+1, s.end) - s.first - 1)
		}
	}
}

// get returns the list of instance i, nil for all ordinals.
func (a *activity) get(i int) ([]uint32, error) {
	if a.all {
		return nil, nil
	}
	lo, hi := 0, len(a.segs)
	for lo < hi {
		if m := (lo + hi) / 2; a.segs[m].end <= i {
			lo = m + 1
		} else {
			hi = m
		}
	}
	s := &a.segs[lo]
	if err := s.decode(i - s.first); err != nil {
		return nil, err
	}
	return s.at[s.off[i-s.first]:s.off[i-s.first+1]:s.off[i-s.first+1]], nil
}

// spareOrdinals are lists to decode into before their length is known.
var spareOrdinals = sync.Pool{New: func() any { return new([]uint32) }}

// decode decodes up to the k-th instance: those behind it are not needed to find it.
func (s *activeSegment) decode(k int) error {
	if k < len(s.off)-1 {
		return nil
	}
	if s.off == nil {
		s.off, s.at, s.m = make([]uint32, 1, s.end-s.first+1), []uint32{}, new(activeModel)
		s.d.begin(s.in)
		s.m.init()
	}
	from := s.first + len(s.off) - 1
	lives, err := s.lives.of(from, s.first+k+1)
	if err != nil {
		return err
	}
	spare := spareOrdinals.Get().(*[]uint32)
	defer spareOrdinals.Put(spare)
	at, before := (*spare)[:0], len(s.at)
	for _, life := range lives {
		if s.d.short() {
			break
		}
		at = s.d.active(s.m, at, life)
		s.off = append(s.off, uint32(before+len(at)))
	}
	s.at, *spare = append(s.at, at...), at
	if s.d.short() {
		s.off = s.off[:from-s.first+1]
		return errShort
	}
	if from+len(lives) == s.end {
		s.m, s.in, s.d = nil, nil, decoder{}
	}
	return nil
}

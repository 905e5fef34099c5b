package chunk

import (
	"errors"
	"math/bits"
	"slices"
	"sync"

	"tachograph/sample/metric"
)

// A series is coded as its first value, whether it varies, and if so the method of prediction
// and what happens at each of its active ordinals: whether the value changes there and by how
// much.
type seriesModel struct {
	first  number
	varies [3]prob
	method [8]prob
	moves  moves
	delta  step
	prev   uint64 // context: the first value of the previous series
	varied uint32
	mixed  bool // two models are combined; otherwise the first decides alone: in times, and in version 1
	ready  bool // whether moves and delta are set up: many streams need neither
}

const historyBits = 6

// Methods of prediction. What is coded at a change is the difference from the prediction.
const (
	byLast    = iota // the value before
	byTrend          // the value before plus the change before
	byFirst          // the first value: for values that return again and again
	byNothing        // zero
	byOther          // the value before plus the change that another series predicts
)

func (m *seriesModel) init(mixed bool) {
	if mixed {
		m.first = priorNumber
	} else {
		m.first = freshNumber
	}
	fill(m.varies[:])
	fill(m.method[:])
	m.prev, m.varied = 0, 0
	m.mixed, m.ready = mixed, false
}

// begin prepares for the changes of a series.
func (m *seriesModel) begin() {
	if !m.ready {
		m.moves, m.ready = freshMoves, true
		if m.mixed {
			m.delta = freshStep
		} else {
			m.delta.number = freshNumber
		}
	}
	m.delta.begin()
	m.moves.begin()
}

// series codes a series of n values with the given changes, the first of which is at ordinal 0.
// active lists the ordinals above 0 at which a change is possible, nil for all. guide is nil or
// the series it is predicted from.
func (e *encoder) series(m *seriesModel, at []uint32, vals []uint64, n uint32, active []uint32, g *guide) {
	e.number(&m.first, int64(vals[0]-m.prev))
	m.prev = vals[0]
	room := n - 1
	if active != nil {
		room = uint32(len(active))
	}
	if room == 0 {
		return
	}
	varies := uint32(0)
	if len(at) > 1 {
		varies = 1
	}
	e.bit(&m.varies[m.varied], fastLimit, varies)
	m.varied = varies
	if varies == 0 {
		return
	}
	method, _ := chooseMethod(vals)
	if g != nil {
		method = byOther
	}
	e.path(m.method[:], 3, fastLimit, method)
	if g != nil {
		e.reference(&g.reference)
	}
	m.begin()
	k := 1
	base, trend := vals[0], uint64(0)
	if method == byNothing {
		base = 0
	}
	for i := uint32(0); i < room; i++ {
		t := i + 1
		if active != nil {
			t = active[i]
		}
		guided := uint32(0)
		p, q, w := m.moves.unguided(t, m.delta.prev)
		if g != nil {
			var expected int64
			expected, guided = g.expected(t)
			trend = uint64(expected)
			p, q, w = m.moves.withGuide(guided)
		}
		moves := uint32(0)
		if k < len(at) && at[k] == t {
			moves = 1
		}
		e.either(p, q, w, m.mixed, moves)
		m.moves.saw(t, moves)
		if moves == 0 {
			continue
		}
		v := vals[k]
		k++
		e.step(&m.delta, int64(v-base-trend), guided, m.mixed)
		switch method {
		case byLast, byOther:
			base = v
		case byTrend:
			trend = v - base
			base = v
		}
	}
}

// chooseMethod estimates which prediction costs least, and how many bits that takes.
func chooseMethod(vals []uint64) (method uint32, bits int) {
	var cost [4]int
	last, trend := vals[0], uint64(0)
	for _, v := range vals[1:] {
		cost[byLast] += size(v - last)
		cost[byTrend] += size(v - last - trend)
		cost[byFirst] += size(v - vals[0])
		cost[byNothing] += size(v)
		trend = v - last
		last = v
	}
	best := 0
	for i := range cost {
		if cost[i] < cost[best] {
			best = i
		}
	}
	return uint32(best), cost[best]
}

// reference codes a reference as four plain numbers.
func (e *encoder) reference(f *reference) {
	e.plain(uint64(f.group), 12)
	e.plain(uint64(f.col), 16)
	e.plain(uint64(f.inst), 8)
	z := zigzag(f.factor)
	for s := 32; s >= 0; s -= 16 {
		e.plain(z>>s&(1<<16-1), 16)
	}
}

func (d *decoder) reference() reference {
	f := reference{seriesAt: seriesAt{int(d.plain(12)), int(d.plain(16)), int(d.plain(8))}}
	z := uint64(0)
	for range 3 {
		z = z<<16 | d.plain(16)
	}
	f.factor = unzigzag(z)
	return f
}

func size(d uint64) int {
	if int64(d) < 0 {
		d = -d
	}
	return bits.Len64(d)
}

// A Series is the content of a chunk for one metric and instance. Ordinals count the blocks
// that the instance was in.
type Series struct {
	// Life is the number of ordinals.
	Life uint32
	// At lists the ordinals at which the value changed, beginning with the one where the first
	// value was seen; Bits are the values from there on. Both are empty when every cell is
	// absent.
	At   []uint32
	Bits []uint64
	// miss lists the changes between absent and present.
	miss  []missAt
	sieve sieve // scratch
	// unit is what Bits count while they are not yet converted to values.
	unit uint64
}

// spareSeries are series to decode into, whose memory is reused.
var spareSeries = sync.Pool{New: func() any { return new(Series) }}

// spareModels are models to decode with. They are large, and most columns are small.
var spareModels = sync.Pool{New: func() any { return new(seriesModel) }}

func borrowSeries() *Series  { return spareSeries.Get().(*Series) }
func returnSeries(s *Series) { spareSeries.Put(s) }

// An other finds the series that a reference names, with its changes up to an ordinal.
type other func(f *reference, until uint32) (*Series, error)

// wholeSeries is an ordinal beyond all others.
const wholeSeries = 1<<32 - 1

// decode reads a series with its changes up to the ordinal until. If cells are absent, it
// counts until among the present ordinals, which come earlier, and may therefore read some
// more.
func (s *Series) decode(d *decoder, m *seriesModel, life uint32, miss []missAt, active []uint32, find other, until uint32) error {
	s.Life, s.miss = life, miss
	s.At, s.Bits = s.At[:0], s.Bits[:0]
	if miss == nil {
		return d.series(m, s, life, active, find, until)
	}
	sv := &s.sieve
	sv.set(miss, life)
	if sv.count == 0 {
		return nil
	}
	if active != nil {
		active = sv.squeeze(active, true)
	}
	if err := d.series(m, s, sv.count, active, find, until); err != nil {
		return err
	}
	sv.spread(s.At)
	return nil
}

var errReference = errors.New("a series refers to one that is not fit for it")

// series decodes a series of n values, up to the ordinal until.
func (d *decoder) series(m *seriesModel, s *Series, n uint32, active []uint32, find other, until uint32) error {
	if n == 0 {
		return nil
	}
	m.prev += uint64(d.number(&m.first))
	s.At = append(s.At, 0)
	s.Bits = append(s.Bits, m.prev)
	room := n - 1
	if active != nil {
		room = uint32(len(active))
	}
	if room == 0 {
		return nil
	}
	m.varied = d.bit(&m.varies[m.varied], fastLimit)
	if m.varied == 0 {
		return nil
	}
	method := d.path(m.method[:], 3, fastLimit) & 7
	if method == byOther {
		return d.guided(m, s, room, active, find, until)
	}
	m.begin()
	base, trend := m.prev, uint64(0)
	if method == byNothing {
		base = 0
	}
	for i := uint32(0); i < room; i++ {
		t := i + 1
		if active != nil {
			t = active[i]
		}
		if t > until {
			break
		}
		p, q, w := m.moves.unguided(t, m.delta.prev)
		moves := d.either(p, q, w, m.mixed)
		m.moves.saw(t, moves)
		if moves == 0 {
			continue
		}
		v := base + trend + uint64(d.step(&m.delta, 0, m.mixed))
		switch method {
		case byLast, byOther:
			base = v
		case byTrend:
			trend = v - base
			base = v
		}
		s.At = append(s.At, t)
		s.Bits = append(s.Bits, v)
	}
	return nil
}

// guided decodes the changes of a series that is predicted from another one.
func (d *decoder) guided(m *seriesModel, s *Series, room uint32, active []uint32, find other, until uint32) error {
	g := guide{reference: d.reference()}
	o, err := find(&g.reference, until)
	if err != nil {
		return err
	}
	g.at, g.bits = o.At, o.Bits
	m.begin()
	v := m.prev
	for i := uint32(0); i < room; i++ {
		t := i + 1
		if active != nil {
			t = active[i]
		}
		if t > until {
			break
		}
		expected, guided := g.expected(t)
		p, q, w := m.moves.withGuide(guided)
		moves := d.either(p, q, w, m.mixed)
		m.moves.saw(t, moves)
		if moves == 0 {
			continue
		}
		v += uint64(expected) + uint64(d.step(&m.delta, guided, m.mixed))
		s.At = append(s.At, t)
		s.Bits = append(s.Bits, v)
	}
	return nil
}

// Stretches calls fn for each stretch of blocks between from and to, both inclusive, throughout
// which the series has one value or is absent for one reason. It skips blocks that the instance
// was not in.
func (s *Series) Stretches(in *Instance, from, to uint32, fn func(start, end uint32, bits uint64, why metric.Reason)) {
	ordinal := uint32(0) // of the first block of the run
	k, m := -1, -1       // the change and the absence in force
	for _, r := range in.Runs {
		if r.Start > to {
			return
		}
		next := ordinal + r.End - r.Start
		if r.End > from {
			at := ordinal
			if from > r.Start {
				// There may be as many calls as changes, where the clock was set back.
				at += from - r.Start
				k, _ = slices.BinarySearch(s.At, at+1)
				k--
			}
			last := next
			if to < r.End-1 {
				last -= r.End - 1 - to
			}
			for at < last {
				for k+1 < len(s.At) && s.At[k+1] <= at {
					k++
				}
				for m+1 < len(s.miss) && s.miss[m+1].at <= at {
					m++
				}
				end := last
				if m+1 < len(s.miss) {
					end = min(end, s.miss[m+1].at)
				}
				var bits uint64
				why := metric.Present
				if m >= 0 {
					why = s.miss[m].why
				}
				if why == metric.Present {
					if k+1 < len(s.At) {
						end = min(end, s.At[k+1])
					}
					if k >= 0 {
						bits = s.Bits[k]
					}
				}
				fn(r.Start+at-ordinal, r.Start+end-ordinal, bits, why)
				at = end
			}
		}
		ordinal = next
	}
}

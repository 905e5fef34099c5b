package chunk

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/varint"
)

// A clock's readings come in nearly equal steps. Their deviations are noise: how late the
// recorder was woken. A query for one rate decodes as many readings as values, so only the
// upper bits of the noise are modelled, by their frequency. The lower bits are stored
// unmodelled after the stream.

// beat predicts the next reading of a clock.
type beat struct {
	period, next int64
}

// saw notes a reading that deviated by off from the prediction. It follows a clock that runs
// fast or slow gradually, but one that was set, or missing ticks, at once.
func (b *beat) saw(off int64) {
	b.next += b.period
	if off > b.period>>1 || -off > b.period>>1 {
		b.next += off
	} else {
		b.next += off >> beatRate
	}
}

const (
	beatRate   = 4
	beatLevels = 6
	beatEscape = 0 // a reading with a deviation too large for the other symbols
	beatZero   = 1 << (beatLevels - 1)
	maxNoise   = 32 // bits stored unmodelled
)

// beatModel codes the readings of a clock.
type beatModel struct {
	steps [1 << beatLevels]prob
	far   number
}

func (m *beatModel) init() {
	fill(m.steps[:])
	m.far.init()
}

// usual returns the symbol of a deviation whose lower noise bits are not modelled, or the
// escape.
func usual(off int64, noise uint) uint32 {
	if at := off>>noise + beatZero; at > beatEscape && at < 1<<beatLevels {
		return uint32(at)
	}
	return beatEscape
}

// rawBits are numbers of given widths, end to end, most significant bits first.
type rawBits struct {
	in []byte
	at int // in bits
}

func (r *rawBits) append(v uint64, n uint) {
	for ; n > 0; n-- {
		if r.at&7 == 0 {
			r.in = append(r.in, 0)
		}
		r.in[r.at>>3] |= byte(v>>(n-1)&1) << (7 - r.at&7)
		r.at++
	}
}

// next reads n bits, at most maxNoise; past the end it reads zeros.
func (r *rawBits) next(n uint) uint64 {
	from := r.at >> 3
	var word uint64
	if from+8 <= len(r.in) {
		word = binary.BigEndian.Uint64(r.in[from:])
	} else {
		var b [8]byte
		if from < len(r.in) {
			copy(b[:], r.in[from:])
		}
		word = binary.BigEndian.Uint64(b[:])
	}
	word = word << (r.at & 7) >> (64 - n)
	r.at += int(n)
	return word
}

// clock codes n readings: the first, whether all are the same, the period, how many bits are
// noise, and the deviation of each.
func (e *encoder) clock(raw *rawBits, n int, at func(i int) int64) {
	var m beatModel
	m.init()
	e.number(&m.far, at(0))
	same := true
	steps := make([]int64, 0, n)
	for i := 1; i < n; i++ {
		steps = append(steps, at(i)-at(i-1))
		same = same && steps[i-1] == 0
	}
	if same {
		e.plain(0, 1)
		return
	}
	e.plain(1, 1)
	b := beat{period: periodOf(steps)}
	e.number(&m.far, b.period)
	offs := steps
	b.next = at(0) + b.period
	for i := range offs {
		offs[i] = at(i+1) - b.next
		b.saw(offs[i])
	}
	noise := noiseOf(offs)
	e.plain(uint64(noise), 6)
	for _, off := range offs {
		s := usual(off, noise)
		e.path(m.steps[:], beatLevels, slowLimit, s)
		if s == beatEscape {
			e.number(&m.far, off)
			continue
		}
		raw.append(uint64(off), noise)
	}
}

// clock decodes n > 0 readings into out.
func (d *decoder) clock(m *beatModel, raw *rawBits, out []int64) error {
	m.init()
	out[0] = d.number(&m.far)
	if d.plain(1) == 0 {
		for i := range out {
			out[i] = out[0]
		}
		return nil
	}
	b := beat{period: d.number(&m.far)}
	noise := uint(d.plain(6))
	if noise > maxNoise {
		return errTimes
	}
	b.next = out[0] + b.period
	for i := 1; i < len(out); i++ {
		var off int64
		if s := d.path(m.steps[:], beatLevels, slowLimit) & (1<<beatLevels - 1); s == beatEscape {
			off = d.number(&m.far)
		} else {
			off = (int64(s)-beatZero)<<noise | int64(raw.next(noise))
		}
		out[i] = b.next + off
		b.saw(off)
	}
	return nil
}

// periodOf returns roughly the median step.
func periodOf(steps []int64) int64 {
	var some [63]int64
	n := min(len(steps), len(some))
	for i := range n {
		some[i] = steps[i*len(steps)/n]
	}
	slices.Sort(some[:n])
	return some[n/2]
}

// noiseOf returns how many bits of the deviations are best left unmodelled. It computes in
// whole numbers, so that the result is the same on every processor.
func noiseOf(offs []int64) uint {
	best, least := uint(0), uint64(math.MaxUint64)
	for noise := uint(0); noise <= maxNoise; noise++ {
		var often [1 << beatLevels]uint64
		for _, off := range offs {
			often[usual(off, noise)]++
		}
		cost := uint64(0)
		for s, n := range often {
			if n == 0 {
				continue
			}
			each := log16(uint64(len(offs))<<16/n) - 16*16 + 16*uint64(noise)
			if s == beatEscape {
				each += 16 * escapeCost
			}
			cost += n * each
		}
		if cost < least {
			best, least = noise, cost
		}
	}
	return best
}

// log16 is about 16 times the logarithm of x to base 2.
func log16(x uint64) uint64 {
	whole := uint64(bits.Len64(x)) - 1
	return 16*whole + x<<4>>whole - 16
}

// escapeCost is roughly how many bits a large deviation takes.
const escapeCost = 30

// encodeTicks codes three clocks: wall, cont - wall, awake - cont.
func encodeTicks(out []byte, ticks []metric.Stamp) []byte {
	var e encoder
	var raw rawBits
	e.begin(nil)
	e.clock(&raw, len(ticks), func(i int) int64 { return ticks[i].Wall })
	e.clock(&raw, len(ticks), func(i int) int64 { return ticks[i].Cont - ticks[i].Wall })
	e.clock(&raw, len(ticks), func(i int) int64 { return ticks[i].Awake - ticks[i].Cont })
	stream := e.end()
	out = binary.AppendUvarint(out, uint64(len(stream)))
	return append(append(out, stream...), raw.in...)
}

// decodeClocks decodes the wall and the continuous clock of n ticks, and the awake one if
// withAwake is set.
func decodeClocks(in []byte, n int, withAwake bool) (wall, cont, awake []int64, err error) {
	all := make([]int64, 2*n)
	wall, cont = all[:n:n], all[n:]
	if withAwake {
		awake = make([]int64, n)
	}
	if n == 0 {
		return wall, cont, awake, nil
	}
	r := varint.Reader{In: in}
	stream := r.Bytes(r.Count(len(in)))
	if r.Bad {
		return nil, nil, nil, errTimes
	}
	raw := &rawBits{in: r.In}
	var d decoder
	d.begin(stream)
	m := new(beatModel)
	if err = d.clock(m, raw, wall); err != nil {
		return nil, nil, nil, err
	}
	if err = d.clock(m, raw, cont); err != nil {
		return nil, nil, nil, err
	}
	for i := range cont {
		cont[i] += wall[i]
	}
	if withAwake {
		err = d.clock(m, raw, awake)
		for i := range awake {
			awake[i] += cont[i]
		}
	}
	if d.short() || raw.at > 8*len(raw.in) {
		err = errShort
	}
	return wall, cont, awake, err
}

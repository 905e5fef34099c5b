package chunk

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/varint"
)

// A Summary sums up a stretch of a numeric series.
//
// Products that something is added to are written float64(x*y) here and in everything that is
// stored or shown. Without the conversion compilers may round product and sum at once, as they
// do for arm64 and not for amd64, and the same ticks would give different bytes there.
type Summary struct {
	Count, Missing uint64
	// FirstBlock and LastBlock are the blocks of First and Last.
	FirstBlock, LastBlock uint32
	First, Last           uint64
	Min, Max              uint64
	Sum, Weighted         float64
	Increase              float64 // minus dips
	Resets, Wraps         uint32
	// Steepest is a counter's greatest increase per second from one value to the next, rounded
	// up to 8 binary digits. It is infinite where it is not stored: for processes and threads.
	Steepest float64
}

// storedChanges is the number of changes above which a series' summary is stored: with fewer,
// decoding the series costs no more.
const storedChanges = 64

var errSummaries = errors.New("the summaries contradict themselves")

// Summarize computes the summary of the cells of s between two blocks, both inclusive. ok is
// false when no cell is present there and none is missing.
func (s *Series) Summarize(d *metric.Desc, in *Instance, conts []int64, from, to uint32) (sum Summary, ok bool) {
	w := summer{desc: d, conts: conts}
	s.Stretches(in, from, to, func(start, end uint32, bits uint64, why metric.Reason) {
		if why != metric.Present {
			w.Missing += uint64(end - start)
			return
		}
		w.add(start, end, bits)
	})
	return w.summary()
}

// SummarizeValues is Summarize for values that are in no chunk, read at conts. miss is nil
// where all are present.
func SummarizeValues(d *metric.Desc, conts []int64, bits []uint64, miss []metric.Reason) (sum Summary, ok bool) {
	w := summer{desc: d, conts: conts}
	absent := func(i int) bool { return miss != nil && miss[i] != metric.Present }
	for start := 0; start < len(bits); {
		if absent(start) {
			w.Missing++
			start++
			continue
		}
		end := start + 1
		for end < len(bits) && !absent(end) && bits[end] == bits[start] {
			end++
		}
		w.add(uint32(start), uint32(end), bits[start])
		start = end
	}
	return w.summary()
}

// summary returns the summary of the added stretches.
func (w *summer) summary() (sum Summary, ok bool) {
	if steep(w.desc) {
		w.Steepest = metric.Number(metric.F32, uint64(digits8(w.Steepest))<<16)
	} else if w.desc.Sem == metric.Counter {
		w.Steepest = math.Inf(1)
	}
	return w.Summary, w.Count+w.Missing > 0
}

// steep reports whether summaries record how steeply a metric rose.
func steep(d *metric.Desc) bool { return d.Sem == metric.Counter && !metric.PerBoot(d.Indom) }

// digits8 returns the upper 16 bits of x as an f32, rounded up. x must not be negative.
func digits8(x float64) uint16 {
	f := float32(x)
	bits := math.Float32bits(f)
	top := bits >> 16
	if bits&0xffff != 0 || float64(f) < x {
		top++
	}
	return uint16(min(top, infinite))
}

const infinite = 0x7f80 // the upper bits of an infinite f32

// A summer adds up stretches of equal values.
type summer struct {
	Summary
	desc  *metric.Desc
	conts []int64
}

func (w *summer) add(start, end uint32, bits uint64) {
	typ := w.desc.Type
	v := metric.Number(typ, bits)
	n := uint64(end - start)
	if w.Count == 0 {
		w.FirstBlock, w.First = start, bits
		w.Min, w.Max = bits, bits
		if n > 1 {
			w.Weighted += float64(v * seconds(w.conts[end-1]-w.conts[start]))
		}
	} else {
		w.Weighted += float64(v * seconds(w.conts[end-1]-w.conts[w.LastBlock]))
		if w.desc.Sem == metric.Counter {
			took := seconds(w.conts[start] - w.conts[w.LastBlock])
			gain, how := metric.Increase(w.desc, w.Last, bits, took)
			w.Increase += gain
			if took > 0 && gain > 0 {
				w.Steepest = max(w.Steepest, gain/took)
			}
			switch how {
			case metric.Wrapped:
				w.Wraps++
			case metric.Restarted:
				w.Resets++
			}
		}
		if math.IsNaN(metric.Number(typ, w.Min)) || Less(typ, bits, w.Min) {
			w.Min = bits
		}
		if math.IsNaN(metric.Number(typ, w.Max)) || Less(typ, w.Max, bits) {
			w.Max = bits
		}
	}
	if n > 1 && math.IsNaN(v) && w.desc.Sem == metric.Counter {
		w.Resets += uint32(n - 1) // as in metric.Increase: nothing is known about any of them
	}
	w.Count += n
	w.Sum += float64(v * float64(n))
	w.LastBlock, w.Last = end-1, bits
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// Less compares two values of a type; NaN is less than nothing and nothing is
// less than it.
func Less(t metric.Type, a, b uint64) bool {
	switch {
	case t.Float():
		return metric.Number(t, a) < metric.Number(t, b)
	case t.Signed():
		return int64(a) < int64(b)
	}
	return a < b
}

// calmsDown reports whether series i of a column has no summary but the one before it has one:
// a series that must be decoded must not come after one that need not be. Processes come and go
// in another order each time.
func (g *groupTable) calmsDown(col *columnTable, i int) bool {
	return i > 0 && !metric.PerBoot(g.indom) && col.stored(i-1) && !col.stored(i)
}

// stored reports whether the summary of series i of the column is in the chunk.
func (t *columnTable) stored(i int) bool { return t.off[i+1]-t.off[i] > storedChanges }

// summaries are the summaries of a group's lively series, as they are stored: for each its
// number (column times instances plus instance) and its summary.
type summaries struct {
	raw   []byte
	conts []int64
	prev  int
}

// add appends the summaries of column c.
func (w *summaries) add(g *groupTable, c int, col *columnTable) {
	d := g.metrics[c].desc
	if d == nil || d.Type == metric.String {
		return // Without a description it cannot be summed up.
	}
	if w.conts == nil {
		for _, b := range g.at {
			w.conts = append(w.conts, b.at.Cont)
		}
	}
	for i := range g.insts {
		if !col.stored(i) {
			continue
		}
		s := col.series(&g.insts[i], i)
		sum, _ := s.Summarize(d, &g.insts[i], w.conts, 0, uint32(len(g.at)-1))
		n := c*len(g.insts) + i
		w.raw = binary.AppendUvarint(w.raw, uint64(n-w.prev))
		w.prev = n
		w.raw = sum.encode(w.raw, d, w.conts, &s, &g.insts[i])
	}
}

func (w *summaries) packed() []byte {
	if w.raw == nil {
		return nil
	}
	return Pack(w.raw)
}

const (
	plainSum      = 1 // the sum is stored as a float
	plainIncrease = 2 // the increase is stored as a float; resets and wraps follow
	partly        = 4 // the series has no value in some block of the instance
	rising        = 8 // the smallest value is the first, the largest the last
	steepness     = 16
)

func (sum *Summary) encode(out []byte, d *metric.Desc, conts []int64, s *Series, in *Instance) []byte {
	flags := uint64(0)
	excess, exact := sum.excess(d, s)
	if !exact {
		flags |= plainSum
	}
	straight, how := metric.Increase(d, sum.First, sum.Last, 0)
	if d.Sem == metric.Counter && (sum.Resets+sum.Wraps > 0 || sum.Increase != straight || how == metric.Dipped) {
		flags |= plainIncrease
	}
	if whole := (Summary{}); !whole.span(in) || !sum.spans(&whole) {
		flags |= partly
	}
	if sum.Min == sum.First && sum.Max == sum.Last {
		flags |= rising
	}
	if steep(d) {
		flags |= steepness
	}
	out = binary.AppendUvarint(out, flags)
	if flags&partly != 0 {
		out = binary.AppendUvarint(out, sum.Count)
		out = binary.AppendUvarint(out, sum.Missing)
		out = binary.AppendUvarint(out, uint64(sum.FirstBlock))
		out = binary.AppendUvarint(out, uint64(len(conts)-1)-uint64(sum.LastBlock))
	}
	out = binary.AppendUvarint(out, sum.First)
	out = binary.AppendUvarint(out, zigzag(int64(sum.Last-sum.First)))
	if flags&rising == 0 {
		out = binary.AppendUvarint(out, zigzag(int64(sum.Min-sum.First)))
		out = binary.AppendUvarint(out, zigzag(int64(sum.Max-sum.First)))
	}
	if exact {
		out = binary.AppendUvarint(out, zigzag(excess))
	} else {
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(sum.Sum))
	}
	var top [8]byte
	binary.BigEndian.PutUint64(top[:], math.Float64bits(sum.Weighted-sum.even(conts)))
	out = append(out, top[:5]...)
	if flags&plainIncrease != 0 {
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(sum.Increase))
		out = binary.AppendUvarint(out, uint64(sum.Resets))
		out = binary.AppendUvarint(out, uint64(sum.Wraps))
	}
	if flags&steepness != 0 {
		out = binary.BigEndian.AppendUint16(out, digits8(sum.Steepest))
	}
	return out
}

// span sets the counts and blocks of a series that has a value in every block of in.
func (sum *Summary) span(in *Instance) bool {
	n := len(in.Runs)
	if n == 0 {
		return false
	}
	sum.Count, sum.Missing = uint64(in.lifetime()), 0
	sum.FirstBlock, sum.LastBlock = in.Runs[0].Start, in.Runs[n-1].End-1
	return true
}

func (sum *Summary) spans(o *Summary) bool {
	return sum.Count == o.Count && sum.Missing == o.Missing && sum.FirstBlock == o.FirstBlock && sum.LastBlock == o.LastBlock
}

// even returns what Weighted would be if the mean had held throughout.
func (sum *Summary) even(conts []int64) float64 {
	return float64(sum.Sum / float64(sum.Count) * seconds(conts[sum.LastBlock]-conts[sum.FirstBlock]))
}

// maxExcess bounds each value minus the first: times MaxTicks it is a number of 62 bits.
const maxExcess = 1 << 45

// excess returns the sum of all values minus the first, if that is small. It then computes Sum
// from this, so that Sum is rounded only once.
func (sum *Summary) excess(d *metric.Desc, s *Series) (int64, bool) {
	if d.Type.Float() || s.miss != nil {
		return 0, false
	}
	total := int64(0)
	for k, v := range s.Bits {
		end := s.Life
		if k+1 < len(s.At) {
			end = s.At[k+1]
		}
		diff := int64(v - sum.First)
		if diff < -maxExcess || diff > maxExcess || Less(d.Type, v, sum.First) != (diff < 0) {
			return 0, false
		}
		total += diff * int64(end-s.At[k])
	}
	sum.Sum = float64(metric.Number(d.Type, sum.First)*float64(sum.Count)) + float64(total)
	return total, true
}

// decodeSummaries calls fn for each stored summary of a group with cols columns and n
// instances.
func decodeSummaries(in []byte, cols, n int, rows []int, inst func(row int) (*Instance, error), descs func(col int) *metric.Desc, conts []int64, fn func(col, i int, sum *Summary)) error {
	if len(in) == 0 {
		return nil
	}
	raw, err := Unpack(in, maxSummaries)
	if err != nil {
		return err
	}
	r := varint.Reader{In: raw}
	at := uint64(0)
	for n > 0 && cols > 0 && len(r.In) > 0 {
		at += r.Uvarint()
		if r.Bad || at/uint64(n) >= uint64(cols) {
			return errSummaries
		}
		col, i := int(at/uint64(n)), int(at%uint64(n))
		d := descs(col)
		if rows != nil && d != nil {
			if _, wanted := slices.BinarySearch(rows, i); !wanted {
				d = nil
			}
		}
		var sum Summary
		if !sum.decode(&r, d, conts, func() (*Instance, error) { return inst(i) }) {
			return errSummaries
		}
		if d != nil {
			fn(col, i, &sum)
		}
	}
	return nil
}

// decode reads a summary.
func (sum *Summary) decode(r *varint.Reader, d *metric.Desc, conts []int64, inst func() (*Instance, error)) bool {
	flags := r.Uvarint()
	if flags&partly != 0 {
		sum.Count, sum.Missing = r.Uvarint(), r.Uvarint()
		sum.FirstBlock = uint32(r.Count(len(conts) - 1))
		sum.LastBlock = uint32(len(conts) - 1 - r.Count(len(conts)-1))
	} else if d == nil {
		sum.Count = 1 // wherever the instance is
	} else if in, err := inst(); err != nil || !sum.span(in) {
		return false
	}
	sum.First = r.Uvarint()
	sum.Last = sum.First + uint64(r.Varint())
	sum.Min, sum.Max = sum.First, sum.Last
	if flags&rising == 0 {
		sum.Min = sum.First + uint64(r.Varint())
		sum.Max = sum.First + uint64(r.Varint())
	}
	var excess int64
	if flags&plainSum != 0 {
		sum.Sum = r.Float()
	} else {
		excess = r.Varint()
	}
	deviation := r.Rounded(5)
	if flags&plainIncrease != 0 {
		sum.Increase = r.Float()
		sum.Resets, sum.Wraps = uint32(r.Uvarint()), uint32(r.Uvarint())
	}
	sum.Steepest = math.Inf(1)
	if flags&steepness != 0 {
		b := r.Bytes(2)
		if len(b) < 2 || b[0]&0x80 != 0 {
			return false
		}
		sum.Steepest = metric.Number(metric.F32, uint64(binary.BigEndian.Uint16(b))<<16)
	}
	if r.Bad || sum.Count == 0 || math.IsNaN(sum.Steepest) {
		return false
	}
	if d == nil {
		return true
	}
	if flags&plainSum == 0 {
		sum.Sum = float64(metric.Number(d.Type, sum.First)*float64(sum.Count)) + float64(excess)
	}
	if flags&plainIncrease == 0 && d.Sem == metric.Counter {
		sum.Increase, _ = metric.Increase(d, sum.First, sum.Last, 0)
	}
	if d.Sem != metric.Counter {
		sum.Steepest = 0
	}
	sum.Weighted = sum.even(conts) + deviation
	return true
}

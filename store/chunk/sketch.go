package chunk

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"tachograph/sample/metric"
)

// A Sketch counts the values of a series by bucket, in ascending order. It gives percentiles
// without decoding values. Sketches of one series are merged by adding their counts.
type Sketch []Bucket

// A Bucket counts values that are alike: their floats have the same exponent and the same upper
// bits after it. Index grows with the values; for negative values it is negative.
type Bucket struct {
	Index int32
	Count uint64
}

const (
	// bucketBits is the number of bits that divide each power of two into buckets.
	bucketBits  = 5
	bucketShift = 52 - bucketBits
	// lastBucket is the bucket of the largest numbers.
	lastBucket = 0x7ff<<bucketBits - 1
)

// BucketError is the greatest distance of a bucket's middle from one of its values, relative to
// the value.
const BucketError = 1.0 / (2 << bucketBits)

// BucketOf returns the bucket of x, which must be finite.
func BucketOf(x float64) int32 {
	b := int32(math.Float64bits(math.Abs(x)) >> bucketShift)
	if x < 0 {
		return -b
	}
	return b
}

// Bounds returns the least and the largest number of a bucket.
func (b Bucket) Bounds() (lo, hi float64) {
	size := uint64(max(b.Index, -b.Index))
	lo, hi = math.Float64frombits(size<<bucketShift), math.Float64frombits((size+1)<<bucketShift-1)
	switch {
	case b.Index < 0:
		return -hi, -lo
	case b.Index == 0:
		return -hi, hi
	}
	return lo, hi
}

// sketched reports whether series i of a column gets a sketch. The readings of counters are in
// order already, and there are too many processes.
func (g *groupTable) sketched(c, i int) bool {
	d := g.metrics[c].desc
	return d != nil && d.Sem != metric.Counter && d.Type != metric.String && !metric.PerBoot(g.indom) && g.cols[c].stored(i)
}

// A sketcher counts the values of one series after another.
type sketcher struct {
	counts map[int32]uint64
	list   Sketch
}

func newSketcher() *sketcher { return &sketcher{counts: make(map[int32]uint64)} }

// count returns the sketch of a series, nil if one of its values is not finite. It is valid
// until the next call.
func (k *sketcher) count(typ metric.Type, in *Instance, s *Series) Sketch {
	clear(k.counts)
	finite := true
	s.Stretches(in, 0, math.MaxUint32, func(start, end uint32, bits uint64, why metric.Reason) {
		if why != metric.Present {
			return
		}
		x := metric.Number(typ, bits)
		if finite = finite && !math.IsNaN(x) && !math.IsInf(x, 0); finite {
			k.counts[BucketOf(x)] += uint64(end - start)
		}
	})
	if !finite {
		return nil
	}
	k.list = k.list[:0]
	for index, n := range k.counts {
		k.list = append(k.list, Bucket{index, n})
	}
	slices.SortFunc(k.list, func(a, b Bucket) int { return cmp.Compare(a.Index, b.Index) })
	return k.list
}

// series returns series i of a column.
func (t *columnTable) series(in *Instance, i int) Series {
	return Series{Life: in.lifetime(), At: t.at[t.off[i]:t.off[i+1]], Bits: t.bits[t.off[i]:t.off[i+1]], miss: t.missOf(i)}
}

// A sketchModel codes sketches. Metrics often give the same amount in other units, such as
// pages and bytes: their sketches then differ only in where they begin.
type sketchModel struct {
	amount, series, back, first, size, gap, count number
	like                                          [2]prob
	was                                           uint32 // context: the previous like bit
	begin                                         int32  // where the previous sketch began
}

// spareSketchModels are models to decode with: they are large, and there is one for each chunk.
var spareSketchModels = sync.Pool{New: func() any { return new(sketchModel) }}

func newSketchModel() *sketchModel {
	m := spareSketchModels.Get().(*sketchModel)
	m.was, m.begin = 0, 0
	for _, n := range []*number{&m.amount, &m.series, &m.back, &m.first, &m.size, &m.gap, &m.count} {
		n.init()
	}
	fill(m.like[:])
	return m
}

// sketches appends the sketches of all series of t that get one.
func (t *table) sketches(out []byte) []byte {
	var e encoder
	e.begin(out)
	m := newSketchModel()
	k := newSketcher()
	shapes := make(map[string]int) // the number of the last sketch with that shape
	n := 0
	for _, g := range t.groups {
		var series []int
		var of []Sketch
		for c := range g.cols {
			for i := range g.insts {
				if !g.sketched(c, i) {
					continue
				}
				s := g.cols[c].series(&g.insts[i], i)
				if list := k.count(g.metrics[c].typ, &g.insts[i], &s); len(list) > 0 {
					series, of = append(series, c*len(g.insts)+i), append(of, slices.Clone(list))
				}
			}
		}
		e.number(&m.amount, int64(len(series)))
		before := -1
		for i, s := range of {
			e.number(&m.series, int64(series[i]-before-1))
			before = series[i]
			shape := s.shape()
			like, known := shapes[shape]
			shapes[shape] = n
			e.sketch(m, s, n-like, known)
			n++
		}
	}
	if n == 0 {
		return out
	}
	return e.end()
}

// shape returns what a sketch is apart from where it begins.
func (s Sketch) shape() string {
	b := make([]byte, 0, 4*len(s))
	for i := range s {
		b = binary.AppendUvarint(b, uint64(s[i].Index-s[0].Index))
		b = binary.AppendUvarint(b, s[i].Count)
	}
	return string(b)
}

// sketch codes a sketch. If known, it has the shape of the sketch that came back sketches
// before.
func (e *encoder) sketch(m *sketchModel, s Sketch, back int, known bool) {
	like := uint32(0)
	if known {
		like = 1
	}
	e.bit(&m.like[m.was], fastLimit, like)
	m.was = like
	e.number(&m.first, int64(s[0].Index)-int64(m.begin))
	m.begin = s[0].Index
	if known {
		e.number(&m.back, int64(back-1))
		return
	}
	e.number(&m.size, int64(len(s)-1))
	for i := range s {
		if i > 0 {
			e.number(&m.gap, int64(s[i].Index)-int64(s[i-1].Index)-1)
		}
		e.number(&m.count, int64(s[i].Count)-1)
	}
}

// sketches are the sketches of a chunk, by group and by series: column times instances plus
// instance.
type sketches []map[int]Sketch

// Sketch returns the sketch of a series of a group; nil if there is none, or if it does not fit
// the series' summary.
func (g *Group) Sketch(col, i int, sum *Summary) (Sketch, error) {
	c := g.chunk
	if c.sketchesAt.len == 0 || c.wrongSketches != nil {
		return nil, c.wrongSketches
	}
	if c.sketches == nil {
		in, err := c.read(c.sketchesAt, "sketches")
		if err == nil {
			c.sketches, err = c.codec.sketches(in, c.Groups)
		}
		if err != nil {
			c.wrongSketches = fmt.Errorf("sketches: %w", err)
			return nil, c.wrongSketches
		}
	}
	s := c.sketches[slices.Index(c.Groups, g)][col*g.Size+i]
	if s != nil && !s.fits(g.Columns[col].Type, sum) {
		return nil, g.wrong("sketches", errSketches)
	}
	return s, nil
}

var errSketches = errors.New("they contradict themselves")

// decodeSketches decodes the sketches of a chunk of these groups.
func decodeSketches(in []byte, groups []*Group) (sketches, error) {
	var d decoder
	d.begin(in)
	m := newSketchModel()
	defer spareSketchModels.Put(m)
	room := sketchRoom + len(in)*sketchRoomPerByte
	var all []Sketch
	out := make(sketches, len(groups))
	for i, g := range groups {
		amount := d.number(&m.amount)
		if amount < 0 || amount > int64(room) {
			return nil, errSketches
		}
		out[i] = make(map[int]Sketch, amount)
		series := int64(-1)
		for range amount {
			gap := d.number(&m.series)
			if series += gap + 1; gap < 0 || gap > maxSeries || series >= int64(g.Size)*int64(len(g.Columns)) {
				return nil, errSketches
			}
			s := d.sketch(m, all, room)
			if s == nil || d.short() {
				return nil, errSketches
			}
			room -= len(s)
			all = append(all, s)
			out[i][int(series)] = s
		}
	}
	return out, nil
}

const (
	// A chunk has at most this many buckets, plus this many for each byte of its sketches.
	sketchRoom        = 1 << 12
	sketchRoomPerByte = 256
	maxSeries         = maxColumns * maxInstances
)

// sketch decodes a sketch of at most room buckets; nil if it makes no sense.
func (d *decoder) sketch(m *sketchModel, all []Sketch, room int) Sketch {
	m.was = d.bit(&m.like[m.was], fastLimit)
	first := int64(m.begin) + d.number(&m.first)
	if first < -lastBucket || first > lastBucket {
		return nil
	}
	m.begin = int32(first)
	if m.was == 1 {
		back := d.number(&m.back)
		if back < 0 || back >= int64(len(all)) {
			return nil
		}
		s := slices.Clone(all[len(all)-1-int(back)])
		shift := m.begin - s[0].Index
		if int64(s[len(s)-1].Index)+int64(shift) > lastBucket || len(s) > room {
			return nil
		}
		for i := range s {
			s[i].Index += shift
		}
		return s
	}
	size := d.number(&m.size)
	if size < 0 || size >= int64(room) {
		return nil
	}
	s := make(Sketch, 0, min(size+1, 1024))
	for i := int64(0); i <= size; i++ {
		if i > 0 {
			gap := d.number(&m.gap)
			if first += gap + 1; gap < 0 || gap > 2*lastBucket || first > lastBucket {
				return nil
			}
		}
		count := d.number(&m.count)
		if count < 0 || count >= MaxTicks {
			return nil
		}
		s = append(s, Bucket{int32(first), uint64(count) + 1})
	}
	return s
}

// fits reports whether s can be the sketch of the series that sum summarizes.
func (s Sketch) fits(typ metric.Type, sum *Summary) bool {
	n := uint64(0)
	for i := range s {
		n += s[i].Count
	}
	return n == sum.Count && s[0].Index == BucketOf(metric.Number(typ, sum.Min)) && s[len(s)-1].Index == BucketOf(metric.Number(typ, sum.Max))
}

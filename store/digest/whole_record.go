package digest

import (
	"encoding/binary"
	"math"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
	"tachograph/store/varint"
)

// Limits of what ParseWhole accepts.
const (
	maxWholeChunks = 1 << 16
	maxWholeBytes  = 16 << 20
)

// marshal encodes w. FORMAT.md describes the record.
func (w *Whole) marshal() []byte {
	raw := binary.AppendUvarint(nil, uint64(len(w.Groups)))
	str := func(s string) {
		raw = binary.AppendUvarint(raw, uint64(len(s)))
		raw = append(raw, s...)
	}
	for i := range w.Groups {
		g := &w.Groups[i]
		str(g.Indom)
		raw = binary.AppendUvarint(raw, uint64(len(g.Instances)))
		for k := range g.Instances {
			in := &g.Instances[k]
			str(in.Key)
			str(in.Name)
			raw = binary.AppendUvarint(raw, uint64(len(in.Labels)))
			for _, l := range in.Labels {
				str(l.Name)
				str(l.Value)
			}
		}
		raw = binary.AppendUvarint(raw, uint64(len(g.Metrics)))
		var before WholeSeries
		for k := range g.Metrics {
			m := &g.Metrics[k]
			raw = binary.AppendUvarint(raw, uint64(m.Number))
			raw = append(raw, byte(m.Class))
			raw = binary.AppendUvarint(raw, uint64(len(m.Series)))
			for i := range m.Series {
				raw = m.Series[i].append(raw, &before)
				before = m.Series[i]
			}
		}
	}
	return append(appendSums(nil, w.Sums), chunk.Pack(raw)...)
}

// append encodes a series, its times as differences to the series before.
func (s *WholeSeries) append(out []byte, before *WholeSeries) []byte {
	out = binary.AppendUvarint(out, uint64(s.Instance))
	out = binary.AppendUvarint(out, s.Count)
	for _, v := range []int64{
		s.First.Wall - before.First.Wall, s.First.Cont - before.First.Cont, s.Last.Wall - before.Last.Wall, s.Last.Cont - before.Last.Cont,
		s.Longest - before.Longest, int64(s.LastBits - s.FirstBits), int64(s.Min - s.FirstBits), int64(s.Max - s.LastBits),
	} {
		out = binary.AppendVarint(out, v)
	}
	out = binary.AppendUvarint(out, s.FirstBits)
	for _, v := range []float64{s.Sum, s.Weighted, s.Increase, s.Steepest} {
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
	}
	return out
}

// parse is the inverse of append.
func (s *WholeSeries) parse(r *varint.Reader, before *WholeSeries, instances int) {
	s.Instance = r.Count(instances - 1)
	s.Count = r.Uvarint()
	s.First.Wall, s.First.Cont = before.First.Wall+r.Varint(), before.First.Cont+r.Varint()
	s.Last.Wall, s.Last.Cont = before.Last.Wall+r.Varint(), before.Last.Cont+r.Varint()
	s.Longest = before.Longest + r.Varint()
	last, least, most := uint64(r.Varint()), uint64(r.Varint()), uint64(r.Varint())
	s.FirstBits = r.Uvarint()
	s.LastBits, s.Min = s.FirstBits+last, s.FirstBits+least
	s.Max = s.LastBits + most
	s.Sum, s.Weighted, s.Increase, s.Steepest = r.Float(), r.Float(), r.Float(), r.Float()
	if s.Count == 0 || s.First.Cont > s.Last.Cont || s.Longest < 0 {
		r.Bad = true
	}
}

// ParseWhole is the inverse of marshal.
func ParseWhole(b []byte) (*Whole, error) {
	r := &varint.Reader{In: b}
	w := &Whole{}
	if w.Sums = parseSums(r); r.Bad {
		return nil, errDigest
	}
	raw, err := chunk.Unpack(r.In, maxWholeBytes)
	if err != nil {
		return nil, err
	}
	r = &varint.Reader{In: raw}
	for n := r.Count(len(r.In)); n > 0 && !r.Bad; n-- {
		g := WholeGroup{Indom: r.String()}
		for n := r.Count(len(r.In)); n > 0 && !r.Bad; n-- {
			in := metric.Instance{Key: r.String(), Name: r.String()}
			for n := r.Count(len(r.In)); n > 0 && !r.Bad; n-- {
				in.Labels = append(in.Labels, metric.Label{Name: r.String(), Value: r.String()})
			}
			g.Instances = append(g.Instances, in)
		}
		var before WholeSeries
		for n := r.Count(len(r.In)); n > 0 && !r.Bad; n-- {
			m := WholeMetric{Number: uint32(r.Count(math.MaxInt32))}
			if c := r.Bytes(1); c != nil {
				m.Class = metric.Class(c[0])
			}
			for n := r.Count(len(r.In)); n > 0 && !r.Bad; n-- {
				var s WholeSeries
				s.parse(r, &before, len(g.Instances))
				m.Series = append(m.Series, s)
				before = s
			}
			g.Metrics = append(g.Metrics, m)
		}
		w.Groups = append(w.Groups, g)
	}
	if r.Bad {
		return nil, errDigest
	}
	return w, nil
}

// says reports whether want has the metrics of g with the same values. Instances may come in
// another order, as chunks of several classes do, and sums of fractions may have been added in
// another one.
func (g *WholeGroup) says(want *WholeGroup) bool {
	if len(g.Instances) != len(want.Instances) {
		return false
	}
	place := make([]int, len(g.Instances)) // of an instance of g in want
	for i := range g.Instances {
		in := &g.Instances[i]
		place[i] = slices.IndexFunc(want.Instances, func(o metric.Instance) bool {
			return o.Key == in.Key && o.Name == in.Name && slices.Equal(o.Labels, in.Labels)
		})
		if place[i] < 0 || slices.Contains(place[:i], place[i]) {
			return false
		}
	}
	for i := range g.Metrics {
		m := &g.Metrics[i]
		k := slices.IndexFunc(want.Metrics, func(o WholeMetric) bool { return o.Number == m.Number })
		if k < 0 || m.Class != want.Metrics[k].Class || !m.says(&want.Metrics[k], place) {
			return false
		}
	}
	return true
}

func (m *WholeMetric) says(want *WholeMetric, place []int) bool {
	of := make(map[int]WholeSeries)
	for _, s := range want.Series {
		of[s.Instance] = s
	}
	for _, s := range m.Series {
		s.Instance = place[s.Instance]
		if o, ok := of[s.Instance]; !ok || !s.says(o) {
			return false
		}
	}
	return len(m.Series) == len(want.Series)
}

func (s WholeSeries) says(want WholeSeries) bool {
	near := func(a, b float64) bool {
		return math.Float64bits(a) == math.Float64bits(b) || math.Abs(a-b) <= 1e-9*math.Abs(b)
	}
	if !near(s.Sum, want.Sum) || !near(s.Weighted, want.Weighted) || !near(s.Increase, want.Increase) || !near(s.Steepest, want.Steepest) {
		return false
	}
	return s.bits() == want.bits()
}

// bits returns s without its fractions, which may be NaN and thus differ from themselves.
func (s WholeSeries) bits() WholeSeries {
	s.Sum, s.Weighted, s.Increase, s.Steepest = 0, 0, 0, 0
	return s
}

func appendSums(out []byte, sums []uint32) []byte {
	out = binary.AppendUvarint(out, uint64(len(sums)))
	for _, sum := range sums {
		out = binary.LittleEndian.AppendUint32(out, sum)
	}
	return out
}

// parseSums is the inverse of appendSums.
func parseSums(r *varint.Reader) (sums []uint32) {
	for n := r.Count(min(maxWholeChunks, len(r.In)/4)); n > 0; n-- {
		sums = append(sums, r.Uint32())
	}
	return sums
}

package digest

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
)

// A WholeWriter makes the records about a whole archive, its Whole and its Places, of its chunks. It
// gets those of each class in the order of time.
type WholeWriter struct {
	desc   func(uint32) *metric.Desc
	sums   [metric.NumClasses][]uint32
	groups map[string]*wholeGroup
	places placesMaker
	err    error
}

// A wholeGroup is a WholeGroup that may still grow.
type wholeGroup struct {
	indom   string
	insts   []metric.Instance
	place   map[string]int // of an instance, by its key
	renamed bool
	metrics map[uint32]*wholeMetric
}

type wholeMetric struct {
	class  metric.Class
	series map[int]*WholeSeries // by the place of the instance
	out    bool                 // it is left out
}

// NewWholeWriter returns a WholeWriter; desc describes the chunks' metrics.
func NewWholeWriter(desc func(uint32) *metric.Desc) *WholeWriter {
	return &WholeWriter{desc: desc, groups: make(map[string]*wholeGroup), places: placesMaker{latest: make(map[string]uint32)}}
}

// Add takes the next chunk of a class.
func (w *WholeWriter) Add(b []byte) {
	if w.err == nil {
		w.err = w.add(b)
	}
}

func (w *WholeWriter) add(b []byte) error {
	c, err := chunk.Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return err
	}
	number := uint32(len(w.sums[c.Class]))
	w.sums[c.Class] = append(w.sums[c.Class], chunk.Checksum(b))
	for i, g := range c.Groups {
		switch {
		case g.Blocks == 0:
		case metric.PerBoot(g.Indom):
			err = w.places.add(c.Class, number, i, g)
		default:
			err = w.group(c.Class, g)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// group adds the series of a chunk's group.
func (w *WholeWriter) group(class metric.Class, g *chunk.Group) error {
	insts, err := g.Instances()
	if err != nil {
		return err
	}
	stamps, err := g.Stamps()
	if err != nil {
		return err
	}
	conts := make([]int64, len(stamps))
	pause := int64(0)
	for i := range stamps {
		if conts[i] = stamps[i].Cont; i > 0 {
			pause = max(pause, conts[i]-conts[i-1])
		}
	}
	to := w.groups[g.Indom]
	if to == nil {
		to = &wholeGroup{indom: g.Indom, place: make(map[string]int), metrics: make(map[uint32]*wholeMetric)}
		w.groups[g.Indom] = to
	}
	places := make([]int, len(insts))
	pauses := make([]int64, len(insts))
	for i := range insts {
		places[i], pauses[i] = to.instance(&insts[i]), pause
		for k := 1; k < len(insts[i].Runs); k++ {
			pauses[i] = max(pauses[i], conts[insts[i].Runs[k].Start]-conts[insts[i].Runs[k-1].End-1])
		}
	}
	desc := func(col int) *metric.Desc {
		if d := w.desc(g.Columns[col].Number); d != nil && d.Type == g.Columns[col].Type && d.Type != metric.String {
			return d
		}
		return nil
	}
	add := func(col, i int, s *chunk.Summary) {
		to.add(w.desc(g.Columns[col].Number), g.Columns[col].Number, class, places[i], stamps, pauses[i], s)
	}
	stored := make(map[[2]int]bool)
	if err := g.Summaries(desc, nil, func(col, i int, s *chunk.Summary) {
		stored[[2]int{col, i}] = true
		add(col, i, s)
	}); err != nil {
		return err
	}
	for col := range g.Columns {
		d := desc(col)
		if d == nil {
			continue
		}
		var rows []int
		for i := range insts {
			if !stored[[2]int{col, i}] {
				rows = append(rows, i)
			}
		}
		if len(rows) == 0 {
			continue
		}
		if err := g.Series(col, rows, func(i int, s *chunk.Series) error {
			if sum, ok := s.Summarize(d, &insts[i], conts, 0, uint32(len(conts)-1)); ok {
				add(col, i, &sum)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// instance returns the place of an instance.
func (g *wholeGroup) instance(in *chunk.Instance) int {
	have := metric.Instance{Key: in.Key}
	if n := len(in.Names); n > 0 {
		have.Name, have.Labels = in.Names[n-1].Name, in.Names[n-1].Labels
	}
	i, ok := g.place[in.Key]
	if !ok {
		i = len(g.insts)
		g.place[in.Key] = i
		g.insts = append(g.insts, have)
	}
	if len(in.Names) > 1 || have.Name != g.insts[i].Name || !slices.Equal(have.Labels, g.insts[i].Labels) {
		g.renamed = true
	}
	return i
}

// add adds what a series did in a chunk.
func (g *wholeGroup) add(d *metric.Desc, number uint32, class metric.Class, instance int, stamps []metric.Stamp, pause int64, s *chunk.Summary) {
	m := g.metrics[number]
	if m == nil {
		m = &wholeMetric{class: class, series: make(map[int]*WholeSeries)}
		g.metrics[number] = m
	}
	if s.Missing+uint64(s.Resets)+uint64(s.Wraps) > 0 || m.class != class {
		m.out = true
	}
	if m.out {
		return
	}
	next := WholeSeries{Instance: instance, Count: s.Count, First: stamps[s.FirstBlock], Last: stamps[s.LastBlock],
		FirstBits: s.First, LastBits: s.Last, Min: s.Min, Max: s.Max, Sum: s.Sum, Weighted: s.Weighted,
		Increase: s.Increase, Steepest: s.Steepest, Longest: pause}
	next.First.Awake, next.Last.Awake = 0, 0
	if have := m.series[instance]; have == nil {
		m.series[instance] = &next
	} else if !have.join(d, &next) {
		m.out = true
	}
}

// join adds what the series did in the next chunk. It returns false if that cannot be added up.
func (s *WholeSeries) join(d *metric.Desc, next *WholeSeries) bool {
	between := next.First.Cont - s.Last.Cont
	if between <= 0 {
		return false
	}
	seconds := float64(between) / 1e9
	if d.Sem == metric.Counter {
		gain, step := metric.Increase(d, s.LastBits, next.FirstBits, seconds)
		if step != metric.Advanced {
			return false
		}
		s.Increase += gain + next.Increase
		s.Steepest = max(s.Steepest, next.Steepest, gain/seconds)
	}
	s.Weighted += float64(metric.Number(d.Type, next.FirstBits)*seconds) + next.Weighted
	s.Sum += next.Sum
	s.Count += next.Count
	if math.IsNaN(metric.Number(d.Type, s.Min)) || chunk.Less(d.Type, next.Min, s.Min) {
		s.Min = next.Min
	}
	if math.IsNaN(metric.Number(d.Type, s.Max)) || chunk.Less(d.Type, s.Max, next.Max) {
		s.Max = next.Max
	}
	s.Last, s.LastBits = next.Last, next.LastBits
	s.Longest = max(s.Longest, between, next.Longest)
	return true
}

// Record returns the encoded Whole of the chunks that were added; nil if there is nothing in it.
func (w *WholeWriter) Record() []byte {
	if w.err != nil {
		return nil
	}
	whole := w.whole()
	if len(whole.Groups) == 0 || len(whole.Sums) < Least || len(whole.Sums) > maxWholeChunks {
		return nil
	}
	return whole.marshal()
}

// Places returns the encoded Places of the chunks that were added; nil if there is nothing in them.
func (w *WholeWriter) Places() []byte {
	sums := slices.Concat(w.sums[:]...)
	if w.err != nil || len(w.places.tables) < Least || len(sums) > maxWholeChunks {
		return nil
	}
	data, err := w.places.seal()
	if err != nil {
		return nil
	}
	return append(appendSums(nil, sums), data...)
}

func (w *WholeWriter) whole() *Whole {
	out := &Whole{Sums: slices.Concat(w.sums[:]...)}
	for _, indom := range slices.Sorted(maps.Keys(w.groups)) {
		g := w.groups[indom]
		to := WholeGroup{Indom: indom, Instances: g.insts}
		for _, number := range slices.Sorted(maps.Keys(g.metrics)) {
			m := g.metrics[number]
			if m.out || g.renamed {
				continue
			}
			one := WholeMetric{Number: number, Class: m.class}
			for _, s := range m.series {
				one.Series = append(one.Series, *s)
			}
			slices.SortFunc(one.Series, func(a, b WholeSeries) int { return cmp.Compare(a.Instance, b.Instance) })
			to.Metrics = append(to.Metrics, one)
		}
		if len(to.Metrics) > 0 {
			out.Groups = append(out.Groups, to)
		}
	}
	return out
}

// Check reports what is wrong with a record that should be the Whole of the chunks that were
// added. Another version may have left out other metrics.
func (w *WholeWriter) Check(record []byte) error {
	have, err := ParseWhole(record)
	if err != nil {
		return err
	}
	if w.err != nil {
		return w.err
	}
	want := w.whole()
	if !slices.Equal(have.Sums, want.Sums) {
		return errWhole
	}
	for _, g := range have.Groups {
		i := slices.IndexFunc(want.Groups, func(o WholeGroup) bool { return o.Indom == g.Indom })
		if i < 0 || !g.says(&want.Groups[i]) {
			return errWhole
		}
	}
	return nil
}

var errWhole = errors.New("it does not say what the chunks do")

// CheckPlaces reports what is wrong with a record that should be the Places of the chunks that were
// added.
func (w *WholeWriter) CheckPlaces(record []byte) error {
	have, err := ParsePlaces(record)
	if err != nil {
		return err
	}
	if w.err != nil {
		return w.err
	}
	if !slices.Equal(have.Sums, slices.Concat(w.sums[:]...)) {
		return errOtherPlaces
	}
	data, err := w.places.seal()
	if err != nil {
		return err
	}
	want, err := ParsePlaces(append(appendSums(nil, have.Sums), data...))
	if err != nil {
		return err
	}
	return have.says(want)
}

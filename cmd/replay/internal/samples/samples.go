// Package samples converts ticks into samples of series as Prometheus and OpenTelemetry
// define them: with the names of /metrics, in base units, and with a mark where a series
// ends. It repeats values that are read seldom every minute, because receivers drop a
// series after five minutes without a sample.
//
// The samples depend only on the ticks and on the values before the first of them. So the
// same part of a recording gives the same samples again.
package samples

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"tachograph/cmd/replay/internal/naming"
	"tachograph/cmd/replay/internal/serve/live"
	"tachograph/sample/metric"
	"tachograph/store/archive"
)

// Stale is the value of a sample that marks the end of a series.
var Stale = math.Float64frombits(0x7ff0000000000002)

// A Series is a name with labels that samples belong to.
type Series struct {
	Family *naming.Family
	// Labels are sorted by name; none is empty.
	Labels []naming.Label
	// Head and Body are for the Taker's use.
	Head, Body []byte

	alive bool
	at    int64 // of the last sample
	value Value // of it
	held  bool
	key   string
}

// A Taker receives samples; at is in nanoseconds since 1970, in the steps of the Scheme.
type Taker interface {
	Sample(s *Series, at int64, value Value)
}

// A Value is a number, with all its digits if it is whole.
type Value struct {
	Float float64
	Int   int64
	Whole bool
}

func float(x float64) Value { return Value{Float: x} }

func whole(n int64) Value { return Value{Float: float64(n), Int: n, Whole: true} }

// Scheme says how series are named and which there are.
type Scheme struct {
	// Named returns a platform's families beside those named after their metric; nil: none.
	Named func(platform string) []naming.Family
	// Own returns the family with the metric's own name; ok is false if there is none.
	Own func(d *metric.Desc) (f naming.Family, ok bool)
	// Labels returns the labels of an instance; nil: as /metrics has them.
	Labels func(src *naming.Source, d *metric.Desc, in *metric.Instance) ([]naming.Label, bool)
	// Processes is how many process names get totals of their own; 0: no totals.
	Processes int
	// Computed adds the metrics that are computed from recorded ones.
	Computed bool
	// Step is the unit that times are cut to: of two samples of a series within one step the
	// first stays; 0: a nanosecond.
	Step int64
	// About adds tachograph_host_info, which describes the machine and its recording.
	About bool
}

// A Maker makes samples from the ticks of one host.
type Maker struct {
	scheme Scheme
	boot   string
	places map[placeID]*latest
	series map[string]*Series
	groups map[*metric.Group][]out
	named  map[string][]named // families of the platform, by metric
	// numbers and texts are the last values of metrics that series of other metrics need.
	numbers map[string]float64
	texts   map[string]string
	minute  int64 // the minute of the last tick
	to      Taker // nil while the standing values are read
	procs   totals
	key     []byte
	info    *archive.Info
	// computer is nil if Scheme.Computed is not set.
	computer *live.Computer
	host     *Series // describes the machine; told is the archive it was made from
	told     *archive.Info
}

// placeID identifies a group across ticks.
type placeID struct {
	class       metric.Class
	name, indom string
}

// latest holds the last reading of a group, and the series made of it.
type latest struct {
	group *metric.Group
	rows  []*metric.Instance
	outs  []out
	// series are the series of numbers, by out and row; nil where there is none. Those of texts
	// change with the text.
	series []*Series
	// words are the text labels that the present series have, by cell.
	words map[int][]naming.Label
	// alike marks the rows with the same name as a row before them.
	alike []bool
	// ending are series that end with the present tick, unless they are in another place now.
	ending []*Series
}

// out is a family with series for a column of a group.
type out struct {
	column int
	family *naming.Family
	source *naming.Source
	scale  naming.Scale
	text   bool
	held   bool
}

type named struct {
	family *naming.Family
	source *naming.Source
}

// New makes a Maker.
func New(scheme Scheme) *Maker {
	scheme.Step = max(scheme.Step, 1)
	m := &Maker{scheme: scheme}
	if scheme.Computed {
		m.computer = &live.Computer{}
	}
	m.forget()
	return m
}

// mostPlaces and mostSeries are far more than any recorder needs; an archive of unknown origin
// may have a new group at each tick, or ever more new instances.
const (
	mostPlaces = 2000
	mostSeries = 500_000
)

func (m *Maker) forget() {
	m.places, m.series, m.groups = make(map[placeID]*latest), make(map[string]*Series), make(map[*metric.Group][]out)
	m.numbers, m.texts = make(map[string]float64), make(map[string]string)
	m.procs, m.host = totals{}, nil
}

// begin prepares for ticks of the archive info.
func (m *Maker) begin(info *archive.Info) {
	if info == m.info {
		return
	}
	if m.info == nil || m.info.Host.ID != info.Host.ID || m.boot != info.BootID {
		m.forget()
		m.minute = 0
		m.boot = info.BootID
		m.named = make(map[string][]named)
		for _, f := range m.families(info.Host.Platform) {
			for i := range f.Sources {
				src := &f.Sources[i]
				m.named[src.Metric] = append(m.named[src.Metric], named{&f, src})
				if src.Times != "" {
					m.numbers[src.Times] = math.NaN()
				}
				for _, t := range src.Texts {
					m.texts[t.Value] = ""
				}
			}
		}
	}
	m.info = info
	clear(m.groups) // intervals may have changed
}

func (m *Maker) families(platform string) []naming.Family {
	if m.scheme.Named == nil {
		return nil
	}
	return m.scheme.Named(platform)
}

// Wants reports whether samples are made from the instances of a domain. Processes have totals,
// if the scheme asks for them, and threads have nothing.
func (m *Maker) Wants(indom string) bool {
	return !naming.PerProcess(indom) || indom == "process" && m.scheme.Processes > 0
}

// Standing takes the standing values before the first tick.
func (m *Maker) Standing(info *archive.Info, t *metric.Tick) { m.take(info, t, nil) }

// Tick makes samples of a tick. Its rows and groups must be the same pointers as long as their
// contents are the same.
func (m *Maker) Tick(info *archive.Info, t *metric.Tick, to Taker) { m.take(info, t, to) }

func (m *Maker) take(info *archive.Info, t *metric.Tick, to Taker) {
	m.begin(info)
	m.to = to
	if len(m.places) > mostPlaces || len(m.series) > mostSeries {
		m.forget()
	}
	m.repeat(t.At.Wall)
	m.about(info, m.cut(t.At.Wall))
	for _, b := range t.Blocks {
		m.needed(b)
	}
	for _, b := range t.Blocks {
		switch {
		case !naming.PerProcess(b.Group.Indom):
			m.block(t.Class, b)
		case m.Wants(b.Group.Indom) && t.Class == metric.Process:
			m.processes(b)
		}
	}
	if m.computer == nil {
		return
	}
	for _, b := range m.computer.Tick(info, t) {
		if !naming.PerProcess(b.Group.Indom) {
			m.block(t.Class, b)
		}
	}
}

// cut rounds a time down to a step.
func (m *Maker) cut(wall int64) int64 { return wall - wall%m.scheme.Step }

// Event processes an event. No rate is computed across some of them.
func (m *Maker) Event(info *archive.Info, e *metric.Event) {
	if m.computer != nil {
		m.computer.Event(info, e)
	}
}

var hostInfo = naming.Family{Name: naming.Prefix + "host_info", Type: naming.Info, Help: "The machine and its recording."}

// about makes the sample that describes the machine; the labels of every series identify it.
func (m *Maker) about(info *archive.Info, at int64) {
	if !m.scheme.About || m.host != nil && m.host.alive && m.told == info {
		return
	}
	h := &info.Host
	s := m.find(&out{family: &hostInfo, held: true}, []naming.Label{{Name: "arch", Value: h.Arch}, {Name: "boot", Value: info.BootID}, {Name: "model", Value: h.Model},
		{Name: "os", Value: h.OS}, {Name: "recorder", Value: info.Recorder}, {Name: "release", Value: h.Release}})
	if m.host != nil && m.host != s {
		m.end(m.host, at)
		delete(m.series, m.host.key)
	}
	if m.host = s; !s.alive {
		m.put(s, at, whole(1))
	}
	m.told = info
}

// seldom is an interval that a reader of the samples would take for an absence.
const (
	seldom = int64(2 * 60 * 1e9)
	minute = int64(60 * 1e9)
)

// repeat repeats, once a minute, the values that are read seldom.
func (m *Maker) repeat(wall int64) {
	now := wall / minute
	if m.minute == 0 || now <= m.minute {
		if m.minute == 0 {
			m.minute = now
		}
		return
	}
	m.minute = now
	if m.to == nil {
		return
	}
	at := m.cut(now * minute)
	var due []*Series
	for _, s := range m.series {
		if s.held && s.alive && s.at < at {
			due = append(due, s)
		}
	}
	slices.SortFunc(due, func(x, y *Series) int { return cmp.Compare(x.key, y.key) })
	for _, s := range due {
		m.put(s, at, s.value)
	}
}

// needed notes the values that series of other metrics need.
func (m *Maker) needed(b *metric.Block) {
	if b.Group.Indom != metric.NoIndom || len(b.Rows) != 1 || len(m.numbers)+len(m.texts) == 0 {
		return
	}
	for c, d := range b.Group.Metrics {
		if d.Type == metric.String {
			if _, ok := m.texts[d.Name]; ok {
				m.texts[d.Name] = b.Cols[c].At(d.Type, 0).Str
			}
		} else if _, ok := m.numbers[d.Name]; ok {
			m.numbers[d.Name] = b.Cols[c].At(d.Type, 0).Number()
		}
	}
}

// outs returns the families that a group has series in.
func (m *Maker) outs(class metric.Class, g *metric.Group) []out {
	if list, ok := m.groups[g]; ok {
		return list
	}
	every := int64(m.info.Intervals[class])
	held := every <= 0 || every > seldom
	list := []out{}
	for c, d := range g.Metrics {
		if d.Unsupported != "" {
			continue
		}
		if f, ok := m.scheme.Own(d); ok {
			src := &f.Sources[0]
			list = append(list, out{c, &f, src, src.Scale(d), d.Type == metric.String, held})
		}
		for _, n := range m.named[d.Name] {
			list = append(list, out{c, n.family, n.source, n.source.Scale(d), d.Type == metric.String && len(n.source.Texts) == 0, held})
		}
	}
	if len(m.groups) > mostPlaces {
		clear(m.groups)
	}
	m.groups[g] = list
	return list
}

// block makes the samples of a block.
func (m *Maker) block(class metric.Class, b *metric.Block) {
	id := placeID{class, b.Group.Name, b.Group.Indom}
	p := m.places[id]
	if p == nil {
		p = &latest{}
		m.places[id] = p
	}
	at := m.cut(b.At.Wall)
	if p.group != b.Group || !slices.Equal(p.rows, b.Rows) {
		m.arrange(p, class, b)
	}
	n := len(b.Rows)
	for i := range p.outs {
		o := &p.outs[i]
		col := &b.Cols[o.column]
		d := b.Group.Metrics[o.column]
		series := p.series[i*n : (i+1)*n]
		switch {
		case o.text:
			m.text(p, o, i, b, at)
		case d.Type == metric.String || o.source.Kind != naming.Value:
			m.fact(p, o, i, b, at)
		default:
			m.numbersOf(o, d, col, series, at)
		}
	}
	for _, s := range p.ending {
		if !s.alive || s.at != at {
			m.end(s, at)
			delete(m.series, s.key)
		}
	}
	p.ending = nil
}

// numbersOf makes the samples of a column of numbers.
func (m *Maker) numbersOf(o *out, d *metric.Desc, col *metric.Column, series []*Series, at int64) {
	factor := 1.0
	if o.source.Times != "" {
		factor = m.numbers[o.source.Times]
	}
	// Most metrics have a scale of one and a number that needs no change.
	plain := o.scale == naming.Scale{Mul: 1, Div: 1} && factor == 1
	times, digits := multiple(o.scale, factor)
	digits = digits && !d.Type.Float()
	for row, s := range series {
		if s == nil {
			continue
		}
		if col.Miss != nil && col.Miss[row] != metric.Present || factor != factor {
			m.end(s, at)
			continue
		}
		var x Value
		if d.Type == metric.F32 {
			x.Float = naming.Number(metric.Value{Type: d.Type, Bits: col.Bits[row]})
		} else {
			x.Float = metric.Number(d.Type, col.Bits[row])
		}
		if !plain {
			x.Float = o.scale.Of(x.Float * factor)
		}
		if digits && math.Abs(x.Float) < 1<<62 {
			x.Int, x.Whole = int64(col.Bits[row])*times, true
		}
		m.put(s, at, x)
	}
}

// multiple returns the factor for whole numbers; ok is false if they would not stay whole.
func multiple(scale naming.Scale, factor float64) (times int64, ok bool) {
	by := scale.Of(factor)
	ok = (scale.Div == 1 || scale.Div == 0) && by == math.Trunc(by) && math.Abs(by) < 1<<53
	return int64(by), ok
}

// fact makes the samples that are not the number itself: that something was read, or when, or
// the texts of other metrics.
func (m *Maker) fact(p *latest, o *out, i int, b *metric.Block, at int64) {
	n := len(b.Rows)
	for row := range n {
		v := b.Cols[o.column].At(b.Group.Metrics[o.column].Type, row)
		x := whole(1)
		switch {
		case o.source.Kind == naming.Failing && v.Miss == metric.Present:
			x = whole(0)
		case o.source.Kind == naming.Failing:
			v.Miss = metric.Present
		case o.source.Kind == naming.Clock:
			x = float(float64(b.At.Wall) / 1e9)
		}
		if len(o.source.Texts) > 0 {
			var labels []naming.Label
			for _, t := range o.source.Texts {
				labels = append(labels, naming.Label{Name: t.Name, Value: m.texts[t.Value]})
			}
			m.worded(p, o, i*n+row, b.Rows[row], b.Group.Metrics[o.column], labels, v.Miss == metric.Present, at)
			continue
		}
		if s := p.series[i*n+row]; s != nil && v.Miss == metric.Present {
			m.put(s, at, x)
		} else if s != nil {
			m.end(s, at)
		}
	}
}

// text makes the samples of a column of texts.
func (m *Maker) text(p *latest, o *out, i int, b *metric.Block, at int64) {
	n := len(b.Rows)
	for row := range n {
		v := b.Cols[o.column].At(metric.String, row)
		m.worded(p, o, i*n+row, b.Rows[row], b.Group.Metrics[o.column], []naming.Label{{Name: "value", Value: v.Str}}, v.Miss == metric.Present, at)
	}
}

// worded emits the series with these labels and ends the one with the previous labels.
func (m *Maker) worded(p *latest, o *out, cell int, in *metric.Instance, d *metric.Desc, words []naming.Label, present bool, at int64) {
	old := p.series[cell]
	if old != nil && (!present || !slices.Equal(p.words[cell], words)) {
		m.end(old, at)
		delete(m.series, old.key)
		p.series[cell] = nil
		old = nil
	}
	if !present {
		return
	}
	if old == nil {
		labels, ok := m.apart(p, o, d, in, cell%len(p.rows))
		if !ok {
			return
		}
		old = m.find(o, append(labels, words...))
		p.series[cell] = old
		if p.words == nil {
			p.words = make(map[int][]naming.Label)
		}
		p.words[cell] = words
	}
	m.put(old, at, whole(1))
}

func (m *Maker) labels(o *out, d *metric.Desc, in *metric.Instance) ([]naming.Label, bool) {
	if m.scheme.Labels != nil {
		return m.scheme.Labels(o.source, d, in)
	}
	return o.source.Series(d, in)
}

// find returns the series with these labels.
func (m *Maker) find(o *out, labels []naming.Label) *Series {
	labels = slices.DeleteFunc(slices.Clone(labels), func(l naming.Label) bool { return l.Value == "" })
	for i := range labels {
		labels[i].Value = strings.ToValidUTF8(labels[i].Value, "\uFFFD")
	}
	slices.SortFunc(labels, func(x, y naming.Label) int { return cmp.Compare(x.Name, y.Name) })
	key := append(m.key[:0], o.family.Name...)
	for _, l := range labels {
		key = append(append(append(append(key, 0), l.Name...), 0), l.Value...)
	}
	m.key = key
	s := m.series[string(key)]
	if s == nil {
		s = &Series{Family: o.family, Labels: labels, held: o.held, key: string(key)}
		m.series[s.key] = s
	}
	return s
}

// put emits a sample. Of two at the same time the first stays.
func (m *Maker) put(s *Series, at int64, x Value) {
	if s.alive && s.at == at {
		return
	}
	s.alive, s.at, s.value = true, at, x
	if m.to != nil {
		m.to.Sample(s, at, x)
	}
}

// end emits the end of a series, unless it has ended.
func (m *Maker) end(s *Series, at int64) {
	if !s.alive {
		return
	}
	s.alive = false
	if s.at == at {
		return
	}
	s.at = at
	if m.to != nil {
		m.to.Sample(s, at, float(Stale))
	}
}

// OwnNames gives every metric its own name.
func OwnNames(d *metric.Desc) (naming.Family, bool) { return naming.Own(d), true }

// NoNames names no metric by its own name.
func NoNames(*metric.Desc) (naming.Family, bool) { return naming.Family{}, false }

// Package machine plays what a machine did for some minutes again and again, for as many days as
// requested. What is played is a dataset: the recording of a workstation, an archive of any
// recorder, or a machine that is made up (see Open). All values follow from it and from the
// number of the second.
//
// Counters continue, rising by more or less each time round, and levels are somewhat higher or
// lower. Instances that lived through all of the dataset live forever; other processes come
// again as new processes. Some machines have a calendar: they sleep at night, and are switched
// off at times.
package machine

import (
	"math"

	"tachograph/sample/metric"
)

// A Machine plays its recording. What it returns is valid until the next call.
type Machine struct {
	Host      metric.Host
	Intervals metric.Intervals
	// static are the ticks that are read once per archive.
	static   []*metric.Tick
	rec      *recording
	calendar *calendar // nil: it always runs
	round    int
	at       int   // of the recording's instants
	began    int64 // how long the machine had run when the round began
	boot     int
	fresh    int // the round in which the machine was started
	names    map[*name]*metric.Instance
	tick     metric.Tick
}

// recording is what is played.
type recording struct {
	instants []instant
	rows     []*row
	series   []*series
	period   int64
	start    metric.Stamp
}

// instant is a tick of one class.
type instant struct {
	class  metric.Class
	since  int64
	blocks []block
}

type block struct {
	group *group
	late  int64 // after the tick's own time
	rows  []*row
	names []*name
	cols  []metric.Column
}

// row is an instance in a group. A group of a recorder may change while it runs; the series
// remain.
type row struct {
	number int
	group  *group
	life   *life
	series []*series
	seen   int
}

// series is the values of a metric of an instance.
type series struct {
	desc        *metric.Desc
	row, column int // the first that it was found in
	life        *life
	known       bool // it had a value
	first, last uint64
	base        uint64 // what a counter began with in this boot
	gone        uint64 // what it gained in earlier rounds
	seen        int
}

// life is an instance; for a process, its whole life.
type life struct {
	rows    []*row
	stays   bool
	current *name
}

// name is an instance with the name that it had for a time.
type name struct {
	life *life
	inst metric.Instance
}

// newMachine returns a machine at the first second of rec, which is complete.
func newMachine(rec *recording) *Machine {
	for _, r := range rec.rows {
		g := r.group
		if r == r.life.rows[0] {
			r.life.stays = !g.perBoot || r.seen == g.seen
		}
	}
	for _, s := range rec.series {
		s.base = s.first
	}
	return &Machine{rec: rec, names: make(map[*name]*metric.Instance)}
}

// Start returns the first instant.
func (m *Machine) Start() metric.Stamp { return m.rec.start }

// AtEnd reports whether the recording has just been played to its end.
func (m *Machine) AtEnd() bool { return m.at == len(m.rec.instants) }

// A Place is an instant of a machine's life.
type Place struct {
	Ran  int64 // how long the machine has been awake since Start, in all boots
	At   metric.Stamp
	Boot int
}

// next is the place of the next tick, with its round and index there.
type next struct {
	Place
	began int64
	at    int
}

// Peek returns the place of the next tick.
func (m *Machine) Peek() Place { return m.next().Place }

func (m *Machine) next() next {
	n := next{Place: Place{Boot: m.boot}, began: m.began, at: m.at}
	if m.AtEnd() {
		n.began, n.at = m.began+m.rec.period, 0
	}
	n.Ran = n.began + m.rec.instants[n.at].since
	if m.calendar != nil {
		if boot := m.calendar.begins(m.boot + 1); n.Ran >= boot {
			n.Boot, n.began, n.at = m.boot+1, boot, 0
			n.Ran = boot + m.rec.instants[0].since
		}
	}
	n.At = m.stamp(n.Ran, n.Boot)
	return n
}

// stamp returns the time at which the machine has been awake for ran.
func (m *Machine) stamp(ran int64, boot int) metric.Stamp {
	s := m.rec.start
	if m.calendar == nil {
		return metric.Stamp{Wall: s.Wall + ran, Awake: s.Awake + ran, Cont: s.Cont + ran}
	}
	began := m.calendar.begins(boot)
	wall := m.calendar.wall(ran)
	return metric.Stamp{Wall: s.Wall + wall, Awake: s.Awake + ran - began, Cont: s.Cont + wall - m.calendar.wall(began)}
}

// move makes n the present round.
func (m *Machine) move(n next) {
	switch {
	case n.Boot != m.boot:
		m.restart()
		m.boot = n.Boot
	case n.began != m.began:
		m.again()
	}
	m.began, m.at = n.began, n.at
}

// Next returns the next tick.
func (m *Machine) Next() *metric.Tick {
	n := m.next()
	m.move(n)
	in := &m.rec.instants[m.at]
	m.at++
	m.tick = metric.Tick{Class: in.class, At: n.At}
	for i := range in.blocks {
		b := &in.blocks[i]
		now := m.block(b, metric.Stamp{Wall: n.At.Wall + b.late, Awake: n.At.Awake + b.late, Cont: n.At.Cont + b.late})
		m.tick.Blocks = append(m.tick.Blocks, now)
		if b.group.total != nil {
			m.tick.Blocks = append(m.tick.Blocks, b.group.totals(now))
		}
	}
	return &m.tick
}

// SkipTo skips everything before the machine has been awake for ran.
func (m *Machine) SkipTo(ran int64) {
	for n := m.next(); n.Ran < ran; n = m.next() {
		m.move(n)
		m.at++
	}
}

// Static returns the ticks that are read once per archive, as read at an instant.
func (m *Machine) Static(at metric.Stamp) []*metric.Tick {
	for _, t := range m.static {
		t.At = at
		for _, b := range t.Blocks {
			b.At = at
		}
	}
	return m.static
}

// again begins the next round.
func (m *Machine) again() {
	for _, s := range m.rec.series {
		switch {
		case s.desc.Sem != metric.Counter:
		case isFloat(s.desc.Type):
			gain := metric.Number(s.desc.Type, s.last) - metric.Number(s.desc.Type, s.first)
			s.gone = math.Float64bits(math.Float64frombits(s.gone) + gain)
		default:
			gain := int64((s.last - s.first) & mask(s.desc))
			s.gone += uint64(int64(float64(gain)*m.factor(s)) + gain/int64(s.seen))
		}
	}
	m.round++
	clear(m.names)
}

// restart begins the next round after a boot: counters begin with nothing.
func (m *Machine) restart() {
	for _, s := range m.rec.series {
		s.gone, s.base = 0, 0
	}
	m.round++
	m.fresh = m.round
	clear(m.names)
}

// factor returns the factor for the values of a series in this round.
func (m *Machine) factor(s *series) float64 {
	if m.round == 0 {
		return 1
	}
	u := float64(mix(uint64(m.round), uint64(s.row), uint64(s.column))>>11) / (1 << 53)
	if s.desc.Sem == metric.Counter {
		return 0.7 + float64(0.6*u)
	}
	return 0.98 + float64(0.04*u)
}

func (m *Machine) block(b *block, at metric.Stamp) *metric.Block {
	g := b.group
	out := &metric.Block{Group: g.group, At: at, Rows: make([]*metric.Instance, len(b.rows)), Cols: make([]metric.Column, len(b.cols))}
	for i, n := range b.names {
		if n != nil && !g.single {
			out.Rows[i] = m.instance(n)
		}
	}
	for c, col := range b.cols {
		bits := make([]uint64, len(col.Bits))
		for i, v := range col.Bits {
			if col.Miss == nil || col.Miss[i] == metric.Present {
				bits[i] = m.value(b.rows[i].series[c], g.scaled[c], v) * g.factor[c]
			}
		}
		out.Cols[c] = metric.Column{Bits: bits, Words: col.Words, Miss: col.Miss}
	}
	return out
}

// value returns v changed for this round; scaled says that it is a number and not a code.
func (m *Machine) value(s *series, scaled bool, v uint64) uint64 {
	d, f := s.desc, m.factor(s)
	switch {
	case !scaled || m.round == 0:
		return v
	case d.Sem != metric.Counter:
		return uint64(int64(float64(float64(v)*f) + 0.5))
	case isFloat(d.Type):
		return s.addFloat(v)
	case !s.life.stays:
		return uint64(int64(float64(v) * f))
	}
	v = s.base + s.gone + uint64(int64(float64((v-s.first)&mask(d))*f))
	if d.Type == metric.I32 {
		return uint64(int32(v))
	}
	return v & mask(d)
}

// addFloat returns a counter in floating point, which gains the same in each round.
func (s *series) addFloat(v uint64) uint64 {
	if !s.life.stays {
		return v
	}
	t := s.desc.Type
	sum := metric.Number(t, v) - metric.Number(t, s.first) + metric.Number(t, s.base) + math.Float64frombits(s.gone)
	if t == metric.F32 {
		return uint64(math.Float32bits(float32(sum)))
	}
	return math.Float64bits(sum)
}

func isFloat(t metric.Type) bool { return t == metric.F32 || t == metric.F64 }

// mask returns the bits that a counter has.
func mask(d *metric.Desc) uint64 { return 1<<d.Bits() - 1 }

// totals sums up the rows, or takes the row that is the total, as processors have.
func (g *group) totals(b *metric.Block) *metric.Block {
	out := &metric.Block{Group: g.total, At: b.At, Rows: []*metric.Instance{nil}}
	for _, c := range g.sums {
		var sum uint64
		for i, in := range b.Rows {
			if g.sumRow == "" || in.Name == g.sumRow {
				sum += b.Cols[c].Bits[i]
			}
		}
		out.Cols = append(out.Cols, metric.Column{Bits: []uint64{sum}})
	}
	return out
}

// mix returns a hash of three numbers.
func mix(a, b, c uint64) uint64 {
	x := a*0x9e3779b97f4a7c15 ^ b*0xbf58476d1ce4e5b9 ^ c*0x94d049bb133111eb
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// Package machine is a busy workstation for measurements: some 360 processes and 870 series of
// the system, whose values all follow from a recording of 40 minutes and the number of the
// second. The recording is a dataset, or made up if there is none (see Invent).
//
// The recording is played again and again, for as many days as requested: counters continue,
// rising by more or less each time round, and levels are somewhat higher or lower. Instances
// that lived through the whole recording live forever; other processes come again as new
// processes.
package machine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tachograph/sample/metric"
)

// A Machine plays its recording. What it returns is valid until the next call.
type Machine struct {
	rec    *recording
	round  int
	at     int // of the recording's instants
	system metric.Tick
	proc   metric.Tick
	names  map[*name]*metric.Instance // of the present round
}

// recording is what is played.
type recording struct {
	instants []instant
	rows     []*row
	period   int64
	start    metric.Stamp
}

// group is a group of metrics with the names and in the units of the recorder.
type group struct {
	group  *metric.Group
	scaled []bool   // its levels are numbers and not codes
	factor []uint64 // for the recording's units
	total  *metric.Group
	sums   []int // the columns that total sums up
	sumRow string
	single bool
	proc   bool
}

type instant struct {
	since  int64
	blocks []block
}

type block struct {
	group *group
	rows  []*name
	cols  [][]uint64
}

// row is an instance; for a process, its whole life.
type row struct {
	number  int
	group   *group
	first   []uint64
	last    []uint64
	gone    []uint64 // what its counters gained in earlier rounds
	seen    int
	stays   bool
	current *name
}

// name is a row with the name that it had for a time.
type name struct {
	row  *row
	inst metric.Instance
}

// newMachine returns a machine at the first second of rec, which is complete.
func newMachine(rec *recording) *Machine {
	procs := 0
	for _, in := range rec.instants {
		if slices.ContainsFunc(in.blocks, func(b block) bool { return b.group.proc }) {
			procs++
		}
	}
	for _, r := range rec.rows {
		r.stays = !r.group.proc || r.seen == procs
		r.gone = make([]uint64, len(r.first))
	}
	return &Machine{rec: rec, names: make(map[*name]*metric.Instance)}
}

// Start returns the first instant.
func (m *Machine) Start() metric.Stamp { return m.rec.start }

// AtEnd reports whether the recording has just been played to its end.
func (m *Machine) AtEnd() bool { return m.at == len(m.rec.instants) }

// Peek returns the instant of the next ticks.
func (m *Machine) Peek() metric.Stamp {
	if m.AtEnd() {
		return m.stamp(m.rec.period * int64(m.round+1))
	}
	return m.stamp(m.rec.instants[m.at].since + m.rec.period*int64(m.round))
}

// stamp returns the instant that is since nanoseconds after the start.
func (m *Machine) stamp(since int64) metric.Stamp {
	s := m.rec.start
	return metric.Stamp{Wall: s.Wall + since, Awake: s.Awake + since, Cont: s.Cont + since}
}

// Next returns the ticks of the next instant; processes is nil if they are not read then.
func (m *Machine) Next() (system, processes *metric.Tick) {
	at := m.Peek()
	if m.AtEnd() {
		m.again()
	}
	in := &m.rec.instants[m.at]
	m.at++
	m.system = metric.Tick{Class: metric.Fast, At: at}
	m.proc = metric.Tick{Class: metric.Process, At: at}
	for i := range in.blocks {
		b := &in.blocks[i]
		t := &m.system
		if b.group.proc {
			t = &m.proc
		}
		now := m.block(b, at)
		t.Blocks = append(t.Blocks, now)
		if b.group.total != nil {
			t.Blocks = append(t.Blocks, b.group.totals(now))
		}
	}
	if len(m.proc.Blocks) == 0 {
		return &m.system, nil
	}
	return &m.system, &m.proc
}

// SkipTo skips everything before since nanoseconds have passed.
func (m *Machine) SkipTo(since int64) {
	for m.rec.period*int64(m.round+1) <= since {
		m.again()
	}
	for m.Peek().Cont-m.rec.start.Cont < since {
		m.at++
	}
}

// again begins the next round.
func (m *Machine) again() {
	for _, r := range m.rec.rows {
		for c, d := range r.group.group.Metrics {
			if d.Sem == metric.Counter {
				gain := int64(r.last[c] - r.first[c])
				r.gone[c] += uint64(int64(float64(gain)*m.factor(r, c, d.Sem)) + gain/int64(r.seen))
			}
		}
	}
	m.round, m.at = m.round+1, 0
	clear(m.names)
}

// factor returns the factor for the values of a series in this round.
func (m *Machine) factor(r *row, c int, sem metric.Semantics) float64 {
	if m.round == 0 {
		return 1
	}
	u := float64(mix(uint64(m.round), uint64(r.number), uint64(c))>>11) / (1 << 53)
	if sem == metric.Counter {
		return 0.7 + 0.6*u
	}
	return 0.98 + 0.04*u
}

func (m *Machine) block(b *block, at metric.Stamp) *metric.Block {
	g := b.group
	out := &metric.Block{Group: g.group, At: at, Rows: make([]*metric.Instance, len(b.rows)), Cols: make([]metric.Column, len(b.cols))}
	for i, n := range b.rows {
		if !g.single {
			out.Rows[i] = m.instance(n)
		}
	}
	for c, values := range b.cols {
		bits := make([]uint64, len(values))
		for i, v := range values {
			bits[i] = m.value(b.rows[i].row, c, v) * g.factor[c]
		}
		out.Cols[c].Bits = bits
	}
	return out
}

// value returns v changed for this round.
func (m *Machine) value(r *row, c int, v uint64) uint64 {
	sem := r.group.group.Metrics[c].Sem
	switch f := m.factor(r, c, sem); {
	case !r.group.scaled[c] || m.round == 0:
		return v
	case sem != metric.Counter:
		return uint64(int64(float64(v)*f + 0.5))
	case r.stays:
		return r.first[c] + r.gone[c] + uint64(int64(float64(v-r.first[c])*f))
	default:
		return uint64(int64(float64(v) * f))
	}
}

// instance returns the instance that takes the place of n in this round.
func (m *Machine) instance(n *name) *metric.Instance {
	if m.round == 0 {
		return &n.inst
	}
	if n.row.stays {
		return &n.row.current.inst
	}
	now := m.names[n]
	if now == nil {
		pid, start, _ := strings.Cut(n.inst.Key, "/")
		p, _ := strconv.Atoi(pid)
		s, _ := strconv.ParseInt(start, 10, 64)
		_, command, _ := strings.Cut(strings.TrimSpace(n.inst.Name), " ")
		p = 300 + (p+m.round*40000)%4000000
		now = &metric.Instance{ID: uint64(m.round)<<32 + n.inst.ID, Rev: n.inst.Rev, Name: fmt.Sprintf("%06d %s", p, command),
			Key: fmt.Sprintf("%d/%d", p, s+int64(m.round)*m.rec.period/1e7)}
		m.names[n] = now
	}
	return now
}

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

package machine

import (
	"errors"
	"io"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/storetest"
)

// workstation is the host of machines whose recording does not name one.
var workstation = metric.Host{ID: "measured", Name: "workstation", OS: "Linux", Platform: "linux"}

// recorded returns the machine of a recording in the stream format of the shared datasets.
func recorded(path string, o Options) (*Machine, error) {
	d, err := storetest.Open(path)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	k := newKeeper(o.Plain)
	for n := 0; ; n++ {
		system, proc, err := d.Next()
		if errors.Is(err, io.EOF) {
			m := newMachine(k.recording())
			m.describe(o)
			return m, nil
		}
		if err != nil {
			return nil, err
		}
		k.keep(system)
		if n%o.Process == 0 && len(proc.Blocks) > 0 {
			k.keep(proc)
		}
	}
}

// describe sets the host, the intervals and the values that are read once; the last of these have
// names of Linux, and are left out if the metrics have other names.
func (m *Machine) describe(o Options) {
	m.Host = workstation
	m.Intervals = metric.Intervals{metric.Static: metric.Once, metric.Fast: time.Duration(o.System) * time.Second, metric.Process: time.Duration(o.Process) * time.Second}
	if !o.Plain {
		m.static = []*metric.Tick{static()}
	}
}

// keeper makes a recording from ticks.
type keeper struct {
	rec     recording
	plain   bool
	archive bool // its instances belong to several groups, and its metrics have several types
	groups  map[*metric.Group]*group
	rows    map[rowKey]*row
	series  map[seriesKey]*series
	lives   map[*metric.Instance]*life
}

type seriesKey struct {
	metric   string
	instance *metric.Instance
}

type rowKey struct {
	group    *metric.Group
	instance *metric.Instance
}

func newKeeper(plain bool) *keeper {
	return &keeper{plain: plain, groups: make(map[*metric.Group]*group), rows: make(map[rowKey]*row), series: make(map[seriesKey]*series), lives: make(map[*metric.Instance]*life)}
}

// over reports whether a tick comes later than so many seconds after the first.
func (k *keeper) over(t *metric.Tick, seconds int) bool {
	return len(k.rec.instants) > 0 && t.At.Cont-k.rec.start.Cont >= int64(seconds)*1e9
}

// keep adds a tick. Blocks and instances may change afterwards.
func (k *keeper) keep(t *metric.Tick) {
	if len(k.rec.instants) == 0 {
		k.rec.start = t.At
	}
	in := instant{class: t.Class, since: t.At.Cont - k.rec.start.Cont}
	for _, b := range t.Blocks {
		in.blocks = append(in.blocks, k.block(b, b.At.Cont-t.At.Cont))
	}
	k.rec.instants = append(k.rec.instants, in)
}

func (k *keeper) block(b *metric.Block, late int64) block {
	g := k.groups[b.Group]
	if g == nil {
		if g = newGroup(b.Group, k.plain); k.archive {
			g.scaleLevels()
		}
		k.groups[b.Group] = g
	}
	g.seen++
	out := block{group: g, late: late, cols: b.Clone().Cols}
	for i, in := range b.Rows {
		r := k.row(g, b, in)
		r.seen++
		for c, s := range r.series {
			s.seen++
			if miss := b.Cols[c].Miss; miss != nil && miss[i] != metric.Present {
				continue
			}
			s.last = b.Cols[c].Bits[i]
			if !s.known {
				s.first, s.known = s.last, true
			}
		}
		out.rows, out.names = append(out.rows, r), append(out.names, r.life.name(in))
	}
	return out
}

// row returns the row of an instance, which is nil in a group without instances.
func (k *keeper) row(g *group, b *metric.Block, in *metric.Instance) *row {
	key := rowKey{b.Group, in}
	r := k.rows[key]
	if r != nil {
		return r
	}
	l := k.lives[in]
	if l == nil || in == nil {
		l = &life{}
		k.lives[in] = l
	}
	r = &row{number: len(k.rec.rows), group: g, life: l}
	for c, d := range b.Group.Metrics {
		key := seriesKey{d.Name, in}
		s := k.series[key]
		if s == nil {
			s = &series{desc: d, row: r.number, column: c, life: l}
			k.series[key], k.rec.series = s, append(k.rec.series, s)
		}
		r.series = append(r.series, s)
	}
	l.rows = append(l.rows, r)
	k.rows[key], k.rec.rows = r, append(k.rec.rows, r)
	return r
}

// name returns the present name of the instance in.
func (l *life) name(in *metric.Instance) *name {
	if in != nil && (l.current == nil || l.current.inst.Rev != in.Rev) {
		l.current = &name{life: l, inst: *in}
	}
	return l.current
}

func (k *keeper) recording() *recording {
	last := k.rec.instants[len(k.rec.instants)-1]
	k.rec.period = last.since + 1e9
	return &k.rec
}

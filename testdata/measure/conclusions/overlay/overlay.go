package overlay

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/store/layout"
	"tachograph/store/rewrite"
	"tachograph/testdata/measure/conclusions/sim"
)

// still are levels that do not depend on the load.
var still = []string{"kernel.all.uptime", "computed.uptime_seconds", "kernel.all.lastpid", "hinv.", "kernel.all.boottime"}

// busy are the processor times that processes use.
var busy = []string{"user", "nice", "sys", "irq.soft", "irq.hard"}

// mixer lays one tape over another.
type mixer struct {
	under, over *Tape
	cores       float64
	out         *rewrite.Writer
	ids         uint64
	twins       map[*metric.Instance]*metric.Instance
	root        string // the key of the first process of under
	groups      map[layerKey]*metric.Group
	scale       []float64 // for each second, the part of the processors that is left for those that want them
	sums        map[string]*sum
}

// sum is a counter that both tapes have.
type sum struct {
	base, last  float64 // the values that were written
	under, over float64 // the values on the tapes
	at          int64
}

// Write lays over, a tape of a machine of the same size whose clock begins with
// under's, and writes both to path.
func Write(path string, under, over *Tape) error {
	out, err := rewrite.Create(path, rewrite.About{Host: under.Host, Boot: under.Boot, TimeZone: "UTC", Recorder: "1.0.0", ID: "0123456789abcdef", Created: under.Begin.Wall,
		Intervals: under.every, Catalog: catalog.For(catalog.Linux)})
	if err != nil {
		return err
	}
	defer out.Abort()
	m := &mixer{under: under, over: over, cores: math.Max(under.Number("hinv.ncpu", ""), 1), out: out, ids: 1 << 40, twins: make(map[*metric.Instance]*metric.Instance),
		groups: make(map[layerKey]*metric.Group), sums: make(map[string]*sum)}
	m.share()
	for class := range under.ticks {
		for _, t := range under.ticks[class] {
			if err := m.tick(metric.Class(class), t); err != nil {
				return err
			}
		}
	}
	if err := m.events(); err != nil {
		return err
	}
	return out.Finish()
}

// share finds the seconds in which both want more than there is.
func (m *mixer) share() {
	gains := func(t *Tape) []float64 {
		x := make([]float64, m.under.Seconds()+2)
		last := math.NaN()
		for _, at := range t.ticks[metric.Fast] {
			used := 0.0
			for _, c := range at.cells[layerKey{metric.Fast, ""}] {
				if part, ok := strings.CutPrefix(c.desc.Name, "kernel.all.cpu."); ok && slices.Contains(busy, part) {
					used += c.value.Number()
				}
			}
			if n := int((at.at.Cont - m.under.Begin.Cont) / 1e9); last == last && n >= 0 && n < len(x) {
				x[n] = math.Max(used-last, 0) / 1000
			}
			last = used
		}
		return x
	}
	a, b := gains(m.under), gains(m.over)
	m.scale = make([]float64, len(a))
	for i := range a {
		m.scale[i] = math.Min(1, m.cores*0.995/math.Max(a[i]+b[i], 1e-9))
	}
}

// scaled returns the part that was left from one instant to another.
func (m *mixer) scaled(from, to int64) float64 {
	lo, hi := int((from-m.under.Begin.Cont)/1e9)+1, int((to-m.under.Begin.Cont)/1e9)+1
	x, n := 0.0, 0.0
	for i := max(lo, 0); i < min(hi, len(m.scale)); i++ {
		x, n = x+m.scale[i], n+1
	}
	if n == 0 {
		return 1
	}
	return x / n
}

// beside returns the tick of over that belongs to a tick of under.
func (m *mixer) beside(class metric.Class, at metric.Stamp) *tick {
	list := m.over.ticks[class]
	n, ok := slices.BinarySearchFunc(list, at.Cont, func(t *tick, x int64) int { return cmp.Compare(t.at.Cont, x) })
	if !ok && n > 0 {
		n--
	}
	if n >= len(list) || len(list) == 0 {
		return nil
	}
	return list[n]
}

func (m *mixer) tick(class metric.Class, t *tick) error {
	other := m.beside(class, t.at)
	out := &metric.Tick{Class: class, At: t.at}
	for k, cells := range t.cells {
		added := make(map[string]cell)
		var more []cell
		if other != nil {
			for _, c := range other.cells[k] {
				added[series(c.desc, c.in)] = c
			}
			more = other.cells[k]
		}
		out.Blocks = append(out.Blocks, m.block(k, t.at, cells, added, more))
	}
	slices.SortFunc(out.Blocks, func(a, b *metric.Block) int { return strings.Compare(a.Group.Name, b.Group.Name) })
	return m.out.Append(out)
}

// block returns a block with the values of a domain at an instant.
func (m *mixer) block(k layerKey, at metric.Stamp, cells []cell, added map[string]cell, more []cell) *metric.Block {
	g := m.groups[k]
	if g == nil {
		name := k.indom
		if name == "" {
			name = "system"
		}
		g = &metric.Group{Name: name, Indom: k.indom, Metrics: m.under.descs[k]}
		m.groups[k] = g
	}
	columns := make(map[string]int, len(g.Metrics))
	for i, d := range g.Metrics {
		columns[d.Name] = i
	}
	b := &metric.Block{Group: g, At: at, Cols: make([]metric.Column, len(g.Metrics))}
	rows := make(map[string]int) // by key
	var grid [][]metric.Value
	row := func(in *metric.Instance) int {
		key := ""
		if in != nil {
			key = in.Key
		}
		n, ok := rows[key]
		if !ok {
			n = len(grid)
			rows[key] = n
			blank := make([]metric.Value, len(g.Metrics))
			for i, d := range g.Metrics {
				blank[i] = metric.Value{Type: d.Type, Miss: metric.NotRead}
			}
			grid = append(grid, blank)
			b.Rows = append(b.Rows, in)
		}
		return n
	}
	known := make(map[string]bool)
	for _, c := range cells {
		v := c.value
		key := series(c.desc, c.in)
		if known[key] = true; v.Miss == metric.Present && c.desc.Type != metric.String {
			v = m.both(c.desc, key, v, added[key], at)
		}
		grid[row(c.in)][columns[c.desc.Name]] = v
	}
	for _, c := range more {
		col, ok := columns[c.desc.Name]
		if !ok || c.in == nil || known[series(c.desc, c.in)] || k.indom == "process" && !m.guest(c.in) {
			continue
		}
		v := c.value
		if c.desc.Sem == metric.Counter && v.Miss == metric.Present && k.indom == "process" {
			v = m.both(c.desc, "over "+series(c.desc, c.in), v, cell{}, at)
		}
		grid[row(m.twin(c.in))][col] = v
	}
	for i := range grid {
		for j := range grid[i] {
			b.Cols[j].Push(grid[i][j])
		}
	}
	return b
}

// both returns the value of both tapes together.
func (m *mixer) both(d *metric.Desc, key string, v metric.Value, w cell, at metric.Stamp) metric.Value {
	x := v.Number()
	other := w.value.Number()
	if w.desc == nil || w.value.Miss != metric.Present {
		other = 0
	}
	if d.Sem != metric.Counter {
		if w.desc == nil || slices.ContainsFunc(still, func(s string) bool { return strings.HasPrefix(d.Name, s) }) {
			return v
		}
		y := math.Max(x+other-m.over.firsts[key], 0)
		if d.Units == metric.Percent {
			y = math.Min(y, 100)
		}
		return metric.Value{Type: d.Type, Bits: sim.Bits(d.Type, y)}
	}
	s := m.sums[key]
	if s == nil {
		s = &sum{base: x, last: x, under: x, over: other, at: at.Cont}
		m.sums[key] = s
		if strings.HasPrefix(key, "over ") { // It was born before its first reading.
			return v
		}
		return metric.Value{Type: d.Type, Bits: sim.Bits(d.Type, x)}
	}
	gain, more := math.Max(x-s.under, 0), math.Max(other-s.over, 0)
	long := float64(at.Cont-s.at) / 1e9
	s.last += m.gain(d, gain, more, long, s.at, at.Cont)
	s.under, s.over, s.at = x, other, at.Cont
	return metric.Value{Type: d.Type, Bits: sim.Bits(d.Type, s.last)}
}

// gain returns what a counter gained on both tapes together.
func (m *mixer) gain(d *metric.Desc, gain, more, long float64, from, to int64) float64 {
	part := m.scaled(from, to)
	name := d.Name
	cpu, of := strings.CutPrefix(name, "kernel.all.cpu.")
	share := 1.0
	if !of {
		cpu, of = strings.CutPrefix(name, "kernel.percpu.cpu.")
		share = m.cores
	}
	switch {
	case of && slices.Contains(busy, cpu), name == "proc.psinfo.utime", name == "proc.psinfo.stime", name == "proc.schedstat.cpu_time":
		return (gain + more) * part
	case of && cpu == "idle":
		// The idle time is what the second tape does not take of the first's.
		return math.Max(gain+more-long*1000*m.cores/share, 0)
	case strings.HasSuffix(name, ".avactive") && d.Indom == "disk":
		return math.Min(gain+more, long*1000)
	case strings.HasPrefix(name, "kernel.all.pressure."):
		most := long * 1e6
		short := 0.0
		if strings.Contains(name, ".cpu.") {
			short = (1 - part) * most
		}
		return math.Min(math.Max(most-(most-math.Min(gain, most))*(most-math.Min(more, most))/math.Max(most, 1), short), most)
	}
	return gain + more
}

// guest reports whether a process of over was started there. The kernel's own threads, and the
// first process, are under's.
func (m *mixer) guest(in *metric.Instance) bool { return len(in.Label("pid")) > 2 }

// twin returns the instance that stands for an instance of over in the result.
func (m *mixer) twin(in *metric.Instance) *metric.Instance {
	if t := m.twins[in]; t != nil {
		return t
	}
	m.ids++
	t := &metric.Instance{ID: m.ids, Key: in.Key, Name: in.Name}
	for _, l := range in.Labels {
		if l.Name == "parent" && strings.HasPrefix(l.Value, "1/") {
			l.Value = m.first()
		}
		t.Labels = append(t.Labels, l)
	}
	m.twins[in] = t
	return t
}

// first returns the key of under's first process.
func (m *mixer) first() string {
	for _, c := range m.under.ticks[metric.Process][0].cells[layerKey{metric.Process, "process"}] {
		if m.root == "" && strings.HasPrefix(c.in.Key, "1/") {
			m.root = c.in.Key
		}
	}
	return m.root
}

// events writes the events of both tapes, sorted by time.
func (m *mixer) events() error {
	all := slices.Clone(m.under.events)
	for _, e := range m.over.events {
		switch e.Kind {
		case metric.EventBoot, metric.EventStart:
			continue
		}
		all = append(all, e)
	}
	slices.SortStableFunc(all, func(a, b metric.Event) int { return cmp.Compare(a.At.Cont, b.At.Cont) })
	for _, churn := range []bool{true, false} {
		for i := range all {
			if layout.IsChurn(all[i].Kind) == churn {
				if err := m.out.Event(&all[i]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

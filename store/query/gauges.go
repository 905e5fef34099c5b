package query

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"tachograph/sample/metric"
	"tachograph/store"
)

// gauge is one of the numbers that show the state of a machine at a glance: an expression in the
// names that both platforms share. Of several expressions the first that the archive can compute
// is taken.
type gauge struct {
	name  string // short and stable
	title string
	exprs []string
	of    []string // what the gauge is a part of, if anything
	share bool     // a plain number that is a share of one
	quiet bool     // shown only where it ever differs from zero
	// fullest takes, of the volumes that people store things on, the one that is fullest at the
	// end.
	fullest bool
}

const cpuShare = "(rate(kernel.all.cpu.user) + rate(kernel.all.cpu.sys) + rate(kernel.all.cpu.nice))"

var gauges = []gauge{
	{name: "cpu", title: "cpu", exprs: []string{cpuShare + " / hinv.ncpu"}, share: true},
	{name: "cpu.user", title: "  user", exprs: []string{
		"(rate(kernel.all.cpu.user) + rate(kernel.all.cpu.nice)) / hinv.ncpu",
		"rate(kernel.all.cpu.user) / hinv.ncpu"}, share: true},
	{name: "cpu.system", title: "  system", exprs: []string{"rate(kernel.all.cpu.sys) / hinv.ncpu"}, share: true},
	{name: "cpu.wait", title: "  waiting for disk", exprs: []string{"rate(kernel.all.cpu.wait.total) / hinv.ncpu"}, share: true, quiet: true},
	{name: "load", title: "load", exprs: []string{"max(kernel.all.load[/^1( minute)?$/])"}},
	{name: "memory", title: "memory used", exprs: []string{"mem.physmem - mem.util.available", "mem.util.used"}, of: []string{"mem.physmem"}},
	{name: "memory.compressed", title: "  compressed", exprs: []string{"mem.util.compressed"}, quiet: true},
	{name: "memory.pressure", title: "  stalled for it", exprs: []string{"rate(kernel.all.pressure.memory.some.total)"}, share: true, quiet: true},
	{name: "memory.level", title: "  pressure level", exprs: []string{"kern.memorystatus_vm_pressure_level"}},
	{name: "swap", title: "swap used", exprs: []string{"swap.used"}, of: []string{"swap.length"}, quiet: true},
	{name: "disk.read", title: "disk read", exprs: []string{"rate(disk.all.read_bytes)"}},
	{name: "disk.write", title: "disk write", exprs: []string{"rate(disk.all.write_bytes)"}},
	{name: "disk.busy", title: "  busiest disk", exprs: []string{"max(rate(disk.dev.avactive))"}, share: true, quiet: true},
	{name: "filesys", title: "volume", exprs: []string{"filesys.full", "filesys.used / filesys.capacity"}, share: true, fullest: true},
	{name: "network.in", title: "network in", exprs: []string{"rate(network.all.in.bytes)"}},
	{name: "network.out", title: "network out", exprs: []string{"rate(network.all.out.bytes)"}},
	{name: "gpu", title: "gpu", exprs: []string{"max(gpu.util)"}, share: true},
	{name: "thermal", title: "cpu temperature", exprs: []string{"thermal.cpu.die", "thermal.package"}},
	{name: "thermal.pressure", title: "thermal pressure", exprs: []string{"thermal.pressure.level"}, quiet: true},
	{name: "fan", title: "fan", exprs: []string{"max(thermal.fan.speed)"}, quiet: true},
	{name: "battery", title: "battery charge", exprs: []string{"power.battery.charge"}, share: true},
}

// Gauge is a gauge and what it showed over a window.
type Gauge struct {
	Name, Title string
	// Instance is the instance that the gauge shows, where there were several to choose from.
	Instance string
	// Expr computes it.
	Expr  string
	Units metric.Units
	Share bool
	// Of is the whole that the gauge is a part of (all memory); NaN if there is none.
	Of float64
	// Count is the number of values. Last is the latest, at LastAt.
	Count         int
	Mean, Max     float64
	MaxAt, LastAt int64
	Last          float64
	// Points are means over equal parts of the window; NaN where there are no values.
	Points []float64

	total, seconds, plain float64   // values times seconds, seconds, values
	counts                []float64 // of values, by point
}

// Rate reports whether values read as a rate or share.
func (g *Gauge) Rate() bool { return g.Share }

// Gauges computes the gauges of one host over a window, each with the given number of points;
// only the named gauges, if there are names.
func Gauges(a Archive, w Window, points int, names ...string) ([]*Gauge, error) {
	var out []*Gauge
	gauges := gauges
	if len(names) > 0 {
		gauges = slices.DeleteFunc(slices.Clone(gauges), func(g gauge) bool { return !slices.Contains(names, g.name) })
	}
	from, to, list := Covered(a, w)
	if len(list) == 0 {
		return nil, nil
	}
	from = max(from, w.From)
	if w.To != 0 {
		to = min(to, w.To)
	}
	w = Window{Hosts: w.Hosts, From: from, To: to}
	cores := Cores(a, w)
	first := make([]*Expr, len(gauges)) // the first expression of each that can be computed
	var known []*Expr
	for i := range gauges {
		if first[i] = compileGauge(a, withCores(gauges[i].exprs, cores)); first[i] != nil {
			known = append(known, first[i])
		}
	}
	r := newGaugeReader(a, w, points, known)
	courses := make([]*gaugeCourse, len(gauges))
	for i, e := range first {
		if e != nil {
			courses[i] = r.course(&gauges[i], e)
		}
	}
	if err := r.run(); err != nil {
		return nil, err
	}
	for i := range gauges {
		g, err := courses[i].finish(a)
		if g == nil && err == nil && (courses[i] == nil || courses[i].Count == 0 && !courses[i].silent) {
			g, err = measure(a, &gauges[i], w, cores, points)
		}
		if err != nil {
			return nil, err
		}
		if g != nil {
			out = append(out, g)
		}
	}
	return out, nil
}

// compileGauge returns the first of the expressions that can be computed.
func compileGauge(a Archive, exprs []string) *Expr {
	for _, text := range exprs {
		root, err := parse(text)
		known := err == nil
		if known {
			root.leaves(func(n *node) {
				d := a.Lookup(n.text)
				known = known && d != nil && d.Unsupported == ""
			})
		}
		if !known {
			continue // Most archives lack some; that is worth no message.
		}
		if e, err := Compile(a, nil, text); err == nil {
			return e
		}
	}
	return nil
}

// measure evaluates a gauge value by value.
func measure(a Archive, def *gauge, w Window, cores float64, points int) (*Gauge, error) {
	for _, text := range withCores(def.exprs, cores) {
		if e := compileGauge(a, []string{text}); e != nil {
			if g, err := measureExpr(a, def, e, w, points); g != nil || err != nil {
				return g, err
			}
		}
	}
	return nil, nil
}

// withCores adds the expressions with the number of processors put in, for archives that lack the
// metric.
func withCores(exprs []string, cores float64) []string {
	var out []string
	for _, text := range exprs {
		out = append(out, text)
		if known := strings.ReplaceAll(text, "hinv.ncpu", strconv.Itoa(int(cores))); known != text && cores > 0 {
			out = append(out, known)
		}
	}
	return out
}

// Cores returns how many processors the host of a window has: what was recorded last, also before
// the window; else what its archive says of the host; else what the processors' time amounts to;
// zero where none of these is known.
func Cores(a Archive, w Window) float64 {
	cores := 0.0
	_, _, list := Covered(a, w)
	before := w
	for _, info := range list {
		before.From = min(before.From, info.From) // It is read once, when an archive begins.
		if n, err := strconv.Atoi(info.Host.Label("cpus")); err == nil && n > 0 {
			cores = float64(n)
		}
	}
	for s := range a.Summarize(before.Selection("hinv.ncpu")) {
		if s.Count > 0 {
			cores = metric.Number(s.Metric.Type, s.Last.Bits)
		}
	}
	if cores > 0 {
		return cores
	}
	return coresByTime(a, w)
}

// idleTime and cpuTimes are all that processors do; they count each second once.
const idleTime = "kernel.all.cpu.idle"

var cpuTimes = []string{idleTime, "kernel.all.cpu.user", "kernel.all.cpu.sys", "kernel.all.cpu.nice", "kernel.all.cpu.wait.total",
	"kernel.all.cpu.irq.hard", "kernel.all.cpu.irq.soft", "kernel.all.cpu.steal"}

// coresByTime returns how many processors did what was recorded in a window: each does something,
// if only to be idle, at all times. It is zero where that was not recorded.
func coresByTime(a Archive, w Window) float64 {
	if a.Lookup(idleTime) == nil {
		return 0
	}
	gained, seconds := make(map[*store.ArchiveInfo]float64), make(map[*store.ArchiveInfo]float64)
	for s := range a.Summarize(w.Selection(cpuTimes...)) {
		if s.Instance != nil || s.Count < 2 || s.Increase < 0 {
			continue
		}
		gained[s.Archive] += float64(s.Increase * base(s.Metric.Units))
		if s.Metric.Name == idleTime {
			seconds[s.Archive] += float64(s.Last.Cont-s.First.Cont) / 1e9
		}
	}
	time, over := 0.0, 0.0
	for info, length := range seconds {
		time, over = time+gained[info], over+length
	}
	if over <= 0 {
		return 0
	}
	return math.Round(time / over)
}

// newGauge returns a gauge without values, and what to divide e's values by: 100 for percent.
func newGauge(def *gauge, e *Expr, points int) (g *Gauge, whole float64) {
	g = &Gauge{Name: def.name, Title: def.title, Expr: e.Text, Units: e.Units(), Share: def.share,
		Of: math.NaN(), Max: math.Inf(-1), Points: make([]float64, points), counts: make([]float64, points)}
	whole = 1
	if def.share {
		g.Units = metric.NoUnits
		if u := e.Units(); u == metric.Percent || u == metric.NoUnits && !e.root.t.share {
			whole = 100 // Old archives do not say that they are in percent.
		}
	}
	return g, whole
}

func measureExpr(a Archive, def *gauge, e *Expr, w Window, points int) (*Gauge, error) {
	g, whole := newGauge(def, e, points)
	r := Request{Window: w, Mode: Shown}
	if def.fullest {
		keep, err := fullestVolume(a, e, w)
		if err != nil || keep == nil {
			return nil, err
		}
		r.Instance = keep
	}
	if err := g.fill(readExpr(a, e, r), spacing{}, w, whole); err != nil {
		return nil, err
	}
	return g.finish(a, def, w)
}

// finish returns the finished gauge; nil where there is nothing to show.
func (g *Gauge) finish(a Archive, def *gauge, w Window) (*Gauge, error) {
	if g.Count == 0 || def.quiet && g.Max == 0 {
		return nil, nil
	}
	if g.Mean = g.total / g.seconds; g.seconds == 0 {
		g.Mean = g.plain / float64(g.Count)
	}
	for k := range g.Points {
		g.Points[k] /= g.counts[k]
	}
	return g, g.whole(a, def, w)
}

// width returns the length of the part of the window that one point covers.
func (g *Gauge) width(w Window) int64 {
	return max((w.To-w.From)/int64(max(len(g.Points), 1))+1, 1)
}

// fill adds the values of a window, as parts of the whole; before has the readings before them.
func (g *Gauge) fill(series func(func(*Series, error) bool), before spacing, w Window, whole float64) error {
	width := g.width(w)
	for s, err := range series {
		if err != nil {
			return err
		}
		if s.Instance != nil {
			g.Instance = s.Instance.Name
		}
		for i, wall := range s.Wall {
			weight := before.next(wall)
			if s.Miss != nil && s.Miss[i] != metric.Present {
				continue
			}
			x := math.Float64frombits(s.Bits[i])
			if s.Type != metric.F64 {
				x = metric.Number(s.Type, s.Bits[i])
			}
			g.value(wall, x/whole, weight, w, width)
		}
	}
	return nil
}

// value adds one value, which counts for weight seconds.
func (g *Gauge) value(wall int64, x, weight float64, w Window, width int64) {
	if x != x {
		return
	}
	if g.Share {
		x = min(x, 1) // The parts and the time of a reading are not read at one instant.
	}
	g.Count++
	g.total += float64(x * weight)
	g.seconds += weight
	g.plain += x
	if x > g.Max || x == g.Max && wall < g.MaxAt {
		g.Max, g.MaxAt = x, wall
	}
	if wall >= g.LastAt {
		g.Last, g.LastAt = x, wall
	}
	if k := int((wall - w.From) / width); k >= 0 && k < len(g.Points) {
		g.Points[k] += x
		g.counts[k]++
	}
}

// spacing computes how long each value of a series counts for: the time since the one before, but
// not that of a gap.
type spacing struct {
	wall int64
	gaps [2]int64 // the last two
}

// next returns for how many seconds the value at wall counts.
func (s *spacing) next(wall int64) float64 {
	gap, usual := wall-s.wall, max(s.gaps[0], s.gaps[1])
	if s.wall == 0 || gap < 0 {
		gap = 0
	} else {
		s.gaps = [2]int64{gap, s.gaps[0]}
	}
	s.wall = wall
	if usual > 0 && gap > missedTicks*usual {
		gap = usual
	}
	return float64(gap) / 1e9
}

// whole finds the amount that g is a part of.
func (g *Gauge) whole(a Archive, def *gauge, w Window) error {
	if e := compileGauge(a, def.of); e != nil {
		for s, err := range readExpr(a, e, Request{Window: Window{Hosts: w.Hosts, From: max(w.To-int64(2*lookback), w.From), To: w.To}, Mode: Shown}) {
			if err != nil {
				return err
			}
			for i := range s.Wall {
				if x := s.Value(i).Number(); x > 0 {
					f, err := s.Units.Factor(g.Units)
					if err == nil {
						g.Of = x * f
					}
				}
			}
		}
	}
	return nil
}

// readExpr evaluates e; where e is only a metric or its rate, it reads that directly.
func readExpr(a Archive, e *Expr, r Request) func(func(*Series, error) bool) {
	if n, ok := bare(e); ok {
		r.Metrics = []string{n.desc.Name}
		return Read(a, r)
	}
	return Evaluate(a, e, r)
}

// bare returns the metric, if e is nothing but that metric or its rate.
func bare(e *Expr) (*node, bool) {
	n := e.root
	if n.kind == callNode && n.text == "rate" && n.args[0].kind == metricNode && n.args[0].t.sem == metric.Counter {
		n = n.args[0]
	}
	return n, n.kind == metricNode && n.instance == nil && n.desc.Indom == metric.NoIndom && (n != e.root || n.t.sem != metric.Counter)
}

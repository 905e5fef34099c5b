package query

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"tachograph/sample/metric"
	"tachograph/store"
)

// A day of gauges is a million values, but only a mean, a maximum and some points of them are
// shown. Here they are worked out chunk by chunk. Summaries give the mean of the gauge over a
// chunk and an upper limit of its values there, so the values themselves are computed only where
// the maximum may lie. The result is the same except for the points of long windows: these cannot
// be finer than the chunks whose values were not computed.

// manyReadings is the number of readings, four and a half hours at one a second, from which on
// the points of a window need not be exact.
const manyReadings = 1 << 14

// gaugeCourse is a gauge that is being computed.
type gaugeCourse struct {
	*Gauge
	def   *gauge
	e     *Expr
	w     Window
	whole float64
	parts []*gaugePart
	// silent says that the gauge was zero throughout, and is therefore not shown.
	silent bool
}

// gaugePart is what a gauge did between two readings: in one chunk, together with the time since
// the chunk before; or, where summaries are not enough, in some time that is evaluated as usual.
type gaugePart struct {
	told           bool // summaries suffice; the rest is set only then
	from, to       int64
	before         store.Point // the last reading before from
	every          int64
	count          uint64
	mean, low, top float64 // over the time; low and top are the least and the most possible
	plain          float64 // mean of the values
	rows           []*leafRow
	fine           bool // the points need its values
	evaluated      bool
}

// leafRow is a series of a metric in a part.
type leafRow struct {
	n    *node
	s    *store.Summary
	prev *store.Summary
}

// seriesOf are the summaries of the series of a metric.
type seriesOf map[seriesID][]*store.Summary

// gaugeReader works out several gauges at once, so that the metrics they share are decoded only
// once.
type gaugeReader struct {
	a       Archive
	w       Window
	points  int
	breaks  breaks
	metrics map[string]seriesOf
	fixed   map[string][]*store.Run // values of discrete metrics, over the whole window
	courses []*gaugeCourse
	// setBack says that the wall clock was set back within the window. The times of chunks are by
	// that clock, so they then do not show what lies in a chunk.
	setBack bool
}

// newGaugeReader reads the summaries of the metrics of the expressions.
func newGaugeReader(a Archive, w Window, points int, exprs []*Expr) *gaugeReader {
	g := &gaugeReader{a: a, w: w, points: points, breaks: readBreaks(a, w), metrics: make(map[string]seriesOf), fixed: make(map[string][]*store.Run)}
	for e := range a.Events(w.From, w.To, metric.EventClockStep) {
		step, err := strconv.ParseFloat(e.Label("step"), 64)
		g.setBack = g.setBack || w.Wants(e.Archive.Host.ID) && (err != nil || step < 0)
	}
	var moving, held []string
	for _, e := range exprs {
		for _, name := range e.Metrics() {
			if d := a.Lookup(name); d.Sem == metric.Discrete {
				held = append(held, name)
			} else {
				moving = append(moving, name)
			}
		}
	}
	unique := func(list []string) []string { slices.Sort(list); return slices.Compact(list) }
	if moving = unique(moving); len(moving) > 0 {
		for s := range a.Summarize(w.Selection(moving...)) {
			of := g.metrics[s.Metric.Name]
			if of == nil {
				of = make(seriesOf)
				g.metrics[s.Metric.Name] = of
			}
			id := idOf(s.Archive, s.Metric, s.Instance)
			of[id] = append(of[id], s)
		}
	}
	if held = unique(held); len(held) > 0 {
		sel := w.Selection(held...)
		sel.Prior = true
		for run := range a.Select(sel) {
			if run.Metric.Type != metric.String {
				g.fixed[run.Metric.Name] = append(g.fixed[run.Metric.Name], copied(run))
			}
		}
	}
	return g
}

// copied returns a copy of a run that stays valid.
func copied(run *store.Run) *store.Run {
	out := *run
	out.Wall, out.Cont, out.Bits, out.Miss = slices.Clone(run.Wall), slices.Clone(run.Cont), slices.Clone(run.Bits), slices.Clone(run.Miss)
	return &out
}

// course prepares a gauge. It returns nil where summaries cannot give it.
func (g *gaugeReader) course(def *gauge, e *Expr) *gaugeCourse {
	if def.fullest || e.Desc != nil {
		return nil
	}
	c := &gaugeCourse{def: def, e: e, w: g.w}
	c.Gauge, c.whole = newGauge(def, e, g.points)
	if !g.divide(c) {
		return nil
	}
	g.courses = append(g.courses, c)
	return c
}

// finish returns the finished gauge; nil where there is nothing to show.
func (c *gaugeCourse) finish(a Archive) (*Gauge, error) {
	if c == nil || c.silent {
		return nil, nil
	}
	return c.Gauge.finish(a, c.def, c.w)
}

// divide splits a gauge into parts. It reports whether summaries suffice for any of them.
func (g *gaugeReader) divide(c *gaugeCourse) bool {
	var leaves []*node
	c.e.root.leaves(func(n *node) {
		if n.desc.Sem != metric.Discrete {
			leaves = append(leaves, n)
		}
	})
	if len(leaves) == 0 {
		return false
	}
	type begin struct {
		archive *store.ArchiveInfo
		cont    int64
	}
	if g.setBack {
		return false
	}
	place := make(map[begin]*gaugePart)
	var untold []Window // times where the metrics do not fit together
	for i, n := range leaves {
		if n.desc.Class != leaves[0].desc.Class {
			return false
		}
		for _, list := range g.metrics[n.desc.Name] {
			if n.instance != nil && !n.picks(list[0].Instance) {
				continue
			}
			var prev *store.Summary
			for _, s := range list {
				p := place[begin{s.Archive, s.First.Cont}]
				if p == nil && i == 0 {
					p = &gaugePart{told: true, from: s.First.Wall, to: s.Last.Wall, count: s.Count, every: interval(s.Archive, s.Metric.Class)}
					place[begin{s.Archive, s.First.Cont}] = p
					c.parts = append(c.parts, p)
				}
				if p == nil || p.to != s.Last.Wall || p.count != s.Count || prev == nil || !g.regular(prev, s) {
					untold = append(untold, Window{From: min(s.First.Wall, s.Last.Wall), To: max(s.First.Wall, s.Last.Wall)})
				} else {
					p.before = prev.Last
					p.rows = append(p.rows, &leafRow{n, s, prev})
				}
				prev = s
			}
		}
	}
	slices.SortStableFunc(c.parts, func(x, y *gaugePart) int { return cmp.Compare(x.from, y.from) })
	end, readings := int64(math.MinInt64), uint64(0)
	for _, p := range c.parts {
		readings += p.count
	}
	for _, p := range c.parts {
		if p.from <= end || p.to < p.from {
			return false // The clock was set back, by so little that no event says so.
		}
		end = p.to
		p.told = p.told && !slices.ContainsFunc(untold, func(w Window) bool { return w.From <= p.to && w.To >= p.from })
		p.told = p.told && len(p.rows) > 0 && g.tell(c, p)
		p.fine = g.points > 1 && (readings < manyReadings || p.to-p.from > 2*c.width(g.w))
	}
	return slices.ContainsFunc(c.parts, func(p *gaugePart) bool { return p.told })
}

// regular reports whether the readings of s follow those of prev without a gap, and nothing
// happened in between that needs more than summaries to judge.
func (g *gaugeReader) regular(prev, s *store.Summary) bool {
	every := interval(s.Archive, s.Metric.Class)
	if every == 0 || prev.Archive != s.Archive || s.Count < 2 || s.Missing > 0 || prev.Missing > 0 || s.Resets+s.Wraps > 0 {
		return false
	}
	off := func(from, to store.Point, n int64) bool {
		took := to.Cont - from.Cont
		return max(took-n*every, n*every-took) > every/2 || max(to.Wall-from.Wall-took, took-to.Wall+from.Wall) > every/100
	}
	if off(prev.Last, s.First, 1) || off(s.First, s.Last, int64(s.Count)-1) {
		return false
	}
	_, machine := between(g.breaks.of(s.Archive), prev.Last.Cont, s.Last.Cont)
	_, own := between(g.breaks.ofInstance(s.Archive, s.Metric.Indom, s.Instance), prev.Last.Cont, s.Last.Cont)
	if machine || own {
		return false
	}
	if s.Metric.Sem == metric.Counter {
		_, step := metric.Increase(s.Metric, prev.Last.Bits, s.First.Bits, float64(s.First.Cont-prev.Last.Cont)/1e9)
		return step == metric.Advanced && s.Min == s.First.Bits && s.Max == s.Last.Bits && !s.Metric.Clamped && prev.Max == prev.Last.Bits
	}
	return s.Sum-s.Sum == 0
}

// run evaluates the times for which summaries do not suffice, and the parts that may hold a
// maximum.
func (g *gaugeReader) run() error {
	type job struct {
		c *gaugeCourse
		p *gaugePart
	}
	var first, rest []job
	for _, c := range g.courses {
		if err := g.untold(c); err != nil {
			return err
		}
		var best *gaugePart
		for _, p := range c.parts {
			if p.told && (best == nil || p.top > best.top) {
				best = p
			}
		}
		if c.silent = c.def.quiet && best.top == 0 && (c.Max == 0 || c.Count == 0); c.silent {
			continue // There is nothing to show.
		}
		for _, p := range c.parts {
			switch {
			case !p.told:
			case p == best || p.fine || p == c.parts[len(c.parts)-1]:
				first = append(first, job{c, p})
			default:
				rest = append(rest, job{c, p})
			}
		}
	}
	for round, jobs := range [][]job{first, rest} {
		slices.SortStableFunc(jobs, func(x, y job) int { return cmp.Compare(x.p.from, y.p.from) })
		var now *glimpse
		for _, j := range jobs {
			if round > 0 && (j.p.top < j.c.Max || j.p.top == j.c.Max && j.p.from > j.c.MaxAt) {
				continue
			}
			if now == nil || now.from != j.p.from || now.to != j.p.to {
				now = &glimpse{g: g, from: j.p.from, to: j.p.to, runs: make(map[seriesID]*store.Run), read: make(map[string]bool)}
			}
			now.evaluate(j.c, j.p)
		}
	}
	for _, c := range g.courses {
		for _, p := range c.parts {
			if p.told && !p.evaluated && !c.silent {
				c.take(p)
			}
		}
	}
	return nil
}

// untold evaluates the times between the parts for which summaries suffice.
func (g *gaugeReader) untold(c *gaugeCourse) error {
	var last *gaugePart // the last part for which summaries suffice
	from := g.w.From
	evaluate := func(end int64) error {
		var before spacing
		if last != nil {
			before = spacing{wall: last.to, gaps: [2]int64{last.every, last.every}}
		}
		one := Request{Window: Window{Hosts: g.w.Hosts, From: from, To: end}, Mode: Shown}
		return c.fill(readExpr(g.a, c.e, one), before, c.w, c.whole)
	}
	for _, p := range c.parts {
		if !p.told {
			continue
		}
		if last == nil || p.before.Wall != last.to {
			if err := evaluate(p.from - 1); err != nil {
				return err
			}
		}
		last, from = p, p.to+1
	}
	if end := c.parts[len(c.parts)-1]; !end.told {
		return evaluate(g.w.To)
	}
	return nil
}

// take adds a part that was not evaluated, from its summaries.
func (c *gaugeCourse) take(p *gaugePart) {
	n := float64(p.count)
	seconds := float64(p.to-p.before.Wall) / 1e9
	c.Count += int(p.count)
	c.total += float64(p.mean * seconds)
	c.seconds += seconds
	c.plain += float64(p.plain * n)
	width := c.width(c.w)
	span := float64(p.to - p.before.Wall)
	for k := range c.Points {
		lo, hi := c.w.From+int64(k)*width, c.w.From+int64(k+1)*width
		if both := min(hi, p.to) - max(lo, p.before.Wall); both > 0 {
			share := float64(float64(both) / span * n)
			c.Points[k] += float64(p.plain * share)
			c.counts[k] += share
		}
	}
}

// A glimpse holds the values of the metrics of some gauges in one part.
type glimpse struct {
	g        *gaugeReader
	from, to int64
	runs     map[seriesID]*store.Run
	read     map[string]bool
}

// evaluate adds a part value by value.
func (v *glimpse) evaluate(c *gaugeCourse, p *gaugePart) {
	before := spacing{wall: p.before.Wall, gaps: [2]int64{p.every, p.every}}
	width := c.width(c.w)
	v.each(c, p, func(wall int64, x float64) { c.value(wall, x, before.next(wall), c.w, width) })
}

// each yields the values of a part, with the arithmetic of readExpr.
func (v *glimpse) each(c *gaugeCourse, p *gaugePart, yield func(wall int64, x float64)) {
	var names []string
	for _, r := range p.rows {
		if name := r.n.desc.Name; !v.read[name] {
			v.read[name] = true
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		for run := range v.g.a.Select(Window{Hosts: v.g.w.Hosts, From: v.from, To: v.to}.Selection(names...)) {
			v.runs[idOf(run.Archive, run.Metric, run.Instance)] = copied(run)
		}
	}
	p.evaluated = true
	var walls grid
	for _, r := range p.rows {
		run := v.run(r)
		if run == nil || uint64(len(run.Wall)) != p.count || run.Miss != nil {
			return // It is damaged.
		}
		walls = run.Wall
	}
	n, plain := bare(c.e)
	leaf := func(n *node, m mode) *vector {
		out := newVector()
		if n.desc.Sem == metric.Discrete {
			x, _ := v.g.constant(p, n.desc.Name)
			row := out.row("", nil, len(walls))
			for i := range row.vals {
				row.vals[i] = x
			}
			return out
		}
		for _, r := range p.rows {
			if r.n == n {
				v.values(out, r, m == asRate, plain)
			}
		}
		return out
	}
	var list *vector
	if plain {
		m := asValue
		if n.desc.Sem == metric.Counter {
			m = asRate
		}
		list = leaf(n, m)
	} else {
		list = c.e.root.eval(walls, asValue, leaf)
	}
	for _, key := range list.keys {
		for i, x := range list.rows[key].vals {
			yield(walls[i], x/c.whole)
		}
	}
}

func (v *glimpse) run(r *leafRow) *store.Run {
	return v.runs[idOf(r.s.Archive, r.s.Metric, r.s.Instance)]
}

// values puts the values of a series, or its rates, into a row; with shown, the rates are in the
// units in which they are shown.
func (v *glimpse) values(out *vector, r *leafRow, rate, shown bool) {
	run, key := v.run(r), ""
	if run.Instance != nil {
		key = run.Instance.Key
	}
	row := out.row(key, run.Instance, len(run.Wall))
	if !rate {
		for i, bits := range run.Bits {
			row.vals[i] = metric.Number(run.Metric.Type, bits)
		}
		return
	}
	_, factor := RateUnits(run.Metric.Units)
	back := 1.0
	if !shown {
		back = 1 / factor
	}
	prev, cont := r.prev.Last.Bits, r.prev.Last.Cont
	var debt metric.Debt
	for i, bits := range run.Bits {
		seconds := float64(run.Cont[i]-cont) / 1e9
		inc, step := metric.Increase(run.Metric, prev, bits, seconds)
		row.vals[i] = debt.Pay(inc, step) / seconds * factor * back
		prev, cont = bits, run.Cont[i]
	}
}

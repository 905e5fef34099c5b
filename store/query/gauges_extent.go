package query

import (
	"math"

	"tachograph/sample/metric"
)

// extent is the range and the mean of an expression in a part.
type extent struct{ mean, plain, low, high float64 }

// tell computes a part from its summaries. It reports whether they suffice.
func (g *gaugeReader) tell(c *gaugeCourse, p *gaugePart) bool {
	x, ok := g.extent(p, c.e.root, asValue)
	if !ok || len(x) != 1 || x[0].mean != x[0].mean {
		return false
	}
	p.mean, p.plain, p.low, p.top = x[0].mean/c.whole, x[0].plain/c.whole, x[0].low/c.whole, x[0].high/c.whole
	return true
}

// extent returns the extent of n for each instance; it fails for expressions that summaries do
// not suffice for.
func (g *gaugeReader) extent(p *gaugePart, n *node, m mode) ([]extent, bool) {
	switch {
	case n.kind == numberNode && m == asValue:
		return []extent{{n.value, n.value, n.value, n.value}}, true
	case n.kind == metricNode:
		return g.leafExtent(p, n, m)
	case n.kind == callNode && n.text == "rate" && m == asValue:
		list, ok := g.extent(p, n.args[0], asRate)
		for i, x := range list {
			list[i] = extent{x.mean * n.scale, x.plain * n.scale, x.low * n.scale, x.high * n.scale}
		}
		return list, ok && n.scale > 0
	case n.kind == callNode && n.text == "max":
		list, ok := g.extent(p, n.args[0], m)
		if !ok || len(list) == 0 {
			return nil, false
		}
		return highest(list)
	case n.kind == binaryNode && m == asValue:
		l, ok := g.extent(p, n.args[0], m)
		r, too := g.extent(p, n.args[1], m)
		if !ok || !too || len(l) != 1 || len(r) != 1 || n.scale < 0 {
			return nil, false
		}
		a, b, f := l[0], r[0], operation(n.text, n.scale)
		switch {
		case n.text == "+":
			return []extent{{f(a.mean, b.mean), f(a.plain, b.plain), f(a.low, b.low), f(a.high, b.high)}}, true
		case n.text == "-":
			return []extent{{f(a.mean, b.mean), f(a.plain, b.plain), f(a.low, b.high), f(a.high, b.low)}}, true
		case n.text == "/" && b.low == b.high && b.low > 0:
			return []extent{{f(a.mean, b.low), f(a.plain, b.low), f(a.low, b.low), f(a.high, b.low)}}, true
		}
	}
	return nil, false
}

// highest returns the largest of several, if the same one is the largest throughout.
func highest(list []extent) ([]extent, bool) {
	best := 0
	for i, x := range list {
		if x.high > list[best].high {
			best = i
		}
	}
	for i, x := range list {
		if i != best && x.high > list[best].low {
			return nil, false
		}
	}
	return list[best : best+1], true
}

// leafExtent returns the extents of the series of a metric.
func (g *gaugeReader) leafExtent(p *gaugePart, n *node, m mode) ([]extent, bool) {
	if n.desc.Sem == metric.Discrete {
		x, ok := g.constant(p, n.desc.Name)
		return []extent{{x, x, x, x}}, ok && m == asValue
	}
	var out []extent
	for _, r := range p.rows {
		if r.n != n {
			continue
		}
		s, prev := r.s, r.prev.Last
		since := float64(s.First.Cont-prev.Cont) / 1e9
		seconds := float64(s.Last.Cont-prev.Cont) / 1e9
		number := func(bits uint64) float64 { return metric.Number(s.Metric.Type, bits) }
		switch {
		case s.Metric.Sem == metric.Counter && m == asRate:
			inc, _ := metric.Increase(s.Metric, prev.Bits, s.First.Bits, since)
			mean := (s.Increase + inc) / seconds
			// The evaluation rounds more often than this.
			most := max(s.Steepest, inc/since) * (1 + 1e-9)
			out = append(out, extent{mean, mean, 0, most})
		case s.Metric.Sem == metric.Instant && m == asValue:
			mean := (s.Weighted + float64(number(s.First.Bits)*since)) / seconds
			out = append(out, extent{mean, s.Sum / float64(s.Count), number(s.Min), number(s.Max)})
		default:
			return nil, false
		}
	}
	return out, len(out) > 0
}

// constant returns the value of a metric that had the same value throughout.
func (g *gaugeReader) constant(p *gaugePart, name string) (x float64, ok bool) {
	known := false
	for _, run := range g.fixed[name] {
		if run.Instance != nil || run.Miss != nil {
			return 0, false
		}
		for i, bits := range run.Bits {
			y := metric.Number(run.Metric.Type, bits)
			if ok && y != x {
				return 0, false
			}
			x, ok = y, true
			known = known || run.Wall[i] <= p.from && run.Archive == p.rows[0].s.Archive
		}
	}
	return x, ok && known && !math.IsNaN(x)
}

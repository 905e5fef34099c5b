package live

import (
	"strings"

	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/query"
	"tachograph/store/recent"
)

// A computer computes metrics that are never recorded from those that are, as replay does from
// archives: at the ticks of their fastest operand. It keeps the last ticks of the operands.
type computer struct {
	want     func(name string) bool // nil: all
	recent   *recent.Archive
	descs    []*metric.Desc
	formulas []*formula // that can be computed
	known    *plan      // the plan that they were compiled for
}

// A formula is a metric that can be computed.
type formula struct {
	expr  *query.Expr
	class metric.Class // the class of the ticks that it is computed at
	group *metric.Group
}

// begin begins anew, with an archive of another host or boot.
func (c *computer) begin(info *archive.Info) {
	platform, ok := catalog.PlatformOf(&info.Host)
	if !ok {
		platform = catalog.Linux // an archive without a platform gets the formulas of Linux
	}
	operands := make(map[string]bool)
	all := make(map[string]*metric.Desc)
	for _, d := range catalog.Select(platform, func(d *metric.Desc) bool { return d.Formula != "" }) {
		all[d.Name] = d
	}
	var need func(d *metric.Desc)
	need = func(d *metric.Desc) {
		for _, name := range words(d.Formula) {
			if !operands[name] {
				operands[name] = true
				if below := all[name]; below != nil {
					need(below)
				}
			}
		}
	}
	c.descs, c.formulas, c.known = nil, nil, nil
	for _, d := range catalog.Select(platform, func(d *metric.Desc) bool { return d.Formula != "" }) {
		if c.want == nil || c.want(d.Name) {
			c.descs = append(c.descs, d)
			need(d)
		}
	}
	c.recent = recent.New(recent.Keep{Ticks: 3, NoEvents: true, Metric: func(d *metric.Desc) bool { return operands[d.Name] }})
	for _, d := range all {
		c.recent.Describe(d)
	}
}

// words returns what may be names in a formula.
func words(formula string) []string {
	return strings.FieldsFunc(formula, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '.'
	})
}

// compile finds what can be computed from the metrics of p.
func (c *computer) compile(p *plan, intervals *metric.Intervals) {
	if c.known == p {
		return
	}
	old := make(map[string]*formula)
	for _, f := range c.formulas {
		old[f.group.Name] = f
	}
	c.known, c.formulas = p, nil
	for _, d := range c.descs {
		e, err := query.Compile(c.recent, nil, d.Name)
		if err != nil {
			continue // its operands are not recorded
		}
		f := &formula{expr: e, class: metric.NumClasses}
		shown := *d
		shown.Type, shown.Indom, shown.Units = metric.F64, e.Indom(), e.Units()
		f.group = &metric.Group{Name: "computed " + d.Name, Indom: shown.Indom, Metrics: []*metric.Desc{&shown}}
		if was := old[f.group.Name]; was != nil && was.group.Same(f.group) {
			f.group = was.group
		}
		best := int64(0)
		for _, name := range e.Metrics() {
			w, ok := p.metrics[name]
			if !ok {
				continue
			}
			g := p.groups[w.place]
			every := int64(intervals[g.class])
			if g.group.Metrics[w.column].Sem == metric.Discrete {
				every = max(every, int64(metric.Once)/2)
			}
			if f.class == metric.NumClasses || every < best {
				f.class, best = g.class, every
			}
		}
		if f.class < metric.NumClasses {
			c.formulas = append(c.formulas, f)
		}
	}
}

// blocks returns what is computed at the last tick of a class.
func (c *computer) blocks(class metric.Class) []*metric.Block {
	at, from, to, ok := c.recent.Last(class)
	if !ok {
		return nil
	}
	var out []*metric.Block
	for _, f := range c.formulas {
		if f.class != class {
			continue
		}
		if b := c.evaluate(f, at, query.Window{From: from, To: to}); b != nil {
			out = append(out, b)
		}
	}
	return out
}

// evaluate computes f in the window of a tick; it returns nil if its operands have no values.
func (c *computer) evaluate(f *formula, at metric.Stamp, w query.Window) *metric.Block {
	b := &metric.Block{Group: f.group, At: at, Cols: make([]metric.Column, 1)}
	for s, err := range query.Evaluate(c.recent, f.expr, query.Request{Window: w, Mode: query.Raw}) {
		if err != nil || len(s.Wall) == 0 {
			continue
		}
		last := len(s.Wall) - 1
		b.At.Wall = s.Wall[last]
		b.Rows = append(b.Rows, s.Instance)
		b.Cols[0].Push(s.Value(last))
	}
	if len(b.Rows) == 0 {
		return nil
	}
	return b
}

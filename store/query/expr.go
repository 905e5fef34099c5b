package query

import (
	"math"

	"tachograph/sample/metric"
)

// Expr is an expression over metrics that has been checked against an archive.
type Expr struct {
	Text string
	// Desc is set where the expression is a metric of the catalogue that is computed when it is
	// read.
	Desc *metric.Desc
	root *node
}

// Vocabulary are the metrics that an expression may use: an Archive has some.
type Vocabulary interface {
	Metrics() []*metric.Desc
	Lookup(name string) *metric.Desc
}

// Compile parses and checks an expression. Errors point at the column.
func Compile(a Vocabulary, defs *Definitions, text string) (*Expr, error) {
	root, err := parse(text)
	if err != nil {
		return nil, err
	}
	c := &checker{text: text, archive: a, defs: defs}
	if err := c.check(root); err != nil {
		return nil, err
	}
	e := &Expr{Text: text, root: root}
	if len(e.Metrics()) == 0 {
		return nil, c.fail(1, "this is a number and needs no archive")
	}
	if d := a.Lookup(text); d != nil && d.Formula != "" {
		e.Desc = d
		if !d.Units.SameDimension(root.t.Units) && !root.t.bare {
			return nil, c.fail(1, "the formula of %s gives %s, but the metric is in %s", d.Name, unitWords(root.t.Units), unitWords(d.Units))
		}
	}
	return e, nil
}

// Condition reports whether e is a comparison.
func (e *Expr) Condition() bool { return e.root.t.truth }

// Counter reports whether the values of e only grow.
func (e *Expr) Counter() bool { return e.root.t.sem == metric.Counter && !e.root.t.truth }

// Units returns the units of e's values.
func (e *Expr) Units() metric.Units {
	if e.Desc != nil {
		return e.Desc.Units
	}
	return e.root.t.Units
}

// IsRate reports whether values are rates of counters.
func (e *Expr) IsRate() bool { return e.root.t.rate }

// Indom returns the instance domain of e's values.
func (e *Expr) Indom() string { return e.root.t.indom }

// Rate returns the rate of e, which is a counter.
func (e *Expr) Rate() *Expr {
	n := &node{kind: callNode, col: 1, text: "rate", args: []*node{e.root}, t: e.root.t}
	n.t.sem = metric.Instant
	n.t.Units, n.scale = RateUnits(e.root.t.Units)
	n.t.rate = true
	return &Expr{Text: e.Text, root: n}
}

// Metrics returns the names of the recorded metrics that e reads.
func (e *Expr) Metrics() []string {
	var out []string
	seen := make(map[string]bool)
	e.root.leaves(func(n *node) {
		if !seen[n.desc.Name] {
			seen[n.desc.Name] = true
			out = append(out, n.desc.Name)
		}
	})
	return out
}

func (n *node) leaves(visit func(*node)) {
	if n.kind == metricNode {
		visit(n)
	}
	for _, arg := range n.args {
		arg.leaves(visit)
	}
}

// grid holds the instants at which an expression is evaluated.
type grid []int64

// vector holds a value at each instant of a grid for each instance; NaN where there is none.
type vector struct {
	keys []string // instance keys, in order of appearance; one "" without indom
	rows map[string]*row
}

type row struct {
	in   *metric.Instance
	vals []float64
}

func newVector() *vector { return &vector{rows: make(map[string]*row)} }

func (v *vector) row(key string, in *metric.Instance, n int) *row {
	r := v.rows[key]
	if r == nil {
		r = &row{in: in, vals: make([]float64, n)}
		for i := range r.vals {
			r.vals[i] = math.NaN()
		}
		v.rows[key] = r
		v.keys = append(v.keys, key)
	}
	return r
}

// mode is how a metric below rate() or delta() is read.
type mode uint8

const (
	asValue mode = iota
	asRate
	asDelta
)

// eval computes n on the grid; leaf supplies the metrics' values.
func (n *node) eval(g grid, m mode, leaf func(*node, mode) *vector) *vector {
	switch n.kind {
	case metricNode:
		return leaf(n, m)
	case numberNode:
		v := newVector()
		x := n.value
		if m != asValue {
			x = 0 // A constant does not change.
		}
		r := v.row("", nil, len(g))
		for i := range r.vals {
			r.vals[i] = x
		}
		return v
	case unaryNode:
		return n.args[0].eval(g, m, leaf).each(func(x float64) float64 { return -x })
	case callNode:
		return n.evalCall(g, m, leaf)
	}
	// The constant factor of a rate stays as it is.
	lm, rm := m, m
	if n.text == "*" || n.text == "/" {
		if n.args[0].t.constant {
			lm = asValue
		}
		if n.args[1].t.constant {
			rm = asValue
		}
	}
	l, r := n.args[0].eval(g, lm, leaf), n.args[1].eval(g, rm, leaf)
	return combine(l, r, n.args[0].t.indom, n.args[1].t.indom, len(g), operation(n.text, n.scale))
}

func (v *vector) each(f func(float64) float64) *vector {
	out := newVector()
	for _, k := range v.keys {
		r := v.rows[k]
		o := out.row(k, r.in, len(r.vals))
		for i, x := range r.vals {
			o.vals[i] = f(x)
		}
	}
	return out
}

func (n *node) evalCall(g grid, m mode, leaf func(*node, mode) *vector) *vector {
	arg := n.args[0]
	switch n.text {
	case "rate":
		scale := n.scale
		return arg.eval(g, asRate, leaf).each(func(x float64) float64 { return x * scale })
	case "delta":
		return arg.eval(g, asDelta, leaf)
	case "abs":
		return arg.eval(g, m, leaf).each(math.Abs)
	}
	return totalsOf(n, arg.eval(g, m, leaf), len(g))
}

// combine applies f to the values of both operands, instance by instance; an operand without
// instances is combined with each instance of the other.
func combine(l, r *vector, lIndom, rIndom string, n int, f func(a, b float64) float64) *vector {
	out := newVector()
	outer := l
	if lIndom == metric.NoIndom && rIndom != metric.NoIndom {
		outer = r
	}
	for _, k := range outer.keys {
		lk, rk := k, k
		if lIndom == metric.NoIndom {
			lk = ""
		}
		if rIndom == metric.NoIndom {
			rk = ""
		}
		a, b := l.rows[lk], r.rows[rk]
		if a == nil || b == nil {
			continue
		}
		o := out.row(k, outer.rows[k].in, n)
		for i := range o.vals {
			o.vals[i] = f(a.vals[i], b.vals[i])
		}
	}
	return out
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// operation returns the arithmetic of an operator whose second operand is scaled first.
func operation(op string, scale float64) func(a, b float64) float64 {
	if scale == 0 {
		scale = 1
	}
	compare := func(holds func(a, b float64) bool) func(a, b float64) float64 {
		return func(a, b float64) float64 {
			if a != a || b != b {
				return math.NaN()
			}
			return truth(holds(a, b*scale))
		}
	}
	switch op {
	case "+":
		return func(a, b float64) float64 { return a + float64(b*scale) }
	case "-":
		return func(a, b float64) float64 { return a - float64(b*scale) }
	case "*":
		return func(a, b float64) float64 { return a * b * scale }
	case "/":
		return func(a, b float64) float64 {
			if b == 0 {
				return math.NaN()
			}
			return a / b * scale
		}
	case shareOp:
		return func(a, b float64) float64 {
			switch {
			case b != 0:
				return a / b * scale
			case a == 0:
				return 0
			}
			return math.NaN()
		}
	case ">":
		return compare(func(a, b float64) bool { return a > b })
	case "<":
		return compare(func(a, b float64) bool { return a < b })
	case ">=":
		return compare(func(a, b float64) bool { return a >= b })
	case "<=":
		return compare(func(a, b float64) bool { return a <= b })
	case "==":
		return compare(func(a, b float64) bool { return a == b })
	case "!=":
		return compare(func(a, b float64) bool { return a != b })
	case "&&", "and":
		return func(a, b float64) float64 {
			if a == 0 || b == 0 {
				return 0
			}
			return a * b
		}
	}
	return func(a, b float64) float64 {
		if a == 1 || b == 1 {
			return 1
		}
		return a + b
	}
}

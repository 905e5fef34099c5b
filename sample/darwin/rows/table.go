package rows

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// Row is a row of the catalog with its source text split up.
type Row struct {
	*metric.Desc
	// Question is the text before the colon, without the prefix that all rows of the source have
	// in common; Formula is the text after it.
	Question, Formula string
}

// Select returns the recorded metrics of an instance domain whose source text begins with
// prefix, sorted by name and without those about all processes together.
func Select(indom, prefix string) []Row {
	ds := catalog.SelectFrom(catalog.Darwin, prefix, func(d *metric.Desc) bool {
		return d.Indom == indom && d.Unsupported == "" && d.Formula == "" &&
			(indom != metric.NoIndom || d.Class != metric.Process && d.Class != metric.Costly)
	})
	rows := make([]Row, len(ds))
	for i, d := range ds {
		question, formula, ok := strings.Cut(d.Source[len(prefix):], ": ")
		if !ok {
			question, formula = "", question
		}
		rows[i] = Row{d, question, formula}
	}
	return rows
}

// Leaf is a word of a formula, and the question whose answer contains it.
type Leaf struct {
	Question, Word string
	// Metric is the first metric that uses the leaf.
	Metric *metric.Desc
}

// Value is a number from the kernel, or the reason why there is none.
type Value struct {
	Bits uint64
	Miss metric.Reason
}

// Answers gives the values of a table's leaves, by number, from the kernel's answers.
type Answers interface{ Leaf(i int) Value }

// Table is a group of metrics, each with its formula over the kernel's answers.
type Table struct {
	Group *metric.Group
	// Leaves are the words of all formulas, each once.
	Leaves []Leaf
	cols   []column // parallel to the group's metrics
}

type column struct {
	formulas []*node // one for all instances, or one for each
	leaves   []int
}

// New makes the table of some rows of one instance domain. instances is the fixed number of its
// instances, otherwise 0. An invalid formula is a mistake in the program and panics.
func New(group string, rows []Row, instances int, funcs map[string]Func) *Table {
	t := &Table{Group: &metric.Group{Name: group}}
	for _, r := range rows {
		t.Group.Indom = r.Indom
		t.Group.Metrics = append(t.Group.Metrics, r.Desc)
		t.cols = append(t.cols, t.column(r, instances, funcs))
	}
	return t
}

func (t *Table) column(r Row, instances int, funcs map[string]Func) (c column) {
	defer func() {
		if mistake := recover(); mistake != nil {
			panic(fmt.Sprintf("catalog: %s: source %q: %v", r.Name, r.Source, mistake))
		}
	}()
	p := parser{float: r.Type.Float(), funcs: funcs, leaf: func(word string) int {
		n := t.leaf(Leaf{r.Question, word, r.Desc})
		c.leaves = append(c.leaves, n)
		return n
	}}
	texts := strings.Split(r.Formula, "; ")
	if strings.Contains(r.Formula, "[i]") {
		texts = nil
		for i := range instances {
			texts = append(texts, strings.ReplaceAll(r.Formula, "[i]", "["+strconv.Itoa(i)+"]"))
		}
	}
	if len(texts) != 1 && len(texts) != max(instances, 1) {
		panic(fmt.Sprintf("%d formulas for %d instances", len(texts), instances))
	}
	for _, text := range texts {
		p.rest = text
		c.formulas = append(c.formulas, p.parse())
	}
	return c
}

// Totals returns the formulas inside a table whose leaves all have the form total(formula). Its
// columns are parallel to t's leaves. Callers add up their values over things that come and go.
func (t *Table) Totals() *Table {
	rows := make([]Row, len(t.Leaves))
	for i, l := range t.Leaves {
		of, ok := strings.CutPrefix(l.Word, "total(")
		if !ok {
			panic(fmt.Sprintf("catalog: %s: source %q: %s is no total", l.Metric.Name, l.Metric.Source, l.Word))
		}
		rows[i] = Row{l.Metric, l.Question, strings.TrimSuffix(of, ")")}
	}
	return New(t.Group.Name+" of each", rows, 0, nil)
}

// leaf returns the number of a leaf.
func (t *Table) leaf(x Leaf) int {
	for i, l := range t.Leaves {
		if l.Question == x.Question && l.Word == x.Word {
			return i
		}
	}
	t.Leaves = append(t.Leaves, x)
	return len(t.Leaves) - 1
}

// LeavesOf returns the numbers of a column's leaves.
func (t *Table) LeavesOf(col int) []int { return t.cols[col].leaves }

// Uses reports whether a column has a leaf for which is returns true.
func (t *Table) Uses(col int, is func(*Leaf) bool) bool {
	return slices.ContainsFunc(t.cols[col].leaves, func(i int) bool { return is(&t.Leaves[i]) })
}

// Wants reports whether a frame wants a column with such a leaf. Ask before an expensive call.
func (t *Table) Wants(f *sample.Frame, is func(*Leaf) bool) bool {
	for col := range t.cols {
		if f.Wants(col) && t.Uses(col, is) {
			return true
		}
	}
	return false
}

// Lack marks the metrics with such a leaf as missing on this machine.
func (t *Table) Lack(why string, is func(*Leaf) bool) {
	for col, d := range t.Group.Metrics {
		if d.Unsupported == "" && t.Uses(col, is) {
			d.Unsupported = why
		}
	}
}

// Value computes a column for one of the instances; a floating point value is the bits of a
// float64. A counter with a width is cut to it, so that a sum of counters wraps where its parts
// do.
func (t *Table) Value(col, instance int, a Answers) Value {
	d, formulas := t.Group.Metrics[col], t.cols[col].formulas
	if len(formulas) == 1 {
		instance = 0
	}
	v := formulas[instance].value(a, d.Type.Float())
	if d.Sem == metric.Counter && d.Width > 0 && d.Width < 64 {
		v.Bits &= 1<<d.Width - 1
	}
	return v
}

// Fill sets the cells of a row of a frame that was made from the table's group, except for
// texts, which no formula computes.
func (t *Table) Fill(f *sample.Frame, row, instance int, a Answers) {
	for col, d := range t.Group.Metrics {
		if d.Type == metric.String || !f.Wants(col) {
			continue
		}
		switch v := t.Value(col, instance, a); {
		case v.Miss != metric.Present:
			f.SetMissing(row, col, v.Miss)
		case d.Type.Float():
			f.SetFloat(row, col, math.Float64frombits(v.Bits))
		default:
			f.SetUint(row, col, v.Bits)
		}
	}
}

// number converts an integer to the bits of the type that the formula is computed in. No
// unsigned number is so large that int64 would make it negative.
func number(v uint64, float bool) uint64 {
	if float {
		return math.Float64bits(float64(int64(v)))
	}
	return v
}

func (n *node) value(a Answers, float bool) Value {
	switch n.op {
	case opNumber:
		return Value{Bits: n.bits}
	case opLeaf:
		v := a.Leaf(n.leaf)
		v.Bits = number(v.Bits, float)
		return v
	}
	x := n.x.value(a, float)
	if n.op == opOr && x.Miss != metric.Present {
		return x.instead(n.y.value(a, float))
	}
	if n.op == opOr || x.Miss != metric.Present {
		return x
	}
	var y Value
	if n.y != nil {
		if y = n.y.value(a, float); y.Miss != metric.Present {
			return y
		}
	}
	bits, ok := uint64(0), true
	switch {
	case n.op == opCall:
		bits, ok = n.call(x.Bits, y.Bits)
	case float:
		var v float64
		v, ok = apply(n.op, math.Float64frombits(x.Bits), math.Float64frombits(y.Bits))
		bits = math.Float64bits(v)
	case n.op == '-':
		bits = x.Bits - min(x.Bits, y.Bits)
	default:
		bits, ok = apply(n.op, x.Bits, y.Bits)
	}
	switch {
	case ok:
		return Value{Bits: bits}
	case n.op == opCall:
		return Value{Miss: Implausible}
	}
	return Value{Miss: metric.Unsupported} // a share of nothing
}

// instead returns y as the replacement of an absent value. If both are absent, it prefers
// Implausible: that the machine has given an impossible number says more than that it has not
// given the other.
func (v Value) instead(y Value) Value {
	if v.Miss == Implausible && y.Miss != metric.Present {
		return v
	}
	return y
}

// Implausible is the reason for a value that a function rejects.
var Implausible = metric.ReasonFor("the machine gives a number that cannot be true")

func apply[N uint64 | float64](o op, x, y N) (N, bool) {
	switch {
	case o == '+':
		return x + y, true
	case o == '-':
		return x - y, true
	case o == '*':
		return x * y, true
	case y == 0:
		return 0, x == 0
	}
	return x / y, true
}

package query

import (
	"fmt"
	"slices"

	"tachograph/sample/metric"
)

// exprType is the type of a part of an expression, as the check finds it before any value is read.
type exprType struct {
	metric.Units
	// indom is the instance domain whose members have a value; NoIndom for a single value.
	indom    string
	sem      metric.Semantics
	constant bool // a number
	bare     bool // a number without a unit: takes any unit
	truth    bool // a comparison
	rate     bool // rate of a counter: a plain number is a utilisation
	share    bool // a plain number that is a part of something: percent goes with it
}

// checker resolves names and checks types and units.
type checker struct {
	text    string
	archive Vocabulary
	defs    *Definitions
	stack   []string // definitions being expanded
	// lifetime allows products and quotients of counters themselves, which the catalogue's
	// formulas mean.
	lifetime bool
}

func (c *checker) fail(col int, format string, args ...any) error {
	return &ExprError{Text: c.text, Column: col, Msg: fmt.Sprintf(format, args...)}
}

// check sets the types of n and its arguments; it replaces names of definitions by the
// definitions.
func (c *checker) check(n *node) error {
	if n.kind == metricNode {
		return c.name(n)
	}
	for _, arg := range n.args {
		if err := c.check(arg); err != nil {
			return err
		}
	}
	switch n.kind {
	case unaryNode:
		if n.args[0].t.truth {
			return c.fail(n.col, "a condition has no negative")
		}
		n.t = n.args[0].t
		if n.t.sem == metric.Counter && !n.t.constant {
			return c.fail(n.args[0].col, "%s is a counter and only grows: write rate(%s)", describe(n.args[0]), describe(n.args[0]))
		}
	case binaryNode:
		return c.binary(n)
	case compareNode:
		return c.comparison(n)
	case logicNode:
		for _, arg := range n.args {
			if !arg.t.truth {
				return c.fail(arg.col, "%s joins conditions; %s is a value", n.text, describe(arg))
			}
		}
		indom, err := c.match(n)
		n.t = exprType{indom: indom, truth: true, sem: metric.Instant}
		return err
	case callNode:
		return c.call(n)
	}
	return nil
}

func describe(n *node) string {
	switch n.kind {
	case metricNode, numberNode:
		return n.text
	case callNode:
		return n.text + "()"
	}
	return "this"
}

func (c *checker) name(n *node) error {
	if d := c.archive.Lookup(n.text); d != nil && d.Formula == "" {
		if d.Type == metric.String {
			return c.fail(n.col, "%s is text and cannot be computed with", n.text)
		}
		n.desc = d
		n.t = exprType{Units: d.Units, indom: d.Indom, sem: d.Sem}
		return c.instances(n)
	}
	text, ok := c.defs.lookup(c.archive, n.text)
	if !ok {
		return c.fail(n.col, "there is no metric %s%s", n.text, Suggest(n.text, names(c.archive, c.defs)))
	}
	if slices.Contains(c.stack, n.text) {
		return c.fail(n.col, "%s is defined by itself", n.text)
	}
	def, err := parse(text)
	if err == nil {
		inner := &checker{text: text, archive: c.archive, defs: c.defs, stack: append(slices.Clone(c.stack), n.text)}
		if d := c.archive.Lookup(n.text); d != nil && d.Formula == text {
			inner.lifetime = true
		}
		err = inner.check(def)
	}
	if err != nil {
		return fmt.Errorf("in the definition of %s: %w", n.text, err)
	}
	instance := n.instance
	*n = node{kind: def.kind, col: n.col, text: def.text, value: def.value, instance: def.instance,
		desc: def.desc, args: def.args, by: def.by, t: def.t, scale: def.scale}
	if instance != nil {
		return c.fail(n.col, "a derived metric takes no [instance]; give it in the definition")
	}
	return nil
}

// instances checks that a metric restricted to instances has instances.
func (c *checker) instances(n *node) error {
	if n.instance != nil && n.t.indom == metric.NoIndom {
		return c.fail(n.col, "%s has no instances to choose from", n.text)
	}
	return nil
}

// linear refuses counters as operands where only their rates make sense.
func (c *checker) linear(n *node) error {
	if c.lifetime {
		return nil
	}
	for _, arg := range n.args {
		if arg.t.sem == metric.Counter && !arg.t.constant && !arg.t.truth {
			return c.fail(arg.col, "%s counts since the machine booted: write rate(%s), or delta() for what one interval added", describe(arg), describe(arg))
		}
	}
	return nil
}

func (c *checker) binary(n *node) error {
	l, r := n.args[0], n.args[1]
	for _, arg := range n.args {
		if arg.t.truth {
			return c.fail(arg.col, "a condition is no number")
		}
	}
	indom, err := c.match(n)
	if err != nil {
		return err
	}
	n.t = exprType{indom: indom, constant: l.t.constant && r.t.constant, sem: l.t.sem}
	if l.t.constant {
		n.t.sem = r.t.sem
	}
	if n.text == "+" || n.text == "-" {
		if n.t.Units, n.scale, err = c.alike(n); err != nil {
			return err
		}
		if !n.t.constant && l.t.sem != r.t.sem && (l.t.sem == metric.Counter || r.t.sem == metric.Counter) {
			if err := c.linear(n); err != nil {
				return err
			}
		}
		n.t.bare = l.t.bare && r.t.bare
		n.t.rate = l.t.rate || r.t.rate
		n.t.share = n.t.Units == metric.NoUnits && (l.t.share || r.t.share || n.t.constant && !n.t.bare)
		if n.t.sem == metric.Discrete && !r.t.constant {
			n.t.sem = r.t.sem
		}
		return nil
	}
	counterTimesNumber := r.t.constant || l.t.constant && n.text == "*"
	if !counterTimesNumber {
		if err := c.linear(n); err != nil {
			return err
		}
		n.t.sem = metric.Instant
	}
	sign := int8(1)
	if n.text == "/" {
		sign = -1
	}
	lu, ru, part := l.t.Units, r.t.Units, 1.0
	switch {
	case n.text == "*" && r.t.constant && ru == metric.Percent: // a part of the left
		ru, part = metric.NoUnits, 0.01
	case n.text == "*" && l.t.constant && lu == metric.Percent:
		lu, part = metric.NoUnits, 0.01
	}
	if n.t.Units, n.scale, err = multiply(lu, ru, sign); err != nil {
		return c.fail(n.col, "%v", err)
	}
	n.scale *= part
	n.t.bare = l.t.bare && r.t.bare
	n.t.rate = counterTimesNumber && (l.t.rate || r.t.rate)
	n.t.share = n.t.Units == metric.NoUnits && !n.t.bare && (n.text == "/" || n.t.constant || l.t.share || r.t.share)
	if n.text == "/" && c.lifetime && !changes(n) {
		n.text = shareOp
	}
	return nil
}

// shareOp is the division in a formula of the catalogue over levels: nothing of nothing is 0
// there, as the share of swap in use is on a machine without swap. Over changes it stays absent:
// without requests there is no mean wait.
const shareOp = "share"

// changes reports whether n reads what something gained.
func changes(n *node) bool {
	return n.kind == callNode && (n.text == "rate" || n.text == "delta") || slices.ContainsFunc(n.args, changes)
}

// alike returns the units of both operands of n, and the factor for the second one. A number
// without a unit takes the unit of the other operand.
func (c *checker) alike(n *node) (metric.Units, float64, error) {
	l, r := n.args[0].t, n.args[1].t
	switch {
	case l.bare && r.constant && r.Units == metric.Percent:
		return metric.NoUnits, 0.01, nil // 1 - 20%
	case l.constant && l.Units == metric.Percent && r.bare:
		return l.Units, 100, nil
	case l.bare:
		return r.Units, 1, nil
	case r.bare:
		return l.Units, 1, nil
	}
	if err := c.percent(n, l, r); err != nil {
		return l.Units, 0, err
	}
	f, err := r.Units.Factor(l.Units)
	if err != nil {
		return l.Units, 0, c.fail(n.col, "%s on the left and %s on the right of %s do not go together",
			unitWords(l.Units), unitWords(r.Units), n.text)
	}
	return l.Units, f, nil
}

// percent refuses to combine percent with a plain number that is not known to be a share of
// anything: 80% of a load is neither 0.8 nor 80.
func (c *checker) percent(n *node, l, r exprType) error {
	for i, t := range [2]exprType{l, r} {
		if other := [2]exprType{r, l}[i]; t.Units == metric.NoUnits && !t.share && other.Units == metric.Percent {
			return c.fail(n.col, "%s is a plain number and no share of anything: percent does not go with it; compare with a number, or divide it by what it is a part of", describe(n.args[i]))
		}
	}
	return nil
}

func unitWords(u metric.Units) string {
	if s := u.String(); s != "" {
		return s
	}
	return "a plain number"
}

// match returns the instance domain of operands that are combined: both have the same, or one of
// them has a single value.
func (c *checker) match(n *node) (string, error) {
	l, r := n.args[0].t.indom, n.args[1].t.indom
	switch {
	case l == r || r == metric.NoIndom:
		return l, nil
	case l == metric.NoIndom:
		return r, nil
	}
	return "", c.fail(n.col, "%s on the left and %s on the right of %s have no instances in common; bring one side together with sum(), avg(), min() or max()", l, r, n.text)
}

func (c *checker) comparison(n *node) error {
	for i, arg := range n.args {
		if arg.t.truth {
			return c.fail(n.col, "a condition cannot be compared; join conditions with && or ||")
		}
		if arg.t.sem == metric.Counter && !arg.t.constant {
			// People look at the rate of a counter.
			wrapped := &node{kind: callNode, col: arg.col, text: "rate", args: []*node{arg}}
			if err := c.call(wrapped); err != nil {
				return err
			}
			n.args[i] = wrapped
		}
	}
	indom, err := c.match(n)
	if err != nil {
		return err
	}
	_, n.scale, err = c.alike(n)
	n.t = exprType{indom: indom, truth: true, sem: metric.Instant}
	return err
}

func (c *checker) call(n *node) error {
	arg := n.args[0]
	if arg.t.truth && n.text != "count" && n.text != "sum" {
		return c.fail(arg.col, "%s() takes a value, not a condition", n.text)
	}
	if arg.t.constant {
		return c.fail(arg.col, "%s() of a number says nothing", n.text)
	}
	n.t = arg.t
	switch n.text {
	case "rate", "delta":
		if !linearTree(arg) {
			return c.fail(n.col, "%s() takes a metric, or sums and multiples of metrics", n.text)
		}
		counter := arg.t.sem == metric.Counter
		n.t.sem = metric.Instant
		if n.text == "rate" {
			n.t.Units, n.scale = RateUnits(arg.t.Units)
			n.t.rate = counter
			n.t.share = arg.t.Units != metric.NoUnits && n.t.Units == metric.NoUnits
		} else {
			n.scale = 1
		}
	case "abs":
		if arg.t.sem == metric.Counter {
			return c.linear(n)
		}
	default:
		if arg.t.indom == metric.NoIndom {
			return c.fail(arg.col, "%s has one value only: there is nothing to bring together", describe(arg))
		}
		n.t.indom = n.by // "" is metric.NoIndom
		if n.by != "" && arg.t.indom != "process" {
			return c.fail(arg.col, "%s has one value for each %s: only processes can be grouped by %s", describe(arg), arg.t.indom, n.by)
		}
		if arg.t.sem == metric.Counter && n.text != "sum" && n.text != "count" {
			return c.linear(n)
		}
		if n.text == "count" || arg.t.truth {
			n.t = exprType{indom: n.by, sem: metric.Instant, Units: metric.NoUnits}
		}
	}
	return nil
}

// linearTree reports whether the rate of n is n applied to the rates of its metrics.
func linearTree(n *node) bool {
	switch n.kind {
	case metricNode:
		return true
	case unaryNode:
		return linearTree(n.args[0])
	case binaryNode:
		l, r := n.args[0], n.args[1]
		if n.text == "*" || n.text == "/" {
			return r.t.constant && linearTree(l) || n.text == "*" && l.t.constant && linearTree(r)
		}
		return (l.t.constant || linearTree(l)) && (r.t.constant || linearTree(r))
	case callNode:
		return (n.text == "sum" || n.text == "avg") && linearTree(n.args[0])
	}
	return false
}

// multiply returns the units of a product (sign 1) or quotient (sign -1) and the factor that
// converts the result to them.
func multiply(l, r metric.Units, sign int8) (metric.Units, float64, error) {
	// Percent of a plain number stay percent; percent of anything else are applied as a factor.
	percent, scale := "", 1.0
	left, lf := l.Plain()
	right, rf := r.Plain()
	switch {
	case l == metric.Percent && right == metric.NoUnits && sign > 0, l == metric.Percent && r == metric.NoUnits:
		percent, scale = l.Other, rf
	case l == metric.NoUnits && r == metric.Percent && sign > 0:
		percent = r.Other
	case sign > 0:
		scale = lf * rf
	default:
		scale = lf / rf
	}
	u, f, err := multiplyPlain(left, right, sign)
	u.Other += percent
	return u, f * scale, err
}

func multiplyPlain(l, r metric.Units, sign int8) (metric.Units, float64, error) {
	u := l
	if r.Other != "" {
		switch {
		case l.Other == "" && sign > 0:
			u.Other = r.Other
		case l.Other == r.Other && sign < 0:
			u.Other = ""
		default:
			return u, 0, fmt.Errorf("%s and %s make no unit", unitWords(l), unitWords(r))
		}
	}
	// Where both have a dimension, the right one is converted to the left's scale.
	same := r
	join := func(le, re int8, ls, rs *int8, to *int8, scale *int8) {
		if le != 0 && re != 0 {
			*rs = *ls
		}
		*to = le + sign*re
		if le == 0 {
			*scale = *rs
		}
		if *to == 0 {
			*scale = 0
		}
	}
	join(l.Space, r.Space, &l.SpaceScale, &same.SpaceScale, &u.Space, &u.SpaceScale)
	join(l.Time, r.Time, &l.TimeScale, &same.TimeScale, &u.Time, &u.TimeScale)
	join(l.Count, r.Count, &l.CountScale, &same.CountScale, &u.Count, &u.CountScale)
	f, err := r.Factor(same)
	if err != nil {
		return u, 0, err
	}
	if sign < 0 {
		f = 1 / f
	}
	return u, f, nil
}

package query

import (
	"maps"
	"slices"
	"strings"

	"tachograph/sample/metric"
)

// node is a part of an expression.
type node struct {
	kind     nodeKind
	col      int
	text     string // name, operator or function
	value    float64
	instance *Pattern // restricts a metric
	desc     *metric.Desc
	args     []*node
	by       string // of a function that aggregates: the kind of groups, see grouper
	t        exprType
	scale    float64 // factor that the second operand is multiplied by first
}

type nodeKind uint8

const (
	numberNode nodeKind = iota
	metricNode
	unaryNode
	binaryNode
	compareNode
	logicNode
	callNode
)

// functions says for each function whether it aggregates instances.
var functions = map[string]bool{
	"rate": false, "delta": false, "abs": false,
	"sum": true, "avg": true, "min": true, "max": true, "count": true,
}

type parser struct {
	lexer
	tok   token
	depth int
}

// maxDepth bounds how deeply an expression may nest.
const maxDepth = 100

func parse(text string) (*node, error) {
	p := &parser{lexer: lexer{text: text}}
	if err := p.advance(); err != nil {
		return nil, err
	}
	n, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.tok.kind != tokenEnd {
		return nil, p.fail(p.tok.col, "unexpected %q", p.tok.text)
	}
	return n, nil
}

func (p *parser) advance() (err error) {
	p.tok, err = p.next()
	return err
}

func (p *parser) op(ops ...string) (string, bool) {
	for _, o := range ops {
		if p.tok.kind == tokenOp && p.tok.text == o || p.tok.kind == tokenName && p.tok.text == o {
			return o, true
		}
	}
	return "", false
}

// level parses operands of one precedence, left to right.
func (p *parser) level(kind nodeKind, operand func() (*node, error), ops ...string) (*node, error) {
	left, err := operand()
	for err == nil {
		o, ok := p.op(ops...)
		if !ok {
			return left, nil
		}
		n := &node{kind: kind, col: p.tok.col, text: o}
		if err = p.advance(); err != nil {
			break
		}
		var right *node
		if right, err = operand(); err != nil {
			break
		}
		n.args = []*node{left, right}
		left = n
	}
	return nil, err
}

func (p *parser) or() (*node, error)  { return p.level(logicNode, p.and, "||", "or") }
func (p *parser) and() (*node, error) { return p.level(logicNode, p.compare, "&&", "and") }

func (p *parser) compare() (*node, error) {
	return p.level(compareNode, p.sum, ">", "<", ">=", "<=", "==", "!=")
}

func (p *parser) sum() (*node, error)  { return p.level(binaryNode, p.term, "+", "-") }
func (p *parser) term() (*node, error) { return p.level(binaryNode, p.unary, "*", "/") }

func (p *parser) unary() (*node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail(p.tok.col, "nested too deeply")
	}
	defer func() { p.depth-- }()
	if _, ok := p.op("-"); ok {
		n := &node{kind: unaryNode, col: p.tok.col, text: "-"}
		if err := p.advance(); err != nil {
			return nil, err
		}
		arg, err := p.unary()
		n.args = []*node{arg}
		return n, err
	}
	return p.primary()
}

func (p *parser) primary() (*node, error) {
	t := p.tok
	switch {
	case t.kind == tokenNumber:
		n := &node{kind: numberNode, col: t.col, text: t.text, value: t.value}
		n.t = exprType{Units: t.units, constant: true, bare: t.bare}
		return n, p.advance()
	case t.kind == tokenOp && t.text == "(":
		if err := p.advance(); err != nil {
			return nil, err
		}
		n, err := p.or()
		if err != nil {
			return nil, err
		}
		return n, p.closing(t)
	case t.kind == tokenName:
		if err := p.advance(); err != nil {
			return nil, err
		}
		if _, ok := p.op("("); ok {
			return p.call(t)
		}
		n := &node{kind: metricNode, col: t.col, text: t.text}
		if p.tok.kind != tokenInstance {
			return n, nil
		}
		var err error
		if n.instance, err = ParsePattern(p.tok.text); err != nil {
			return nil, p.fail(p.tok.col, "%v", err)
		}
		return n, p.advance()
	case t.kind == tokenEnd:
		return nil, p.fail(t.col, "the expression ends where a metric or a number should stand")
	}
	return nil, p.fail(t.col, "a metric or a number should stand here, not %q", t.text)
}

func (p *parser) call(name token) (*node, error) {
	if _, ok := functions[name.text]; !ok {
		return nil, p.fail(name.col, "no function %s%s", name.text, Suggest(name.text, Functions()))
	}
	open := p.tok
	if err := p.advance(); err != nil {
		return nil, err
	}
	if _, ok := p.op(")"); ok {
		return nil, p.fail(p.tok.col, "%s() needs an argument", name.text)
	}
	arg, err := p.or()
	if err != nil {
		return nil, err
	}
	if _, ok := p.op(","); ok {
		return nil, p.fail(p.tok.col, "%s() takes one argument", name.text)
	}
	n := &node{kind: callNode, col: name.col, text: name.text, args: []*node{arg}}
	if err := p.closing(open); err != nil {
		return nil, err
	}
	return n, p.by(n)
}

// by parses what the instances are grouped by: sum(proc.memory.rss) by app.
func (p *parser) by(n *node) error {
	if _, ok := p.op("by"); !ok {
		return nil
	}
	if !functions[n.text] {
		return p.fail(p.tok.col, "%s() brings nothing together that could be grouped: write sum(), avg(), min(), max() or count()", n.text)
	}
	if err := p.advance(); err != nil {
		return err
	}
	if p.tok.kind != tokenName || !slices.Contains(groupable, Grouping(p.tok.text)) {
		var list []string
		for _, g := range groupable {
			list = append(list, string(g))
		}
		return p.fail(p.tok.col, "by what: %s?%s", strings.Join(list, ", "), Suggest(p.tok.text, list))
	}
	n.by = p.tok.text
	return p.advance()
}

func (p *parser) closing(open token) error {
	if _, ok := p.op(")"); !ok {
		return p.fail(open.col, "( without )")
	}
	return p.advance()
}

// Functions returns the names of the functions of expressions.
func Functions() []string { return slices.Sorted(maps.Keys(functions)) }

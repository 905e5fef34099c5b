package rows

import (
	"fmt"
	"strconv"
	"strings"
)

// Func is a function that formulas may call by name, with one argument or two. It returns false
// for an absent value. Floating point arguments and results are passed as their bits.
type Func func(x, y uint64) (uint64, bool)

// node is a formula or a part of one.
type node struct {
	op   op
	x, y *node
	leaf int    // of opLeaf
	bits uint64 // of opNumber
	call Func   // of opCall
}

type op byte

const (
	opLeaf   op = 'v'
	opNumber op = 'n'
	opCall   op = 'f'
	opOr     op = '|'
)

// parser reads one formula.
type parser struct {
	rest  string
	float bool // numbers are floating point
	funcs map[string]Func
	leaf  func(word string) int
}

// parse parses a whole formula; mistakes panic with a description.
func (p *parser) parse() *node {
	n := p.binary(0)
	if p.skip(); p.rest != "" {
		panic(fmt.Sprintf("%q is left over", p.rest))
	}
	return n
}

// operators are the operators, from the loosest to the tightest binding.
var operators = [][]string{{"or"}, {"+", "-"}, {"*", "/"}}

func (p *parser) binary(level int) *node {
	if level == len(operators) {
		return p.operand()
	}
	x := p.binary(level + 1)
	for {
		p.skip()
		found := ""
		for _, o := range operators[level] {
			if strings.HasPrefix(p.rest, o+" ") {
				found = o
			}
		}
		if found == "" {
			return x
		}
		p.rest = p.rest[len(found):]
		x = &node{op: op(found[0]), x: x, y: p.binary(level + 1)}
		if found == "or" {
			x.op = opOr
		}
	}
}

func (p *parser) operand() *node {
	if p.accept("(") {
		n := p.binary(0)
		p.must(")")
		return n
	}
	word := p.word()
	if n, err := strconv.ParseInt(word, 10, 64); err == nil {
		return &node{op: opNumber, bits: number(uint64(n), p.float)}
	}
	if !strings.HasPrefix(p.rest, "(") {
		return &node{op: opLeaf, leaf: p.leaf(word)}
	}
	call := p.funcs[word]
	if call == nil {
		return &node{op: opLeaf, leaf: p.leaf(word + p.enclosed())}
	}
	p.must("(")
	n := &node{op: opCall, call: call, x: p.binary(0)}
	if p.accept(",") {
		n.y = p.binary(0)
	}
	p.must(")")
	return n
}

func (p *parser) skip() { p.rest = strings.TrimLeft(p.rest, " ") }

func (p *parser) accept(s string) bool {
	p.skip()
	rest, ok := strings.CutPrefix(p.rest, s)
	p.rest = rest
	return ok
}

func (p *parser) must(s string) {
	if !p.accept(s) {
		panic(fmt.Sprintf("%s is missing before %q", s, p.rest))
	}
}

// word takes the text up to a blank, a comma or a parenthesis, including what is in quotes,
// without the quotes.
func (p *parser) word() string {
	p.skip()
	var b strings.Builder
	for p.rest != "" && !strings.ContainsRune(" ,()", rune(p.rest[0])) {
		if p.rest[0] != '"' {
			b.WriteByte(p.rest[0])
			p.rest = p.rest[1:]
			continue
		}
		quoted, rest, ok := strings.Cut(p.rest[1:], `"`)
		if !ok {
			panic("a quote does not end")
		}
		b.WriteString(quoted)
		p.rest = rest
	}
	if b.Len() == 0 {
		panic(fmt.Sprintf("a value is missing before %q", p.rest))
	}
	return b.String()
}

// enclosed takes a text in parentheses, unchanged and with them.
func (p *parser) enclosed() string {
	depth, quoted := 0, false
	for i, c := range p.rest {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			depth--
		}
		if depth == 0 && !quoted {
			text := p.rest[:i+1]
			p.rest = p.rest[i+1:]
			return text
		}
	}
	panic("a parenthesis does not end")
}

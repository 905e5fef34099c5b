package stacks

import (
	"slices"
	"strconv"
	"strings"
)

// swift returns a name of Swift as its author wrote it, without types: "main.Foo.bar(baz:)". It
// knows the part of the mangling that functions, initialisers, accessors and closures of ordinary
// types use; of what it does not know all of, it returns false.
//
// A mangled name is a program for a stack: identifiers and types are pushed, operators take what
// they need and push what it makes. A name is understood if one entity is left at the end.
func swift(mangled string) (string, bool) {
	s := strings.TrimPrefix(mangled, "_")
	if !strings.HasPrefix(s, "$s") {
		return "", false
	}
	s, suffix, clone := strings.Cut(s[2:], ".")
	d := swiftReader{s: s}
	for d.s != "" && d.step() && len(d.stack) < maxSwift {
	}
	if d.s != "" || d.failed || len(d.stack) != 1 || d.stack[0].kind != entity {
		return "", false
	}
	if clone { // a compiler's copy or part of the function
		suffix = "." + suffix
	}
	return d.stack[0].text + suffix, true
}

// maxSwift bounds the stack; a symbol may repeat its types.
const maxSwift = 256

type swiftKind byte

const (
	identifier swiftKind = iota
	nominal              // a module or a type with a name
	other                // a type without one
	entity               // a function
	empty                // an empty list
	first                // the first element of a list
	effect               // throws, async
	generics
	requirement
)

// swiftNode is what is on the stack. Nodes whose text is "" can be no part of a name.
type swiftNode struct {
	kind swiftKind
	text string
	// elements of a tuple plus one, parameters of a function type plus one; 0 for other types.
	elements, parameters int
	class                bool
}

type swiftReader struct {
	s      string
	stack  []swiftNode
	words  []string // of identifiers, which later ones repeat
	failed bool
}

func (d *swiftReader) push(k swiftKind, text string) bool {
	d.stack = append(d.stack, swiftNode{kind: k, text: text})
	return true
}

// pop takes the last node if it is of one of these kinds.
func (d *swiftReader) pop(kinds ...swiftKind) (swiftNode, bool) {
	if len(d.stack) == 0 || !slices.Contains(kinds, d.stack[len(d.stack)-1].kind) {
		return swiftNode{}, false
	}
	n := d.stack[len(d.stack)-1]
	d.stack = d.stack[:len(d.stack)-1]
	return n, true
}

func (d *swiftReader) need(kinds ...swiftKind) swiftNode {
	n, ok := d.pop(kinds...)
	d.failed = d.failed || !ok
	return n
}

// within returns the name of something in the context that is on the stack; "" if the context can
// be no part of a name.
func (d *swiftReader) within(name string) string {
	c := d.need(identifier, nominal)
	if d.failed = d.failed || name == "" || len(c.text)+len(name) > maxSymbol; d.failed || c.text == "" {
		return ""
	}
	return c.text + "." + name
}

// function is within for what the symbol is about.
func (d *swiftReader) function(name string) string {
	text := d.within(name)
	d.failed = d.failed || text == ""
	return text
}

func (d *swiftReader) next() byte {
	if d.s == "" {
		return 0
	}
	c := d.s[0]
	d.s = d.s[1:]
	return c
}

func (d *swiftReader) take(prefix string) bool {
	rest, ok := strings.CutPrefix(d.s, prefix)
	d.s = rest
	return ok
}

// number reads a number; 0 if there is none.
func (d *swiftReader) number() int {
	i := 0
	for i < len(d.s) && d.s[i] >= '0' && d.s[i] <= '9' {
		i++
	}
	n, err := strconv.Atoi(d.s[:i])
	if err != nil {
		n = 0
	}
	d.s = d.s[i:]
	return n
}

// index reads "_" as 0, "0_" as 1.
func (d *swiftReader) index() int {
	n := 0
	if d.s != "" && d.s[0] != '_' {
		n = d.number() + 1
	}
	d.failed = d.failed || d.next() != '_'
	return n
}

// step does one operator. It returns false if it does not know it.
func (d *swiftReader) step() bool {
	if d.s[0] >= '0' && d.s[0] <= '9' {
		return d.identifier() && !d.failed
	}
	known := true
	switch c := d.next(); c {
	case 'V', 'C', 'O', 'P', 'a':
		name := d.within(d.need(identifier).text)
		d.stack = append(d.stack, swiftNode{kind: nominal, text: name, class: c == 'C'})
	case 'S':
		known = d.standard()
	case 's':
		d.push(nominal, "Swift")
	case 'A':
		known = d.substitution()
	case 'y':
		d.push(empty, "")
	case '_':
		d.push(first, "")
	case 't':
		d.tuple()
	case 'G':
		for _, typed := d.pop(nominal, other); typed; _, typed = d.pop(nominal, other) {
		}
		d.need(empty)
		d.stack = append(d.stack, d.need(nominal))
	case 'p':
		d.protocols()
	case 'z', 'n', 'h', 'd', 'm':
		d.need(nominal, other)
		d.push(other, "")
	case 'x':
		d.push(other, "")
	case 'q':
		d.index()
		d.push(other, "")
	case 'K':
		d.push(effect, "")
	case 'Y':
		known = d.take("a") || d.take("b")
		d.push(effect, "")
	case 'c':
		d.functionType()
	case 'X':
		known = d.take("E")
		d.functionType()
	case 'R':
		if !d.take("z") {
			d.index()
		}
		d.need(nominal)
		d.push(requirement, "")
	case 'r':
		d.index()
		known = strings.HasPrefix(d.s, "l")
	case 'l':
		for _, more := d.pop(requirement); more; _, more = d.pop(requirement) {
		}
		d.push(generics, "")
	case 'E':
		d.pop(generics)
		d.need(identifier, nominal) // the module of the extension
		d.stack = append(d.stack, d.need(nominal))
	case 'L':
		known = d.take("L")
		d.need(identifier) // tells files apart
		d.push(identifier, d.need(identifier).text)
	case 'F':
		d.pop(generics)
		d.functionType()
		labels := d.labels(d.need(other))
		d.push(entity, d.function(d.need(identifier).text)+labels)
	case 'f':
		known = d.special()
	case 'v':
		known = d.accessor()
	case 'Z':
		d.push(entity, d.spelled("static ", entity))
	case 'T':
		known = d.thunk()
	case 'M':
		known = d.take("a")
		d.push(entity, d.spelled("type metadata accessor for ", nominal))
	default:
		known = false
	}
	return known && !d.failed
}

// functionType makes a type of a result and parameters.
func (d *swiftReader) functionType() {
	for _, more := d.pop(effect); more; _, more = d.pop(effect) {
	}
	p := d.need(empty, nominal, other)
	n := 1
	if p.kind == empty {
		n = 0
	} else if p.elements > 0 {
		n = p.elements - 1
	}
	d.need(empty, nominal, other)
	d.stack = append(d.stack, swiftNode{kind: other, parameters: n + 1})
}

// labels takes the labels of a function's parameters.
func (d *swiftReader) labels(of swiftNode) string {
	n := max(of.parameters-1, 0)
	if _, none := d.pop(empty); none {
		return "(" + strings.Repeat("_:", n) + ")"
	}
	var labels []string
	for range n {
		l := d.need(identifier, first)
		if l.kind == first {
			l.text = "_"
		}
		labels = append(labels, l.text+":")
	}
	slices.Reverse(labels)
	return "(" + strings.Join(labels, "") + ")"
}

// special reads initialisers, deinitialisers and closures.
func (d *swiftReader) special() bool {
	switch d.next() {
	case 'C':
		return d.initialiser(true)
	case 'c':
		return d.initialiser(false)
	case 'D':
		return d.push(entity, d.function("__deallocating_deinit"))
	case 'd':
		return d.push(entity, d.function("deinit"))
	case 'U':
		return d.closure("closure #")
	case 'u':
		return d.closure("implicit closure #")
	}
	return false
}

func (d *swiftReader) initialiser(allocates bool) bool {
	d.pop(generics)
	of := d.need(other)
	if of.parameters == 0 {
		return false
	}
	labels, name := d.labels(of), "init"
	if allocates && len(d.stack) > 0 && d.stack[len(d.stack)-1].class {
		name = "__allocating_init"
	}
	return d.push(entity, d.function(name)+labels)
}

func (d *swiftReader) closure(name string) bool {
	n := d.index()
	d.pop(generics)
	d.need(other)
	return d.push(entity, d.spelled(name+strconv.Itoa(n+1)+" in ", entity))
}

var accessors = map[byte]string{'g': "getter", 's': "setter", 'M': "modify", 'r': "read", 'w': "willset", 'W': "didset"}

func (d *swiftReader) accessor() bool {
	name := accessors[d.next()]
	of := d.need(nominal, other)
	if name == "" || of.parameters > 0 {
		return false
	}
	return d.push(entity, d.function(d.need(identifier).text)+"."+name)
}

package stacks

import (
	"strconv"
	"strings"
)

// thunk reads what compilers make of a function: thunks, copies and pieces of it.
func (d *swiftReader) thunk() bool {
	about := ""
	switch c := d.next(); c {
	case 'o':
		about = "@objc "
	case 'm':
		about = "merged "
	case 'A':
		about = "partial apply for "
	case 'Y':
		about = "(" + strconv.Itoa(d.index()) + ") suspend resume partial function for "
	case 'Q':
		about = "(" + strconv.Itoa(d.index()) + ") await resume partial function for "
	case 'g', 'G', 'B': // for certain types
		if c := d.next(); c < '0' || c > '9' {
			return false
		}
		d.typeList()
		about = "specialized "
	case 'f': // for certain arguments
		rest, ok := argumentsChanged(d.s)
		if !ok {
			return false
		}
		d.s, about = rest, "specialized "
	default:
		return false
	}
	return d.push(entity, d.spelled(about, entity))
}

// spelled returns the name of the last node with something before it.
func (d *swiftReader) spelled(before string, of swiftKind) string {
	text := d.need(of).text
	d.failed = d.failed || text == "" || len(text) > maxSymbol
	return before + text
}

// typeList takes one or more types, the first of which is marked.
func (d *swiftReader) typeList() {
	for last := false; !last && !d.failed; {
		_, last = d.pop(first)
		d.need(nominal, other)
	}
}

// argumentsChanged reads which arguments a copy of a function takes in another way: the compiler's
// pass, a letter or two for each, and after "_" the result. What else can stand there, such as
// arguments that are constants, is not known.
func argumentsChanged(s string) (rest string, ok bool) {
	const letters = "ndgox"
	if s == "" || s[0] < '0' || s[0] > '9' {
		return s, false
	}
	s = strings.TrimLeft(s[1:], letters)
	s, ok = strings.CutPrefix(s, "_n")
	return s, ok
}

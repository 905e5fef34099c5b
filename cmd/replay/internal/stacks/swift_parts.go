package stacks

import "strings"

// identifier reads a name: its length and its text, or after a 0 words of earlier names as well.
func (d *swiftReader) identifier() bool {
	var name strings.Builder
	words := d.take("0")
	if words && strings.HasPrefix(d.s, "0") {
		return false // it is not of ASCII
	}
	for {
		for words && d.s != "" && letter(d.s[0]) {
			c := d.next()
			i := int(c | 0x20 - 'a')
			if i >= len(d.words) {
				return false
			}
			name.WriteString(d.words[i])
			words = c >= 'a'
		}
		if d.take("0") {
			break
		}
		n := d.number()
		if n == 0 || n > len(d.s) {
			return false
		}
		name.WriteString(d.s[:n])
		d.remember(d.s[:n])
		if d.s = d.s[n:]; !words {
			break
		}
	}
	return name.Len() <= maxName && d.push(identifier, name.String())
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func upper(c byte) bool  { return c >= 'A' && c <= 'Z' }

// remember keeps the words of a name: they begin with capitals or behind underscores.
func (d *swiftReader) remember(s string) {
	const most = 26
	start, before := -1, byte(0)
	for i := 0; i <= len(s); i++ {
		c := byte(0)
		if i < len(s) {
			c = s[i]
		}
		if start >= 0 && (c == '_' || c == 0 || upper(c) && !upper(before)) {
			if i-start >= 2 && len(d.words) < most {
				d.words = append(d.words, s[start:i])
			}
			start = -1
		}
		if start < 0 && c != 0 && c != '_' && (c < '0' || c > '9') {
			start = i
		}
		before = c
	}
}

// standardTypes are the types of Swift's library that have a letter.
var standardTypes = map[byte]string{
	'a': "Array", 'b': "Bool", 'D': "Dictionary", 'd': "Double", 'f': "Float", 'h': "Set", 'i': "Int", 'J': "Character",
	'N': "ClosedRange", 'n': "Range", 'O': "ObjectIdentifier", 'P': "UnsafePointer", 'p': "UnsafeMutablePointer", 'q': "Optional",
	'R': "UnsafeBufferPointer", 'r': "UnsafeMutableBufferPointer", 'S': "String", 's': "Substring", 'u': "UInt", 'V': "UnsafeRawPointer",
	'v': "UnsafeMutableRawPointer", 'W': "UnsafeRawBufferPointer", 'w': "UnsafeMutableRawBufferPointer",
	'B': "BinaryFloatingPoint", 'E': "Encodable", 'e': "Decodable", 'F': "FloatingPoint", 'G': "RandomNumberGenerator", 'H': "Hashable",
	'j': "Numeric", 'K': "BidirectionalCollection", 'k': "RandomAccessCollection", 'L': "Comparable", 'l': "Collection", 'M': "MutableCollection",
	'm': "RangeReplaceableCollection", 'Q': "Equatable", 'T': "Sequence", 't': "IteratorProtocol", 'X': "RangeExpression", 'x': "Strideable",
	'Y': "RawRepresentable", 'y': "StringProtocol", 'Z': "SignedInteger", 'z': "BinaryInteger", 'U': "UnsignedInteger", 'I': "DefaultIndices",
}

func (d *swiftReader) standard() bool {
	switch {
	case d.take("o"):
		return d.push(nominal, "__C")
	case d.take("g"): // an optional
		d.need(nominal, other)
		return d.push(other, "")
	}
	if d.take("c") { // of concurrency
		return letter(d.next()) && d.push(nominal, "")
	}
	n := max(d.number(), 1)
	name := standardTypes[d.next()]
	if name == "" || n > maxSwift {
		return false
	}
	for range n {
		d.push(nominal, "Swift."+name)
	}
	return true
}

// substitution reads references to earlier parts. It does not find out to which.
func (d *swiftReader) substitution() bool {
	for {
		n := max(d.number(), 1)
		c := d.next()
		if !letter(c) || len(d.stack)+n > maxSwift {
			return false
		}
		for range n {
			d.push(nominal, "")
		}
		if upper(c) {
			return true
		}
	}
}

func (d *swiftReader) tuple() {
	n := 0
	if _, none := d.pop(empty); !none {
		for last := false; !last && !d.failed; n++ {
			_, last = d.pop(first)
			d.pop(identifier)
			d.need(nominal, other)
		}
	}
	d.stack = append(d.stack, swiftNode{kind: other, elements: n + 1})
}

func (d *swiftReader) protocols() {
	if _, none := d.pop(empty); !none {
		d.typeList()
	}
	d.push(other, "")
}

package symbol

import (
	"encoding/binary"
	"sort"
)

// lines is the table in which Go's runtime looks up functions, files and lines: "pclntab", as
// written by Go 1.18 and later. debug/gosym reads it too, but makes a struct of each function
// at once, of as many as an untrusted file claims; here nothing is made, and lookups search the
// bytes.
type lines struct {
	data  []byte
	order binary.ByteOrder
	// text is the address of Go's first function; told is the table's own value for it, which
	// is 0 in position-independent programs and since Go 1.26.
	text, told uint64
	quantum    uint32
	functions  int
	record     uint64 // how long a function's record is before its further tables
	// Parts of data.
	names, units, files, values, table []byte
}

const (
	magicGo118 = 0xfffffff0
	magicGo120 = 0xfffffff1
	// maxSteps bounds the walk along a function's lines. The longest functions of real
	// programs, generated tables, have some ten thousands.
	maxSteps = 1 << 17
)

// readLines recognises such a table by its beginning; it returns nil for anything else.
func readLines(data []byte) *lines {
	if len(data) < 8 {
		return nil
	}
	l := &lines{data: data, quantum: uint32(data[6])}
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		switch order.Uint32(data) {
		case magicGo118:
			l.order, l.record = order, 40
		case magicGo120:
			l.order, l.record = order, 44 // It also has the line on which the function begins.
		}
	}
	size := int(data[7])
	if l.order == nil || size != 4 && size != 8 || len(data) < 8+8*size {
		return nil
	}
	word := func(i int) uint64 {
		if size == 4 {
			return uint64(l.order.Uint32(data[8+4*i:]))
		}
		return l.order.Uint64(data[8+8*i:])
	}
	part := func(i int) []byte { return data[min(word(i), uint64(len(data))):] }
	l.told = word(2)
	l.names, l.units, l.files, l.values, l.table = part(3), part(4), part(5), part(6), part(7)
	// The table has two words for each function, and then the end of the last one.
	n := word(0)
	if n == 0 || n > maxFunctions || uint64(len(l.table)) < 8*n+4 {
		return nil
	}
	l.functions = int(n)
	return l
}

// entry returns where function i begins, relative to the beginning of the code.
func (l *lines) entry(i int) uint64 { return uint64(l.order.Uint32(l.table[8*i:])) }

// u32 returns a number in b; false beyond its end.
func (l *lines) u32(b []byte, at uint64) (uint32, bool) {
	if at > uint64(len(b)) || uint64(len(b))-at < 4 {
		return 0, false
	}
	return l.order.Uint32(b[at:]), true
}

// The record of a function: its beginning, name, arguments, deferred return, then tables of stack
// depth, files and lines, their number and the unit that it was compiled in.
const nameField, depthField, fileField, lineField, tablesField, unitField = 4, 16, 20, 24, 28, 32

// function finds the function that contains an address: its record, and how far into it the
// address is.
func (l *lines) function(address uint64) (record, into uint64, ok bool) {
	at := address - l.text
	if address < l.text || at < l.entry(0) || at >= l.entry(l.functions) {
		return 0, 0, false
	}
	i := sort.Search(l.functions, func(i int) bool { return l.entry(i) > at }) - 1
	if i < 0 {
		return 0, 0, false // a table that is not sorted
	}
	return uint64(l.order.Uint32(l.table[8*i+4:])), at - l.entry(i), true
}

// field returns a field of a function's record; 0 beyond the end of the table.
func (l *lines) field(record, n uint64) uint32 {
	v, _ := l.u32(l.table, record+n)
	return v
}

func (l *lines) find(address uint64) (name, file string, line int, ok bool) {
	record, at, ok := l.function(address)
	if !ok {
		return "", "", 0, false
	}
	field := func(n uint64) uint32 { return l.field(record, n) }
	if name = text(l.names, uint64(field(nameField))); name == "" {
		return "", "", 0, false
	}
	into, ok := l.outer(record, field(tablesField), at)
	if !ok {
		return name, "", 0, true
	}
	if n, ok := l.value(field(fileField), into); ok {
		if off, ok := l.u32(l.units, 4*(uint64(field(unitField))+uint64(n))); ok && off != 1<<32-1 {
			file = text(l.files, uint64(off))
		}
	}
	if n, ok := l.value(field(lineField), into); ok && file != "" {
		line = int(n)
	}
	return name, file, line, true
}

// value returns the value that the table at off has for the place into bytes after the
// beginning of a function.
func (l *lines) value(off uint32, into uint64) (v uint32, ok bool) {
	found := l.walk(off, into, func(n int32, _, _ uint64) { v, ok = uint32(n), n >= 0 })
	return v, ok && found
}

// outer returns the last place up to into that belongs to the function itself: where another
// function was inlined, the tables have the file and line of that one, but the name is that of the
// function around it. record is where the function's record begins, tables how many further tables
// it has. ok is false if there is no such place.
func (l *lines) outer(record uint64, tables uint32, into uint64) (at uint64, ok bool) {
	const inlined = 2 // which of the further tables says where that is
	if tables <= inlined {
		return into, true
	}
	off, _ := l.u32(l.table, record+l.record+4*inlined)
	if off == 0 {
		return into, true
	}
	found := l.walk(off, into, func(v int32, from, to uint64) {
		if v < 0 {
			at, ok = min(into, to-1), true
		}
	})
	if !found {
		return into, true
	}
	return at, ok
}

// walk calls fn for each stretch of the table at off up to the place into bytes after the
// beginning of a function, with its value. It returns false if the table does not go that far. The
// table has pairs of a difference of values and a number of bytes.
func (l *lines) walk(off uint32, into uint64, fn func(v int32, from, to uint64)) bool {
	if off == 0 || uint64(off) >= uint64(len(l.values)) {
		return false
	}
	b := l.values[off:]
	v, pc := int32(-1), uint64(0)
	for step := range maxSteps {
		d, n := binary.Uvarint(b)
		if n <= 0 || d == 0 && step > 0 {
			return false
		}
		b = b[n:]
		p, n := binary.Uvarint(b)
		if n <= 0 {
			return false
		}
		b = b[n:]
		change := int32(uint32(d) >> 1)
		if d&1 != 0 {
			change = ^change
		}
		v += change
		from := pc
		if pc += uint64(uint32(p) * l.quantum); pc > from {
			fn(v, from, pc)
		}
		if into < pc {
			return true
		}
	}
	return false
}

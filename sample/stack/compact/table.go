package compact

import (
	"encoding/binary"
	"sort"
)

// Table is a section __unwind_info: an index of pages, each with the encodings of some
// functions.
type Table struct {
	b      []byte
	common []byte // encodings that all pages share
	index  []byte
}

// Encoding says how a function uses the stack; 0 says nothing about it.
type Encoding uint32

// Range is a range of code that one encoding is for, as offsets from the image's header. The
// linker joins neighbouring functions that have the same encoding.
type Range struct {
	From, To uint32
	Encoding Encoding
}

const (
	version      = 1
	headerSize   = 28
	indexSize    = 12
	regularPage  = 2
	compressed   = 3
	regularSize  = 8
	encodingSize = 4
)

var le = binary.LittleEndian

// Read reads the header of a table, and keeps its bytes.
func Read(b []byte) (*Table, bool) {
	if len(b) < headerSize || le.Uint32(b) != version {
		return nil, false
	}
	common, ok := array(b, le.Uint32(b[4:]), le.Uint32(b[8:]), encodingSize)
	index, there := array(b, le.Uint32(b[20:]), le.Uint32(b[24:]), indexSize)
	return &Table{b, common, index}, ok && there && len(index) > indexSize
}

// array returns n elements of a size at an offset.
func array(b []byte, at, n uint32, size uint64) ([]byte, bool) {
	end := uint64(at) + uint64(n)*size
	if end > uint64(len(b)) {
		return nil, false
	}
	return b[at:end], true
}

// last returns the index of the last of n ascending numbers that is not above offset, or -1.
func last(n int, offset uint32, number func(i int) uint32) int {
	return sort.Search(n, func(i int) bool { return number(i) > offset }) - 1
}

// Find returns the range that contains an offset from the image's header; false if the table
// says nothing about it. No table says nothing.
func (t *Table) Find(offset uint32) (r Range, ok bool) {
	if t == nil {
		return r, false
	}
	entries := len(t.index)/indexSize - 1 // the last one only says where the code ends
	i := last(entries, offset, func(i int) uint32 { return le.Uint32(t.index[i*indexSize:]) })
	if i < 0 {
		return r, false
	}
	entry := t.index[i*indexSize:]
	base, at, end := le.Uint32(entry), le.Uint32(entry[4:]), le.Uint32(entry[indexSize:])
	if at == 0 || uint64(at)+8 > uint64(len(t.b)) {
		return r, false
	}
	switch page := t.b[at:]; le.Uint32(page) {
	case regularPage:
		r, ok = regular(page, offset, end)
	case compressed:
		r, ok = t.compressed(page, offset, base, end)
	}
	return r, ok && r.Encoding != 0 && r.From <= offset && offset < r.To
}

func regular(page []byte, offset, end uint32) (r Range, ok bool) {
	list, ok := array(page, uint32(le.Uint16(page[4:])), uint32(le.Uint16(page[6:])), regularSize)
	n := len(list) / regularSize
	start := func(i int) uint32 { return le.Uint32(list[i*regularSize:]) }
	i := last(n, offset, start)
	if !ok || i < 0 {
		return r, false
	}
	if i+1 < n {
		end = start(i + 1)
	}
	return Range{start(i), end, Encoding(le.Uint32(list[i*regularSize+4:]))}, true
}

func (t *Table) compressed(page []byte, offset, base, end uint32) (r Range, ok bool) {
	if len(page) < 12 {
		return r, false
	}
	list, ok := array(page, uint32(le.Uint16(page[4:])), uint32(le.Uint16(page[6:])), 4)
	own, there := array(page, uint32(le.Uint16(page[8:])), uint32(le.Uint16(page[10:])), encodingSize)
	n := len(list) / 4
	start := func(i int) uint32 { return base + le.Uint32(list[i*4:])&0xffffff }
	i := last(n, offset, start)
	if !ok || !there || i < 0 {
		return r, false
	}
	if i+1 < n {
		end = start(i + 1)
	}
	from := t.common
	k := int(le.Uint32(list[i*4:]) >> 24)
	if n := len(t.common) / encodingSize; k >= n {
		from, k = own, k-n
	}
	if k >= len(from)/encodingSize {
		return r, false
	}
	return Range{start(i), end, Encoding(le.Uint32(from[k*encodingSize:]))}, true
}

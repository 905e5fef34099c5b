package macho

import (
	"encoding/binary"

	"tachograph/sample/stack/chain"
)

// Locals are the names of functions that the images of a shared cache do not export. They are in
// a file of their own beside the cache, with a table of the images that they belong to.
type Locals struct {
	nlist, strings uint64 // addresses
	count, size    uint32
	images         map[uint64]run // by the image's offset in the cache
}

// run is the symbols of one image.
type run struct{ first, count uint32 }

// ReadLocals reads the table at an address: where in the memory the file says that it is.
func ReadLocals(mem chain.Memory, at uint64) *Locals {
	const each = 16
	le := binary.LittleEndian
	var h [24]byte
	if !mem.Read(at, h[:]) {
		return nil
	}
	word := func(i int) uint64 { return uint64(le.Uint32(h[4*i:])) }
	l := &Locals{nlist: at + word(0), count: le.Uint32(h[4:]), strings: at + word(2), size: le.Uint32(h[12:]), images: make(map[uint64]run)}
	n := word(5)
	if n > MaxImages {
		return nil
	}
	b := make([]byte, n*each)
	if !mem.Read(at+word(4), b) {
		return nil
	}
	for ; len(b) > 0; b = b[each:] {
		l.images[le.Uint64(b)] = run{le.Uint32(b[8:]), le.Uint32(b[12:])}
	}
	return l
}

// Symbols reads the functions of the image with this header; offset is how far behind the
// beginning of the cache it lies. It returns nil if there are none, or not enough budget.
func (l *Locals) Symbols(mem chain.Memory, h *Header, offset uint64, budget *Budget) *Symbols {
	if l == nil {
		return nil
	}
	r := l.images[offset]
	if r.count == 0 || r.first > l.count || r.count > l.count-r.first {
		return nil
	}
	return h.readTable(mem, l.nlist+uint64(r.first)*nlistSize, r.count, l.strings, l.size, budget)
}

package macho

import (
	"encoding/binary"
	"slices"
	"strings"

	"tachograph/sample/stack/chain"
)

// Symbols are the functions of an image. Their names are left in memory and read one by one
// when needed: the images of the shared cache have one table of hundreds of megabytes in
// common.
type Symbols struct {
	defined []symbol // by offset
	starts  []uint32 // of all functions, also of those without a name; may be empty
	strings uint64   // address of the names
	size    uint32
}

// symbol is where a function begins in the text, and where its name begins.
type symbol struct{ offset, name uint32 }

// Budget is how much of an image's tables may still be read.
type Budget struct {
	Symbols int // and starts of functions
	Unwind  int // bytes
}

// Longest is the longest name that is accepted: names of templates are long.
const Longest = 4096

const (
	nlistSize = 16
	// a symbol defined in a section, not a note for a debugger
	typeMask, typeSection, debugMask = 0x0e, 0x0e, 0xe0
)

// redacted takes the place of names that were removed from the images of a shared cache.
const redacted = "<redacted>"

// ReadSymbols reads where the functions of an image begin, as far as the budget allows; it
// returns nil if it can read none.
func (h *Header) ReadSymbols(mem chain.Memory, budget *Budget) *Symbols {
	table, ok := h.inLinkedit(h.symbols, uint64(h.symbolCount)*nlistSize)
	names, there := h.inLinkedit(h.strings, uint64(h.stringsSize))
	if !ok || !there {
		return nil
	}
	return h.readTable(mem, table, h.symbolCount, names, h.stringsSize, budget)
}

// readTable reads n symbols at an address, whose names are at another.
func (h *Header) readTable(mem chain.Memory, table uint64, count uint32, names uint64, size uint32, budget *Budget) *Symbols {
	n := int(count)
	if n > budget.Symbols {
		return nil
	}
	budget.Symbols -= n
	s := &Symbols{strings: names, size: size}
	var b [nlistSize * 1024]byte
	for n > 0 {
		part := b[:min(n*nlistSize, len(b))]
		if !mem.Read(table, part) {
			return nil
		}
		table += uint64(len(part))
		n -= len(part) / nlistSize
		for ; len(part) > 0; part = part[nlistSize:] {
			s.take(part, h)
		}
	}
	slices.SortStableFunc(s.defined, func(a, b symbol) int { return int(int64(a.offset) - int64(b.offset)) })
	s.defined = slices.CompactFunc(s.defined, func(a, b symbol) bool { return a.offset == b.offset })
	s.readStarts(mem, h, budget)
	return s
}

func (s *Symbols) take(entry []byte, h *Header) {
	kind, at, value := binary.LittleEndian.Uint32(entry), entry[4], binary.LittleEndian.Uint64(entry[8:])
	offset := value + h.slide - h.Load
	if at&debugMask != 0 || at&typeMask != typeSection || kind == 0 || kind >= s.size || offset >= h.Size || offset>>32 != 0 {
		return
	}
	s.defined = append(s.defined, symbol{uint32(offset), kind})
}

// readStarts reads where functions begin: differences, encoded in bytes of seven bits.
func (s *Symbols) readStarts(mem chain.Memory, h *Header, budget *Budget) {
	length := uint64(h.startsLength)
	at, ok := h.inLinkedit(h.starts, length)
	if !ok || length > uint64(budget.Symbols) {
		return
	}
	b := make([]byte, length)
	if !mem.Read(at, b) {
		return
	}
	var last uint64
	for len(b) > 0 {
		by, n := binary.Uvarint(b)
		if n <= 0 || by == 0 || by > h.Size || last+by >= h.Size || (last+by)>>32 != 0 {
			break
		}
		last += by
		s.starts = append(s.starts, uint32(last))
		b = b[n:]
	}
	budget.Symbols -= len(s.starts)
}

// Function returns the start of the function that contains an offset, if known.
func (s *Symbols) Function(offset uint64) (start uint64, ok bool) {
	if s == nil || offset>>32 != 0 {
		return 0, false
	}
	if len(s.starts) > 0 {
		if i := before(s.starts, uint32(offset), func(v uint32) uint32 { return v }); i >= 0 {
			return uint64(s.starts[i]), true
		}
		return 0, false
	}
	if i := before(s.defined, uint32(offset), func(v symbol) uint32 { return v.offset }); i >= 0 {
		return uint64(s.defined[i].offset), true
	}
	return 0, false
}

// Name returns the name of the function that contains an offset; "" if that name was stripped.
// It never returns the name of the function before.
func (s *Symbols) Name(mem chain.Memory, offset uint64) string {
	start, ok := s.Function(offset)
	if !ok {
		return ""
	}
	i := before(s.defined, uint32(offset), func(v symbol) uint32 { return v.offset })
	if i < 0 || uint64(s.defined[i].offset) < start {
		return ""
	}
	text, ok := Text(mem, s.strings+uint64(s.defined[i].name), Longest)
	if !ok || text == redacted {
		return ""
	}
	return strings.TrimPrefix(text, "_") // all names of C have it here, those of Go do not
}

// before returns the index of the last element of list that is not above offset, or -1.
func before[T any](list []T, offset uint32, of func(T) uint32) int {
	i, found := slices.BinarySearchFunc(list, offset, func(v T, o uint32) int { return int(int64(of(v)) - int64(o)) })
	if found {
		return i
	}
	return i - 1
}

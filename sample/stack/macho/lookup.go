package macho

import (
	"bytes"
	"encoding/binary"

	"tachograph/sample/stack/chain"
)

// maxStrings bounds the names that are read of an image, maxSought the length of one that is
// looked for by name.
const (
	maxStrings = 16 << 20
	maxSought  = 256
)

// EachSymbol calls each with the functions and variables that the image defines, if their names
// are not very long, and without the underscore that all names of C have; false if they cannot
// be read. It is for images outside of the shared cache, whose names are all in one table.
func (h *Header) EachSymbol(mem chain.Memory, budget *Budget, each func(name string, address uint64)) bool {
	n := int(h.symbolCount)
	table, ok := h.inLinkedit(h.symbols, uint64(n)*nlistSize)
	at, there := h.inLinkedit(h.strings, uint64(h.stringsSize))
	if !ok || !there || n > budget.Symbols || h.stringsSize > maxStrings || h.Cache {
		return false
	}
	budget.Symbols -= n
	symbols, names := make([]byte, n*nlistSize), make([]byte, h.stringsSize)
	if !mem.Read(table, symbols) || !mem.Read(at, names) {
		return false
	}
	for ; len(symbols) > 0; symbols = symbols[nlistSize:] {
		kind, index := symbols[4], binary.LittleEndian.Uint32(symbols)
		if kind&debugMask != 0 || kind&typeMask != typeSection || index >= h.stringsSize {
			continue
		}
		text := names[index:]
		end := bytes.IndexByte(text[:min(len(text), maxSought)], 0)
		if end < 0 {
			continue
		}
		each(string(bytes.TrimPrefix(text[:end], []byte("_"))), binary.LittleEndian.Uint64(symbols[8:])+h.slide)
	}
	return true
}

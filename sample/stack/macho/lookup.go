package macho

import (
	"bytes"
	"encoding/binary"

	"tachograph/sample/stack/chain"
)

// maxStrings bounds the names that are read of an image.
const maxStrings = 16 << 20

// EachSymbol calls each with the functions and variables that the image defines, without the
// underscore that all names of C have; false if they cannot be read. It is for images outside of
// the shared cache, whose names are all in one table.
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
		text = text[:min(len(text), Longest)]
		if end := bytes.IndexByte(text, 0); end >= 0 {
			text = text[:end]
		}
		each(string(bytes.TrimPrefix(text, []byte("_"))), binary.LittleEndian.Uint64(symbols[8:])+h.slide)
	}
	return true
}

package mach

import (
	"time"

	"tachograph/sample/stack/macho"
)

// What a session may spend on function names. A symbol takes 8 bytes.
const (
	maxSymbols  = 1 << 20
	maxNames    = 1 << 16
	symbolsTime = 250 * time.Millisecond
)

// names finds function names, within the budget of a session.
type names struct {
	budget macho.Budget
	left   time.Duration
	known  map[symbolKey]string
}

type symbolKey struct {
	at    *image
	start uint64
}

func newNames() *names {
	return &names{budget: macho.Budget{Symbols: maxSymbols, Unwind: maxUnwind}, left: symbolsTime, known: make(map[symbolKey]string)}
}

// symbols returns the symbols of an image, reading them once; nil if there are none, or the
// budget is used up.
func (n *names) symbols(at *image) *macho.Symbols {
	if !at.sought {
		at.sought = true
		if n.left > 0 && at.mem != nil {
			begin := time.Now()
			h, ok := at.header, at.header.Size > 0
			if !ok {
				h, ok = macho.ReadHeader(at.mem, at.Base)
			}
			if ok {
				at.symbols = h.ReadSymbols(at.mem, &n.budget)
			}
			n.left -= time.Since(begin)
		}
	}
	return at.symbols
}

// of returns the name of the function that contains an address of an image.
func (n *names) of(at *image, addr uint64) string {
	symbols := n.symbols(at)
	start, ok := symbols.Function(addr - at.Base)
	if !ok {
		return ""
	}
	name, ok := n.known[symbolKey{at, start}]
	if !ok && len(n.known) < maxNames {
		name = printable(symbols.Name(at.mem, addr-at.Base))
		n.known[symbolKey{at, start}] = name
	}
	return name
}

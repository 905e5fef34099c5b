package python

import (
	"encoding/binary"
	"strings"
	"unicode/utf8"
)

// code is what is remembered of a function.
type code struct {
	// seen is what the memory had: if it has something else, another function is there now.
	seen       seen
	name, file string
	first      int
	table      []byte
	at         uint64 // the last place that was looked up, and its line
	found      int
}

// seen are the fields of a function by which it is recognised.
type seen struct {
	file, name, lines uint64
	first             uint32
}

// code returns the function whose code is at an address.
func (p *Interpreter) code(at uint64) (*code, error) {
	l := &p.layout
	var b [mostCode]byte
	if at == 0 || !p.mem.Read(at, b[:l.codeSize()]) {
		return nil, errTorn
	}
	word := func(offset uint64) uint64 { return binary.LittleEndian.Uint64(b[offset:]) }
	if kind := word(objectType); kind == 0 || kind != p.codeType && !p.isCode(kind) {
		return nil, errTorn
	}
	now := seen{file: word(l.file), name: word(l.qualified), lines: word(l.lines), first: binary.LittleEndian.Uint32(b[l.firstLine:])}
	if c := p.codes[at]; c != nil && c.seen == now {
		return c, nil
	}
	c := &code{seen: now, first: max(0, int(int32(now.first))), at: none}
	var ok bool
	if c.name, ok = p.string(now.name, maxName); !ok || c.name == "" {
		if c.name, ok = p.string(word(l.name), maxName); !ok {
			return nil, errTorn
		}
	}
	if c.file, ok = p.string(now.file, maxFile); !ok {
		return nil, errTorn
	}
	if c.table, ok = p.bytes(now.lines); !ok {
		return nil, errTorn
	}
	p.keep(at, c)
	return c, nil
}

// isCode reports whether a type is that of code, and remembers it.
func (p *Interpreter) isCode(kind uint64) bool {
	const want = "code\x00"
	name, ok := p.word(kind + typeName)
	var b [len(want)]byte
	if !ok || !p.mem.Read(name, b[:]) || string(b[:]) != want {
		return false
	}
	p.codeType = kind
	return true
}

func (p *Interpreter) keep(at uint64, c *code) {
	if old := p.codes[at]; old != nil {
		p.text -= old.size()
	}
	if p.text += c.size(); p.text > maxText || len(p.codes) >= maxCodes {
		clear(p.codes)
		p.text = c.size()
	}
	p.codes[at] = c
}

func (c *code) size() int { return len(c.name) + len(c.file) + len(c.table) }

// internal reports whether the function is one that the interpreter put between a class and its
// __init__: nobody wrote it.
func (c *code) internal() bool { return c.file == "__init__" && c.first <= 1 }

// Limits of texts, in characters, and of a table of lines, in bytes.
const (
	maxName  = 512
	maxFile  = 4 << 10
	maxTable = 1 << 20
)

// bytes reads an object of type bytes; one that is longer than allowed is empty.
func (p *Interpreter) bytes(at uint64) ([]byte, bool) {
	n, ok := p.word(at + bytesSize)
	if at == 0 || !ok {
		return nil, false
	}
	if n > maxTable {
		return nil, true
	}
	b := make([]byte, n)
	return b, n == 0 || p.mem.Read(at+bytesData, b)
}

// string reads a string, or the beginning of a longer one, without control characters.
func (p *Interpreter) string(at uint64, most uint64) (string, bool) {
	l := &p.layout
	var head [mostString]byte
	if at == 0 || !p.mem.Read(at, head[:l.ascii]) {
		return "", false
	}
	n := binary.LittleEndian.Uint64(head[stringLength:])
	state := binary.LittleEndian.Uint32(head[stringState:]) >> l.kind
	kind, compact, ascii := uint64(state&7), state>>3&1 == 1, state>>4&1 == 1
	const longest = 1 << 40 // no string is that long: this is none
	if !compact || n > longest || kind != 1 && kind != 2 && kind != 4 {
		return "", false
	}
	from := at + l.compact
	if ascii {
		from = at + l.ascii
	}
	cut := n > most
	b := make([]byte, min(n, most)*kind)
	if len(b) > 0 && !p.mem.Read(from, b) {
		return "", false
	}
	var s strings.Builder
	for ; uint64(len(b)) >= kind; b = b[kind:] {
		var c uint32
		switch kind {
		case 1:
			c = uint32(b[0])
		case 2:
			c = uint32(binary.LittleEndian.Uint16(b))
		default:
			c = binary.LittleEndian.Uint32(b)
		}
		if c < ' ' || c >= 0x7f && c < 0xa0 || c > utf8.MaxRune { // it could act on a terminal
			c = utf8.RuneError
		}
		s.WriteRune(rune(c))
	}
	if cut {
		s.WriteString("…")
	}
	return s.String(), true
}

package python

import (
	"encoding/binary"
	"fmt"
)

// base is where the memory begins.
const base = 0x10000

// made is the memory of a process that is made up.
type made struct {
	base   uint64
	b      []byte
	reads  int
	layout layout
	minor  int
	// codeType is the type of code, runtime where the interpreter is.
	codeType, runtime uint64
}

// Read implements chain.Memory.
func (m *made) Read(at uint64, b []byte) bool {
	m.reads++
	if at < m.base || at-m.base > uint64(len(m.b)) || uint64(len(b)) > uint64(len(m.b))-(at-m.base) {
		return false
	}
	copy(b, m.b[at-m.base:])
	return true
}

// room makes room for an object and returns its address.
func (m *made) room(n int) uint64 {
	at := uint64(len(m.b)+15) &^ 15
	m.b = append(m.b, make([]byte, int(at)+n-len(m.b))...)
	return m.base + at
}

func (m *made) put(at, offset, value uint64) {
	binary.LittleEndian.PutUint64(m.b[at+offset-m.base:], value)
}

func (m *made) put32(at, offset uint64, value uint32) {
	binary.LittleEndian.PutUint32(m.b[at+offset-m.base:], value)
}

// newMade makes an interpreter without threads. Those with a table have offsets of their own,
// which are nowhere else.
func newMade(minor int) *made { return newMadeAt(base, minor) }

func newMadeAt(base uint64, minor int) *made {
	m := &made{base: base, minor: minor}
	m.runtime = m.room(1024)
	l, ok := fixed[minor]
	if !ok {
		l = layout{
			minor: minor, interpreters: 800, nextInterpreter: 8, threads: 24, lock: 40,
			nextThread: 16, current: 80, nativeID: 32,
			code: 0, previous: 16, instruction: 24, owner: 74,
			file: 40, name: 48, qualified: 56, lines: 64, firstLine: 72, instructions: 96,
			ascii: 40, compact: 56, kind: 2, holder: 24, locked: 32,
		}
		p := tables[minor]
		word := func(position int, value uint64) { m.put(m.runtime, 8*uint64(position), value) }
		copy(m.b, cookie)
		word(1, 3<<24|uint64(minor)<<16|0xf0)
		const gil = 120
		for position, value := range map[int]uint64{
			p.interpreters: l.interpreters, p.nextInterpreter: l.nextInterpreter, p.threads: l.threads, p.lock: l.lock,
			p.gil: gil, p.gilHolder: gil + l.holder, p.gilLocked: gil + l.locked,
			p.nextThread: l.nextThread, p.current: l.current, p.nativeID: l.nativeID,
			p.previous: l.previous, p.code: l.code, p.instruction: l.instruction, p.owner: l.owner,
			p.file: l.file, p.name: l.name, p.qualified: l.qualified, p.lines: l.lines, p.firstLine: l.firstLine,
			p.instructions: l.instructions, p.objectType: objectType, p.typeName: typeName,
			p.bytesSize: bytesSize, p.bytesData: bytesData, p.stringState: stringState, p.stringLength: stringLength, p.ascii: l.ascii,
		} {
			word(position, value)
		}
		if minor >= 14 {
			l.kind = 16
		}
	}
	m.layout = l
	m.codeType = m.room(64)
	name := m.room(8)
	copy(m.b[name-m.base:], "code")
	m.put(m.codeType, typeName, name)
	m.put(m.runtime, l.interpreters, m.room(128))
	return m
}

func (m *made) interpreter() uint64 {
	return binary.LittleEndian.Uint64(m.b[m.runtime+m.layout.interpreters-m.base:])
}

// string makes a string with a kind of characters: 0 is ASCII.
func (m *made) string(s string, kind int) uint64 {
	letters := []rune(s)
	at := m.room(int(m.layout.compact) + 4*len(letters))
	m.put(at, stringLength, uint64(len(letters)))
	from, state := m.layout.compact, uint32(kind)
	if kind == 0 {
		from, state = m.layout.ascii, 1|1<<4
	}
	m.put32(at, stringState, (state|1<<3)<<m.layout.kind)
	for i, c := range letters {
		b := m.b[at+from-m.base:]
		switch kind {
		case 2:
			binary.LittleEndian.PutUint16(b[2*i:], uint16(c))
		case 4:
			binary.LittleEndian.PutUint32(b[4*i:], uint32(c))
		default:
			b[i] = byte(c)
		}
	}
	return at
}

func (m *made) bytes(b []byte) uint64 {
	at := m.room(bytesData + len(b))
	m.put(at, bytesSize, uint64(len(b)))
	copy(m.b[at+bytesData-m.base:], b)
	return at
}

// function makes the code of a function.
func (m *made) function(name, file uint64, first int, lines []byte) uint64 {
	table := m.bytes(lines)
	at := m.room(256)
	m.put(at, objectType, m.codeType)
	m.put(at, m.layout.file, file)
	m.put(at, m.layout.name, name)
	m.put(at, m.layout.qualified, name)
	m.put(at, m.layout.lines, table)
	m.put32(at, m.layout.firstLine, uint32(first))
	return at
}

// frame makes a frame that executes the instruction at an offset in the code.
func (m *made) frame(code, offset, previous uint64, owner byte) uint64 {
	at := m.room(96)
	l := &m.layout
	tag := uint64(0)
	if m.minor >= 14 {
		tag = 1
	}
	m.put(at, l.code, code|tag)
	m.put(at, l.previous, previous)
	m.put(at, l.instruction, code+l.instructions+offset)
	m.b[at+l.owner-m.base] = owner
	return at
}

// thread makes a thread in the first interpreter, before the others.
func (m *made) thread(tid, current uint64) uint64 {
	l := &m.layout
	at := m.room(int(l.threadSize()))
	m.put(at, l.nativeID, tid)
	m.put(at, l.nextThread, binary.LittleEndian.Uint64(m.b[m.interpreter()+l.threads-m.base:]))
	m.put(m.interpreter(), l.threads, at)
	if l.minor <= 12 {
		c := m.room(16)
		m.put(c, l.frame, current)
		current = c
	}
	m.put(at, l.current, current)
	return at
}

// lock lets a thread have the lock, or have had it if locked is not 1.
func (m *made) lock(state uint64, locked uint32) (at uint64) {
	at = m.runtime + lock311
	if m.minor > 11 {
		at = m.room(256)
		m.put(m.interpreter(), m.layout.lock, at)
	}
	m.put(at, m.layout.holder, state)
	m.put32(at, m.layout.locked, locked)
	return at
}

func (m *made) open() (*Interpreter, error) {
	return Open(m, &Image{runtime: m.runtime - m.base, minor: m.minor}, m.base)
}

// program makes a program of two functions in two loops: outer, which C called, calls inner,
// which C calls too and which is seen twice.
func program(minor int) *made { return programOf(newMade(minor), 7) }

func programOf(m *made, tid uint64) *made {
	minor := m.minor
	file := m.string("/srv/app.py", 0)
	// Three instructions on the first line, one two lines further, one without a line.
	lines := []byte{0x80 | noColumns<<3 | 2, 0, 0x80 | (oneLine+2)<<3, 0, 0, 0x80 | noLine<<3}
	outer := m.function(m.string("Outer.run", 0), file, 10, lines)
	inner := m.function(m.string("größe", 1), file, 20, lines)
	// 3.11 marks the first frame of a loop, later versions have another frame before it.
	called := func(at uint64) uint64 {
		if minor == 11 {
			m.b[at+m.layout.entry-m.base] = 1
			return at
		}
		m.put(at, m.layout.previous, m.frame(outer, 0, binary.LittleEndian.Uint64(m.b[at+m.layout.previous-m.base:]), ownedByInterpreter))
		return at
	}
	at := called(m.frame(outer, 0, 0, 0))
	at = called(m.frame(inner, 6, at, 0))
	at = m.frame(inner, 2, at, 1)
	m.lock(m.thread(tid, at), 1)
	m.thread(tid+1, 0)
	return m
}

func text(places []Place) (s string) {
	for _, p := range places {
		s += fmt.Sprintf("%s %s:%d,%d", p.Name, p.File, p.Line, p.Start)
		if p.Entry {
			s += " |"
		}
		s += "; "
	}
	return s
}

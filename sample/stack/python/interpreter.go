package python

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"tachograph/sample/stack"
	"tachograph/sample/stack/chain"
)

// Place is where a thread is in a function of a Python program.
type Place struct {
	// Name is the function's qualified name: "Server.handle", "main.<locals>.<lambda>".
	Name string
	// File is the source file as the program knows it; it may be relative, or no file at all
	// ("<string>").
	File string
	// Line is the line that is executed, Start the line that the function begins at. 0: unknown.
	Line, Start int
	// Entry says that the function was called from C, so that its caller, if it has one, is in
	// another evaluation loop.
	Entry bool
}

// Interpreter reads the interpreter in a process. It is for one goroutine.
type Interpreter struct {
	mem     chain.Memory
	runtime uint64
	layout  layout

	threads map[uint64]thread // by the number that the kernel has for the thread
	scanned time.Time

	codeType uint64
	codes    map[uint64]*code
	text     int // bytes of text in codes

	block block
	buf   [mostThread]byte
}

// thread is where a thread's state is, and that of its interpreter.
type thread struct{ state, interpreter uint64 }

// Limits of what is followed and remembered.
const (
	maxInterpreters = 256
	maxThreads      = 1 << 13
	maxFrames       = stack.MaxDepth
	maxCodes        = 1 << 14
	maxText         = 16 << 20
	// rescan is how long the list of threads is believed to have no others.
	rescan = 100 * time.Millisecond
)

var (
	errMemory = errors.New("the interpreter's memory cannot be read")
	errTorn   = errors.New("the interpreter's stack changed while it was read")
	errAbsent = errors.New("the interpreter does not know this thread")
)

// Open finds out the version of the interpreter in an image that is loaded at base.
func Open(mem chain.Memory, m *Image, base uint64) (*Interpreter, error) {
	p := &Interpreter{mem: mem, runtime: base + m.runtime, threads: make(map[uint64]thread), codes: make(map[uint64]*code)}
	var head [8 * tableWords]byte
	if !mem.Read(p.runtime, head[:]) {
		return nil, errMemory
	}
	known := m.minor
	if m.version != 0 {
		if version, ok := p.word(base + m.version); ok {
			if minor, ok := minorOf(version); ok {
				known = minor
			}
		}
	}
	var err error
	p.layout, err = layoutOf(head[:], known)
	return p, err
}

// word reads an address or a count.
func (p *Interpreter) word(at uint64) (uint64, bool) {
	var b [8]byte
	ok := p.mem.Read(at, b[:])
	return binary.LittleEndian.Uint64(b[:]), ok
}

// Stack appends the places that a thread is in, the innermost first. A thread that is in no
// function has none.
func (p *Interpreter) Stack(tid uint64, places []Place) ([]Place, error) {
	state, err := p.thread(tid)
	if err != nil {
		return places, err
	}
	from := len(places)
	const tries = 2
	for range tries {
		if places, err = p.walk(state, places[:from]); err == nil {
			return places, nil
		}
	}
	return places[:from], err
}

// thread finds the state of a thread and reads it.
func (p *Interpreter) thread(tid uint64) ([]byte, error) {
	if t, known := p.threads[tid]; known {
		if b, ok := p.state(t.state); ok && p.nativeID(b) == tid {
			return b, nil
		}
		p.scanned = time.Time{} // it has ended, and others may have begun
	}
	if time.Since(p.scanned) < rescan {
		return nil, errAbsent
	}
	p.scan()
	if t, known := p.threads[tid]; known {
		if b, ok := p.state(t.state); ok && p.nativeID(b) == tid {
			return b, nil
		}
	}
	return nil, errAbsent
}

func (p *Interpreter) state(at uint64) ([]byte, bool) {
	b := p.buf[:p.layout.threadSize()]
	return b, p.mem.Read(at, b)
}

func (p *Interpreter) nativeID(state []byte) uint64 {
	return binary.LittleEndian.Uint64(state[p.layout.nativeID:])
}

// scan finds all threads of all interpreters.
func (p *Interpreter) scan() {
	clear(p.threads)
	p.scanned = time.Now()
	interpreter, _ := p.word(p.runtime + p.layout.interpreters)
	left := maxThreads
	for range maxInterpreters {
		if interpreter == 0 {
			return
		}
		at, _ := p.word(interpreter + p.layout.threads)
		for ; at != 0 && left > 0; left-- {
			b, ok := p.state(at)
			if !ok {
				break
			}
			p.threads[p.nativeID(b)] = thread{at, interpreter}
			at = binary.LittleEndian.Uint64(b[p.layout.nextThread:])
		}
		interpreter, _ = p.word(interpreter + p.layout.nextInterpreter)
	}
}

// Owners of frames.
const (
	ownedByInterpreter = 3 // and more: no frame of a program, but the beginning of an evaluation loop
	lastOwner          = 4
)

// walk follows the frames of a thread.
func (p *Interpreter) walk(state []byte, places []Place) ([]Place, error) {
	l := &p.layout
	at := binary.LittleEndian.Uint64(state[l.current:])
	if l.minor <= 12 {
		if at == 0 {
			return places, nil
		}
		ok := false
		if at, ok = p.word(at + l.frame); !ok {
			return places, errTorn
		}
	}
	from := len(places)
	p.block.n = 0
	for range 2 * maxFrames {
		if at == 0 || len(places)-from == maxFrames {
			break
		}
		b := p.block.read(p.mem, at, l.frameSize())
		if b == nil {
			return places, errTorn
		}
		word := func(offset uint64) uint64 { return binary.LittleEndian.Uint64(b[offset:]) }
		owner, next, where := b[l.owner], word(l.previous), word(l.instruction)
		switch {
		case owner > lastOwner:
			return places, errTorn
		case owner >= ownedByInterpreter:
			if len(places) > from {
				places[len(places)-1].Entry = true
			}
			at = next
			continue
		}
		entry := l.minor == 11 && b[l.entry] != 0
		const tags = 7 // 3.14 keeps marks in the lowest bits
		address := word(l.code) &^ tags
		c, err := p.code(address)
		if err != nil {
			return places, err
		}
		if !c.internal() {
			places = append(places, Place{Name: c.name, File: c.file, Start: c.first, Line: c.line(where - (address + l.instructions)), Entry: entry})
		}
		at = next
	}
	if len(places) > from {
		places[len(places)-1].Entry = true
	}
	return places, nil
}

// block is a piece of memory that was read at once: the frames of functions that call each other
// are side by side, those of callers below.
type block struct {
	at  uint64
	n   uint64
	buf [2 << 10]byte
}

// read returns size bytes at an address; nil if they cannot be read.
func (k *block) read(mem chain.Memory, at, size uint64) []byte {
	if at-k.at < k.n && k.n-(at-k.at) >= size {
		return k.buf[at-k.at:][:size]
	}
	end := at + size
	if end < at {
		return nil
	}
	// From where its page begins: there may be nothing below.
	const page = 4 << 10
	k.at = at &^ (page - 1)
	if end-k.at > uint64(len(k.buf)) {
		k.at = end - uint64(len(k.buf))
	}
	if k.n = end - k.at; !mem.Read(k.at, k.buf[:k.n]) {
		k.n = 0
		return nil
	}
	return k.buf[k.n-size:][:size]
}

// Lock is the lock that all threads of an interpreter share.
type Lock struct {
	// From and To are where it is in memory: a thread that waits for an address in between waits
	// for the lock.
	From, To uint64
	// Holder is the number of the thread that has it; 0 if none has it.
	Holder uint64
}

// Lock returns the lock of the interpreter that a thread runs in.
func (p *Interpreter) Lock(tid uint64) (Lock, bool) {
	if _, err := p.thread(tid); err != nil {
		return Lock{}, false
	}
	l := &p.layout
	at, ok := p.runtime+lock311, true
	if l.minor > 11 {
		at, ok = p.word(p.threads[tid].interpreter + l.lock)
	}
	var b [mostLock]byte
	if !ok || at == 0 || !p.mem.Read(at, b[:max(l.holder, l.locked)+8]) {
		return Lock{}, false
	}
	k := Lock{From: at, To: at + lockSize}
	if int32(binary.LittleEndian.Uint32(b[l.locked:])) == 1 {
		holder := binary.LittleEndian.Uint64(b[l.holder:])
		for id, t := range p.threads {
			if t.state == holder {
				k.Holder = id
			}
		}
	}
	return k, true
}

// Wait says that a thread waits for the lock, in a few words; name is the holder's name, if it has
// one.
func (k *Lock) Wait(tid uint64, name string) string {
	switch {
	case k.Holder == 0 || k.Holder == tid:
		return "the GIL"
	case name == "":
		return fmt.Sprintf("the GIL, held by thread %d", k.Holder)
	}
	return fmt.Sprintf("the GIL, held by thread %d (%s)", k.Holder, name)
}

// TakesLock is the name of the interpreter's function that waits for the lock.
const TakesLock = "take_gil"

// lockSize is how long the lock is: a few words, and two pairs of a condition and a mutex of the
// system's. On Linux that is 208 bytes with glibc's.
const lockSize = 208

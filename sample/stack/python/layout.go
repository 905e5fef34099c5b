package python

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// layout is where the fields are that are needed, in bytes from the beginning of what has them.
type layout struct {
	minor int

	// Of the runtime: its first interpreter. 3.11 also has the lock there.
	interpreters uint64
	// Of an interpreter. lock is where it has the address of its lock; 0 in 3.11.
	nextInterpreter, threads, lock uint64
	// Of a thread. current is where it has the address of its frame or, up to 3.12, of something
	// that has it at frame.
	nextThread, current, nativeID uint64
	frame                         uint64
	// Of a frame.
	code, previous, instruction, owner uint64
	entry                              uint64 // 3.11: whether it is the outermost of its evaluation loop
	// Of code.
	file, name, qualified, lines, firstLine, instructions uint64
	// Of a string: how long its header is if it is ASCII, and if it is not, and the first bit of
	// its kind.
	ascii, compact uint64
	kind           uint
	// Of the lock.
	holder, locked uint64
}

// Offsets that all versions have in common, on all machines with 64 bits.
const (
	objectType   = 8
	typeName     = 24
	stringLength = 16
	stringState  = 32
	bytesSize    = 16
	bytesData    = 32
)

// lock311 is where 3.11 has its lock in the runtime.
const lock311 = 360

// fixed are the layouts of the versions without a table. They are the same in all releases of a
// version.
var fixed = map[int]layout{
	11: {
		minor: 11, interpreters: 40, nextInterpreter: 0, threads: 16,
		nextThread: 8, current: 56, nativeID: 160, frame: 8,
		code: 32, previous: 48, instruction: 56, owner: 69, entry: 68,
		file: 112, name: 120, qualified: 128, lines: 136, firstLine: 72, instructions: 184,
		ascii: 48, compact: 72, kind: 2, holder: 8, locked: 16,
	},
	12: {
		minor: 12, interpreters: 40, nextInterpreter: 0, threads: 72, lock: 384,
		nextThread: 8, current: 56, nativeID: 144, frame: 0,
		code: 0, previous: 8, instruction: 56, owner: 70,
		file: 112, name: 120, qualified: 128, lines: 136, firstLine: 68, instructions: 192,
		ascii: 40, compact: 56, kind: 2, holder: 8, locked: 16,
	},
}

// cookie is how the interpreter's own table begins.
const cookie = "xdebugpy"

// tableWords is how much of the table is read.
const tableWords = 96

// positions are where the table has an offset, in words from its beginning.
type positions struct {
	interpreters, nextInterpreter, threads, lock, gil, gilLocked, gilHolder int
	nextThread, current, nativeID                                           int
	previous, code, instruction, owner                                      int
	file, name, qualified, lines, firstLine, instructions                   int
	objectType, typeName, bytesSize, bytesData                              int
	stringState, stringLength, ascii                                        int
}

// tables are the positions by version: each version may have fields that others do not have.
var tables = map[int]positions{
	13: {
		interpreters: 5, nextInterpreter: 8, threads: 9, lock: 14, gil: 15, gilLocked: 17, gilHolder: 18,
		nextThread: 21, current: 23, nativeID: 25,
		previous: 29, code: 30, instruction: 31, owner: 33,
		file: 35, name: 36, qualified: 37, lines: 38, firstLine: 39, instructions: 43,
		objectType: 45, typeName: 47, bytesSize: 65, bytesData: 66,
		stringState: 68, stringLength: 69, ascii: 70,
	},
	14: {
		interpreters: 5, nextInterpreter: 8, threads: 9, lock: 15, gil: 16, gilLocked: 18, gilHolder: 19,
		nextThread: 24, current: 26, nativeID: 28,
		previous: 32, code: 33, instruction: 34, owner: 36,
		file: 40, name: 41, qualified: 42, lines: 43, firstLine: 44, instructions: 48,
		objectType: 51, typeName: 53, bytesSize: 75, bytesData: 76,
		stringState: 78, stringLength: 79, ascii: 80,
	},
}

var (
	errTable   = errors.New("the interpreter's table of offsets is not as this version of Python writes it")
	errThreads = errors.New("free-threaded Python is not read: only Python with its global lock is")
)

func errVersion(minor int) error {
	return fmt.Errorf("this is Python 3.%d, and 3.11 to 3.14 are read", minor)
}

// minorOf returns the second number of a version as the interpreter has it: 0x030d00f0 is 3.13.
func minorOf(version uint64) (int, bool) {
	return int(version >> 16 & 0xff), version>>24 == 3
}

// layoutOf reads the table at the beginning of the runtime. known is the version if the runtime
// has no table.
func layoutOf(runtime []byte, known int) (layout, error) {
	if string(runtime[:len(cookie)]) != cookie {
		l, ok := fixed[known]
		if !ok {
			return layout{}, errVersion(known)
		}
		return l, nil
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(runtime[8*i:]) }
	minor, ok := minorOf(word(1))
	if !ok {
		return layout{}, errTable
	}
	at, ok := tables[minor]
	if !ok {
		return layout{}, errVersion(minor)
	}
	if word(2) != 0 {
		return layout{}, errThreads
	}
	// These never change: if they are elsewhere, then so are all others.
	for position, want := range map[int]uint64{
		at.objectType: objectType, at.typeName: typeName, at.bytesSize: bytesSize, at.bytesData: bytesData,
		at.stringLength: stringLength, at.stringState: stringState,
	} {
		if word(position) != want {
			return layout{}, errTable
		}
	}
	l := layout{
		minor: minor, interpreters: word(at.interpreters),
		nextInterpreter: word(at.nextInterpreter), threads: word(at.threads), lock: word(at.lock),
		nextThread: word(at.nextThread), current: word(at.current), nativeID: word(at.nativeID),
		code: word(at.code), previous: word(at.previous), instruction: word(at.instruction), owner: word(at.owner),
		file: word(at.file), name: word(at.name), qualified: word(at.qualified), lines: word(at.lines),
		firstLine: word(at.firstLine), instructions: word(at.instructions),
		ascii: word(at.ascii), compact: word(at.ascii) + 16, kind: 2,
		holder: word(at.gilHolder) - word(at.gil), locked: word(at.gilLocked) - word(at.gil),
	}
	if minor >= 14 {
		l.kind = 16
	}
	return l, l.check()
}

// Limits of structures. An interpreter is by far the largest.
const (
	mostInterpreter = 1 << 20
	mostThread      = 4 << 10
	mostFrame       = 256
	mostCode        = 512
	mostString      = 128
	mostLock        = 512
)

// check refuses offsets that no version can have.
func (l *layout) check() error {
	for _, f := range []struct {
		most    uint64
		offsets []uint64
	}{
		{mostInterpreter, []uint64{l.interpreters, l.nextInterpreter, l.threads, l.lock}},
		{mostThread - 8, []uint64{l.nextThread, l.current, l.nativeID}},
		{mostFrame - 8, []uint64{l.code, l.previous, l.instruction, l.owner}},
		{mostCode - 8, []uint64{l.file, l.name, l.qualified, l.lines, l.firstLine, l.instructions}},
		{mostString, []uint64{l.ascii, l.compact}},
		{mostLock - 8, []uint64{l.holder, l.locked}},
	} {
		for _, offset := range f.offsets {
			if offset > f.most {
				return errTable
			}
		}
	}
	return nil
}

// extents are how much of a structure is read.
func (l *layout) threadSize() uint64 { return max(l.nextThread, l.current, l.nativeID) + 8 }
func (l *layout) frameSize() uint64 {
	return max(l.code, l.previous, l.instruction, l.owner, l.entry) + 8
}
func (l *layout) codeSize() uint64 {
	return max(l.file, l.name, l.qualified, l.lines, l.firstLine) + 8
}

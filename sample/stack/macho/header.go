package macho

import (
	"encoding/binary"
	"fmt"

	"tachograph/sample/stack/chain"
)

// Header is the needed part of an image's header and load commands.
type Header struct {
	UUID string // upper case with dashes; "" if it has none
	Load uint64 // address of its header
	// Size is the size of its text, from the header on.
	Size uint64
	// Cache says that the image is a part of the shared cache.
	Cache bool
	// ARM says that its code is for ARM processors.
	ARM bool
	// Python is the address of the section that CPython, since 3.13, has its state in; 0 if there
	// is none.
	Python uint64

	slide        uint64 // added to the addresses in the file
	link         span   // __LINKEDIT, in memory
	unwind       span   // __unwind_info, in memory
	linkFile     uint64 // where in the file that part begins
	symbols      uint64 // offsets in the file
	strings      uint64
	starts       uint64
	symbolCount  uint32
	stringsSize  uint32
	startsLength uint32
}

type span struct{ at, size uint64 }

// Load commands, and other constants of <mach-o/loader.h>.
const (
	magic64       = 0xfeedfacf
	headerSize    = 32
	inCache       = 1 << 31
	maxCommands   = 256 << 10
	cmdSymtab     = 0x2
	cmdSegment    = 0x19
	cmdUUID       = 0x1b
	cmdStarts     = 0x26
	segmentSize   = 72
	sectionSize   = 80
	typeARM       = 0x0100000c
	linkeditStart = 16 // bytes of a segment's name
)

// ReadHeader reads the header of the image loaded at an address.
func ReadHeader(mem chain.Memory, load uint64) (h Header, ok bool) {
	var head [headerSize]byte
	if !mem.Read(load, head[:]) || binary.LittleEndian.Uint32(head[:]) != magic64 {
		return h, false
	}
	size := binary.LittleEndian.Uint32(head[20:])
	if size > maxCommands {
		return h, false
	}
	commands := make([]byte, size)
	if !mem.Read(load+headerSize, commands) {
		return h, false
	}
	h = Header{Load: load, Cache: binary.LittleEndian.Uint32(head[24:])&inCache != 0,
		ARM: binary.LittleEndian.Uint32(head[4:]) == typeARM}
	return h, h.take(commands)
}

// take reads the load commands.
func (h *Header) take(commands []byte) bool {
	le := binary.LittleEndian
	text, link := false, false
	for len(commands) >= 8 {
		size := le.Uint32(commands[4:])
		if size < 8 || uint64(size) > uint64(len(commands)) {
			break
		}
		c := commands[:size]
		commands = commands[size:]
		switch kind := le.Uint32(c); {
		case kind == cmdSegment && size >= segmentSize:
			at, length := le.Uint64(c[24:]), le.Uint64(c[32:])
			switch name(c[8 : 8+linkeditStart]) {
			case "__TEXT":
				h.slide, h.Size, text = h.Load-at, length, true
				h.unwind = section(c[segmentSize:], "__unwind_info")
			case "__LINKEDIT":
				h.link, h.linkFile, link = span{at, length}, le.Uint64(c[40:]), true
			case "__DATA":
				h.Python = section(c[segmentSize:], pythonSection).at
			}
		case kind == cmdSymtab && size >= 24:
			h.symbols, h.symbolCount = uint64(le.Uint32(c[8:])), le.Uint32(c[12:])
			h.strings, h.stringsSize = uint64(le.Uint32(c[16:])), le.Uint32(c[20:])
		case kind == cmdUUID && size >= 24:
			h.UUID = UUID([16]byte(c[8:24]))
		case kind == cmdStarts && size >= 16:
			h.starts, h.startsLength = uint64(le.Uint32(c[8:])), le.Uint32(c[12:])
		}
	}
	if link {
		h.link.at += h.slide
	}
	h.unwind.at += h.slide
	if h.Python != 0 {
		h.Python += h.slide
	}
	return text && h.Size > 0 && h.Load+h.Size > h.Load
}

// section returns a section of a segment, by its name.
func section(list []byte, which string) span {
	for ; len(list) >= sectionSize; list = list[sectionSize:] {
		if name(list[:16]) == which {
			return span{binary.LittleEndian.Uint64(list[32:]), binary.LittleEndian.Uint64(list[40:])}
		}
	}
	return span{}
}

// inLinkedit returns the address of a part of the file in __LINKEDIT, and whether __LINKEDIT
// holds all of that part.
func (h *Header) inLinkedit(offset, length uint64) (at uint64, ok bool) {
	if offset < h.linkFile || length == 0 {
		return 0, false
	}
	from := offset - h.linkFile
	if from > h.link.size || length > h.link.size-from {
		return 0, false
	}
	return h.link.at + from, true
}

// pythonSection is the name of CPython's section.
const pythonSection = "PyRuntime"

func name(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

// UUID formats a UUID as debuggers do; a UUID of zeros gives "".
func UUID(b [16]byte) string {
	if b == ([16]byte{}) {
		return ""
	}
	return fmt.Sprintf("%X-%X-%X-%X-%X", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

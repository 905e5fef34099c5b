package perf

import (
	"bytes"
	"encoding/binary"
)

// record is a record of the kernel's ring: struct perf_event_header and what follows it, for
// events that sample ip, thread, time and call chain, and whose other records end with thread
// and time.
type record struct {
	kind     uint32
	misc     uint16
	time     uint64
	pid, tid int32

	chain []byte // of a sample: words, some of them markers
	// Of a sample of a program that was interrupted: its registers, and its stack from the
	// stack's pointer on; nil if the kernel was not asked for them, or has none.
	registers, stack []byte

	parent, parentTID int32 // of a fork
	lost              uint64
	name              []byte // of a command, or of a file
	// Fields of a mapping.
	start, size, offset uint64
	major, minor        uint32
	inode               uint64
}

// Kinds of records.
const (
	kindLost        = 2
	kindCommand     = 3
	kindExit        = 4
	kindFork        = 7
	kindSample      = 9
	kindMapping     = 10 // MMAP2
	kindLostSamples = 13
)

const (
	recordHeader = 8
	// trailer is the end of all records but samples: process, thread, time.
	trailer = 16
	// commandExec says that the name changed because of an exec.
	commandExec = 1 << 13
	// mappingBuildID says that the record has a build ID in place of the device and inode.
	mappingBuildID = 1 << 14
)

// next cuts the first record off b. It returns nil if that is damaged.
func next(b []byte) (rec, rest []byte) {
	if len(b) < recordHeader {
		return nil, nil
	}
	size := int(binary.NativeEndian.Uint16(b[6:]))
	if size < recordHeader || size > len(b) {
		return nil, nil
	}
	return b[:size], b[size:]
}

// parse reads a record; it returns false if the record is not needed, or damaged. Slices in r
// point into b.
func (r *record) parse(b []byte) bool {
	order := binary.NativeEndian
	if len(b) < recordHeader+trailer {
		return false
	}
	*r = record{kind: order.Uint32(b), misc: order.Uint16(b[4:])}
	i32 := func(at int) int32 { return int32(order.Uint32(b[at:])) }
	if r.kind == kindSample {
		const fixed = recordHeader + 8 + 8 + 8 + 8 // ip, thread, time, length of the chain
		if len(b) < fixed {
			return false
		}
		r.pid, r.tid, r.time = i32(16), i32(20), order.Uint64(b[24:])
		n := order.Uint64(b[32:])
		if n > uint64(len(b)-fixed)/8 {
			return false
		}
		r.chain = b[fixed : fixed+8*n]
		r.registers, r.stack = copiedIn(b[fixed+8*n:])
		return true
	}
	end := len(b) - trailer
	r.pid, r.tid, r.time = i32(end), i32(end+4), order.Uint64(b[end+8:])
	body := b[recordHeader:end]
	need := map[uint32]int{kindLost: 16, kindLostSamples: 8, kindCommand: 8, kindExit: 24, kindFork: 24, kindMapping: 64}[r.kind]
	if need == 0 || len(body) < need {
		return false
	}
	at := func(i int) int32 { return int32(order.Uint32(body[4*i:])) }
	switch r.kind {
	case kindLost:
		r.lost = order.Uint64(body[8:])
	case kindLostSamples:
		r.lost = order.Uint64(body)
	case kindCommand:
		r.pid, r.tid, r.name = at(0), at(1), terminated(body[8:])
	case kindExit, kindFork:
		r.pid, r.parent, r.tid, r.parentTID = at(0), at(1), at(2), at(3)
	case kindMapping:
		r.pid, r.tid = at(0), at(1)
		r.start, r.size, r.offset = order.Uint64(body[8:]), order.Uint64(body[16:]), order.Uint64(body[24:])
		if r.misc&mappingBuildID == 0 {
			r.major, r.minor, r.inode = uint32(at(8)), uint32(at(9)), order.Uint64(body[40:])
		}
		r.name = terminated(body[64:])
		if r.start+r.size < r.start {
			return false
		}
	}
	return true
}

// copiedIn reads what follows the chain: whether there are registers, and of which kind, and the
// copy of the stack with the number of bytes that are valid in it. It returns nil if b is
// something else.
func copiedIn(b []byte) (registers, stack []byte) {
	const wide = 2 // of a program with 64 bits
	order := binary.NativeEndian
	size := 8 * len(own.numbers)
	if size == 0 || len(b) < 8+size+8 || order.Uint64(b) != wide {
		return nil, nil
	}
	registers, b = b[8:8+size], b[8+size:]
	n := order.Uint64(b)
	if b = b[8:]; n > uint64(len(b)) || uint64(len(b))-n < 8 {
		return nil, nil
	}
	if valid := order.Uint64(b[n:]); valid <= n {
		return registers, b[:valid]
	}
	return nil, nil
}

func terminated(b []byte) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return b
}

// Markers in a call chain: the addresses that follow are the kernel's, or the program's. Those
// after other markers belong to virtual machines, which are not sampled.
const (
	firstMarker = 1<<64 - 4095
	markKernel  = 1<<64 - 128
	markUser    = 1<<64 - 512
)

// frames calls each with the addresses of a sample's chain, the innermost first.
func (r *record) frames(each func(address uint64, kernel bool)) {
	const none = 0
	where := uint64(none)
	for b := r.chain; len(b) >= 8; b = b[8:] {
		switch v := binary.NativeEndian.Uint64(b); {
		case v >= firstMarker:
			where = v
		case where == markKernel, where == markUser:
			each(v, where == markKernel)
		}
	}
}

// traced reads a record of a tracepoint.
func traced(b []byte) (pid int32, time uint64, fields []byte, ok bool) {
	const fixed = recordHeader + 8 + 8 + 4 // thread, time, length of the fields
	order := binary.NativeEndian
	if len(b) < fixed || order.Uint32(b) != kindSample {
		return 0, 0, nil, false
	}
	n := uint64(order.Uint32(b[fixed-4:]))
	if n > uint64(len(b)-fixed) {
		return 0, 0, nil, false
	}
	return int32(order.Uint32(b[recordHeader:])), order.Uint64(b[16:]), b[fixed : fixed+n], true
}

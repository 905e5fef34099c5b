// Package chain walks along the frame pointers of a stack: each frame begins with the address
// of its caller's frame and the address that the call returns to. The memory belongs to another
// process: it may hold anything, and may be changing.
package chain

import (
	"encoding/binary"

	"tachograph/sample/stack"
)

// Memory is the readable memory of a process.
type Memory interface {
	// Read fills b from an address. If it returns false, b may hold anything.
	Read(addr uint64, b []byte) bool
}

// Registers are the registers of a thread that are needed to find its stack.
type Registers struct {
	PC, FP, SP uint64
	// LR is where the innermost function returns to, on processors that have a register for it.
	// Only a function without a frame still has its return address there.
	LR uint64
}

// Plain masks the address bits of a pointer: processors that sign pointers keep the signature
// in the bits above.
const Plain = 1<<47 - 1

const (
	block = 16 << 10 // size of one read, and the largest pages
	page  = 4 << 10  // the smallest pages
	// reads limits the reads for one stack: deep stacks of large frames would keep a thread
	// from running for long.
	reads = 64
)

// Walker walks along stacks without allocating.
type Walker struct {
	// Top are the two words at the stack pointer, if they were read: before a function has made
	// its frame, they have what the frame will hold.
	Top  [2]uint64
	at   uint64 // the address of what is in buf
	n    int
	left int
	buf  [block + 16]byte
}

// Walk appends the addresses of a stack to frames, the innermost first, up to its
// capacity. Addresses are without their signatures.
func (w *Walker) Walk(mem Memory, r *Registers, frames []uint64) ([]uint64, stack.End) {
	w.n, w.left, w.Top = 0, reads, [2]uint64{}
	if cap(frames) == len(frames) {
		return frames, stack.Truncated
	}
	frames = append(frames, r.PC&Plain)
	fp := r.FP
	if fp != 0 && fp < r.SP {
		return frames, stack.Broken
	}
	// The first read begins at the stack pointer, and finds most of the frames.
	if fp != 0 && r.SP != 0 && fp-r.SP < block-16 && r.SP&7 == 0 {
		if w.fill(mem, r.SP, fp) {
			w.Top = [2]uint64{binary.LittleEndian.Uint64(w.buf[:]), binary.LittleEndian.Uint64(w.buf[8:])}
		}
	}
	for fp != 0 {
		if fp&7 != 0 {
			return frames, stack.Broken
		}
		record, ok := w.record(mem, fp)
		if !ok {
			if w.left == 0 {
				return frames, stack.Truncated
			}
			return frames, stack.Broken
		}
		caller, ret := binary.LittleEndian.Uint64(record), binary.LittleEndian.Uint64(record[8:])&Plain
		switch {
		case ret == 0 && caller == 0:
			return frames, stack.Whole // the empty record below the first function
		case ret == 0:
			return frames, stack.Broken
		case len(frames) == cap(frames):
			return frames, stack.Truncated
		}
		frames = append(frames, ret)
		if caller != 0 && caller <= fp {
			return frames, stack.Broken // stacks grow downwards
		}
		fp = caller
	}
	return frames, stack.Whole
}

// record returns the two words at fp.
func (w *Walker) record(mem Memory, fp uint64) ([]byte, bool) {
	if fp-w.at >= uint64(w.n) || uint64(w.n)-(fp-w.at) < 16 {
		if !w.fill(mem, fp, fp) {
			return nil, false
		}
	}
	return w.buf[fp-w.at:][:16], true
}

// fill reads from an address to the end of the largest page, or of the smallest, or at least to
// the end of the record at fp: a read that touches missing memory returns nothing.
func (w *Walker) fill(mem Memory, from, fp uint64) bool {
	need := fp + 16
	if need < fp {
		return false
	}
	w.at, w.n = from, 0
	for _, size := range [...]uint64{block, page, 1} {
		to := (need + size - 1) &^ (size - 1)
		if to < need || to-from > uint64(len(w.buf)) {
			continue
		}
		if w.left == 0 {
			return false
		}
		w.left--
		if mem.Read(from, w.buf[:to-from]) {
			w.n = int(to - from)
			return true
		}
	}
	return false
}

// Package chain walks along the frame pointers of a stack: each frame begins with the address
// of its caller's frame and the address that the call returns to. It walks past functions without
// a frame if it gets their rules. The memory belongs to another process: it may hold anything, and
// may be changing.
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

// async is set by asynchronous functions of Swift in the frame pointer that they save: their
// frame has a pointer more. Addresses do not have this bit.
const async = 1 << 60

const (
	block = 16 << 10 // size of one read, and the largest pages
	page  = 4 << 10  // the smallest pages
	// reads limits the reads for one stack: deep stacks of large frames would keep a thread
	// from running for long.
	reads = 64
)

// Walker walks along stacks without allocating.
type Walker struct {
	// Rules, if there are any, are asked about each function. Without, all have frames.
	Rules Rules
	// Top are the two words at the stack pointer, if they were read: before a function has made
	// its frame, they have what the frame will hold.
	Top [2]uint64
	// Ruled says that the rule of the innermost function was known.
	Ruled bool
	at    uint64 // the address of what is in buf
	n     int
	left  int
	buf   [block + 16]byte
}

// Walk appends the addresses of a stack to frames, the innermost first, up to its
// capacity. Addresses are without their signatures.
func (w *Walker) Walk(mem Memory, r *Registers, frames []uint64) ([]uint64, stack.End) {
	w.n, w.left, w.Top, w.Ruled = 0, reads, [2]uint64{}, false
	if cap(frames) == len(frames) {
		return frames, stack.Truncated
	}
	frames = append(frames, r.PC&Plain)
	first := len(frames)
	fp, sp := r.FP&^async, r.SP // sp is the lowest address that the rest of the stack may have
	// The first read begins at the stack pointer, and finds most of the frames.
	if sp != 0 && sp&7 == 0 && (fp >= sp && fp-sp < block-16 || w.Rules != nil) {
		to := fp
		if fp < sp || fp-sp >= block-16 {
			to = sp
		}
		if w.fill(mem, sp, to) {
			w.Top = [2]uint64{binary.LittleEndian.Uint64(w.buf[:]), binary.LittleEndian.Uint64(w.buf[8:])}
		}
	}
	for {
		rule := w.rule(frames, len(frames) == first)
		if rule.Size == 0 {
			if fp == 0 {
				return frames, stack.Whole
			}
			rule = Rule{Size: 16, FP: 16}
			if fp < sp {
				return frames, stack.Broken // stacks grow downwards
			}
			sp = fp
		}
		caller, ret, ok := w.apply(mem, rule, sp, fp)
		switch {
		case !ok && w.left == 0:
			return frames, stack.Truncated
		case !ok:
			return frames, stack.Broken
		case ret == 0 && caller == 0:
			return frames, stack.Whole // the empty record below the first function
		case ret == 0:
			return frames, stack.Broken
		case len(frames) == cap(frames):
			return frames, stack.Truncated
		}
		frames = append(frames, ret)
		fp, sp = caller, sp+rule.Size
	}
}

// rule returns the rule of the outermost function found so far.
func (w *Walker) rule(frames []uint64, innermost bool) Rule {
	if w.Rules == nil {
		return Rule{}
	}
	addr := frames[len(frames)-1]
	if !innermost {
		addr-- // a call may be the last instruction of a function
	}
	rule, ok := w.Rules.Rule(addr, innermost)
	if innermost {
		w.Ruled = ok
	}
	return rule
}

// apply returns what a function at sp has saved: its caller's frame pointer and its return
// address.
func (w *Walker) apply(mem Memory, rule Rule, sp, fp uint64) (caller, ret uint64, ok bool) {
	top := sp + rule.Size
	if top < sp || sp&7 != 0 || rule.Size&7 != 0 || rule.FP&7 != 0 || rule.FP > rule.Size {
		return 0, 0, false
	}
	caller = fp
	if rule.FP != 0 {
		b, ok := w.words(mem, top-rule.FP, rule.FP)
		if !ok {
			return 0, 0, false
		}
		caller = binary.LittleEndian.Uint64(b) &^ async
	}
	b, ok := w.words(mem, top-8, 8)
	if !ok {
		return 0, 0, false
	}
	return caller, binary.LittleEndian.Uint64(b) & Plain, true
}

// words returns the word at an address, reading as many bytes from there as will be needed.
func (w *Walker) words(mem Memory, addr, need uint64) ([]byte, bool) {
	need = min(need, 16)
	if addr-w.at >= uint64(w.n) || uint64(w.n)-(addr-w.at) < need {
		if !w.fill(mem, addr, addr) {
			return nil, false
		}
	}
	return w.buf[addr-w.at:][:8], true
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

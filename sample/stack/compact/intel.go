package compact

import "tachograph/sample/stack/chain"

// Function is a function, and as much of its code as was read, from its start on.
type Function struct {
	Start uint32 // offset from the image's header
	Code  []byte
}

// mode says which kind of encoding it is.
func (e Encoding) mode() uint32 { return uint32(e) >> 24 & 0xf }

// Modes of encodings for Intel's processors. Mode 4 refers to DWARF, which is elsewhere.
const (
	intelFrame     = 1
	intelImmediate = 2 // without a frame; the encoding has how much of the stack it uses
	intelIndirect  = 3 // without a frame; an instruction has that
)

// Frameless says whether a function for Intel's processors has no frame.
func (r Range) Frameless() bool {
	return r.Encoding.mode() == intelImmediate || r.Encoding.mode() == intelIndirect
}

// Intel returns the rule at offset pc of a function for Intel's processors. If innermost is
// false, pc is at a call. ok is false if the encoding does not say it, or if code is needed that
// was not read: a function's own code for the innermost one, and that of a range for a rule
// that is in an instruction.
func (r Range) Intel(f Function, pc uint32, innermost bool) (rule chain.Rule, ok bool) {
	body, saved, ok := r.body(f)
	switch {
	case !ok || !innermost:
		return body, ok
	case len(f.Code) == 0 || pc < f.Start:
		return body, false
	case pc-f.Start >= uint32(len(f.Code)):
		return body, true // beyond what was read, a function is in its body almost always
	}
	at := int(pc - f.Start)
	size, partly := ending(f.Code[at:])
	if !partly {
		size, partly = beginning(f.Code, at)
	}
	if !partly {
		return body, true
	}
	rule.Size = size
	if saved <= size {
		rule.FP = saved
	}
	return rule, true
}

// body returns the rule in the body of a function, and how far before the end of the function's
// part of the stack it saves the frame pointer, if it does.
func (r Range) body(f Function) (rule chain.Rule, saved uint64, ok bool) {
	e := uint64(r.Encoding)
	switch r.Encoding.mode() {
	case intelFrame:
		return rule, 16, true // it is pushed first, next to the return address
	case intelImmediate:
		rule.Size = e >> 16 & 0xff * 8
	case intelIndirect:
		at := uint64(r.From-f.Start) + e>>16&0xff
		if r.From < f.Start || at+4 > uint64(len(f.Code)) {
			return rule, 0, false
		}
		rule.Size = uint64(le.Uint32(f.Code[at:])) + e>>13&7*8
	default:
		return rule, 0, false
	}
	if at := r.Encoding.frameRegister(); at >= 0 {
		rule.FP = 16 + 8*uint64(at)
	}
	return rule, rule.FP, rule.Size >= max(8, rule.FP) && rule.Size&7 == 0
}

// frameRegister returns how many registers a function saves before the frame pointer; -1 if it
// does not save that. A function saves up to six registers, and the encoding has the number of
// their order among all orders.
func (e Encoding) frameRegister() int {
	const all, frame = 6, 5
	n, order := int(e>>10&7), int(e&0x3ff)
	if n > all {
		return -1
	}
	weight := 1
	for i := 1; i < n; i++ {
		weight *= all - i
	}
	left := []int{0, 1, 2, 3, 4, frame}
	for i := range n { // the one that was saved last comes first
		k := order / weight
		if k >= len(left) {
			return -1
		}
		if left[k] == frame {
			return n - 1 - i
		}
		left = append(left[:k], left[k+1:]...)
		order %= weight
		if rest := all - 1 - i; i+1 < n {
			weight /= rest
		}
	}
	return -1
}

// maxPushes is more than there are registers to save.
const maxPushes = 8

// beginning returns how much of the stack a function uses that has got as far as at, if it is
// still about to push registers, or to make room or a frame.
func beginning(code []byte, at int) (size uint64, ok bool) {
	size = 8
	for i := 0; i <= at && size <= 8*maxPushes; size += 8 {
		if i == at {
			return size, true
		}
		n := register(code[i:], 0x50)
		if n == 0 {
			break
		}
		i += n
	}
	return 0, false
}

// ending returns how much of the stack is left to a function that is about to pop registers and
// return.
func ending(code []byte) (size uint64, ok bool) {
	size = 8
	for size <= 8*maxPushes && len(code) > 0 {
		n := register(code, 0x58)
		if n == 0 {
			return size, code[0] == 0xc3
		}
		code = code[n:]
		size += 8
	}
	return 0, false
}

// register returns the length of an instruction that has one of the registers in its lowest
// bits; 0 if it is another instruction.
func register(code []byte, instruction byte) int {
	switch {
	case code[0]&^7 == instruction:
		return 1
	case len(code) > 1 && code[0] == 0x41 && code[1]&^7 == instruction:
		return 2
	}
	return 0
}

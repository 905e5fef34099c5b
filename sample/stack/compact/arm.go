package compact

// Modes of encodings for ARM. Mode 3 refers to DWARF, which is elsewhere.
const (
	armLeaf  = 2
	armFrame = 4
)

// Instructions of ARM, and the bits that do not say which instruction it is.
const (
	makeFrame, makeFrameArgs = 0x910003fd, 0x007ffc00 // add x29, sp, #n
	giveBack, giveBackArgs   = 0x910003ff, 0x007ffc00 // add sp, sp, #n
	endFrame, endFrameArgs   = 0xa8407bfd, 0x01bf8000 // ldp x29, x30, [sp ...]
	restore, restoreArgs     = 0xa84003e0, 0x01bffc1f // ldp of two registers
	restoreF, restoreFArgs   = 0x6c4003e0, 0x01bffc1f // ldp of two floating point registers
	checkA, checkB           = 0xd50323bf, 0xd50323ff // autiasp, autibsp
)

func is(instruction, which, args uint32) bool { return instruction&^args == which }

// Linked says whether the link register has the return address of a function for ARM at offset
// pc: in a function that calls no other, and in one that has not yet made its frame or has
// removed it. ok is false if the encoding does not say it, or if the function's code is needed
// and was not read.
func (r Range) Linked(f Function, pc uint32) (linked, ok bool) {
	switch {
	case r.Encoding.mode() == armLeaf:
		return true, true
	case r.Encoding.mode() != armFrame || pc < f.Start || len(f.Code) < 4:
		return false, false
	case uint64(pc-f.Start)+4 > uint64(len(f.Code)):
		return false, true // beyond what was read, a function is in its body almost always
	}
	before := f.Code[:(pc-f.Start)&^3]
	made := false
	for code := before; len(code) > 0 && !made; code = code[4:] {
		made = is(le.Uint32(code), makeFrame, makeFrameArgs)
	}
	return !made || ended(before), true
}

// ended says whether the last instructions have removed a function's frame.
func ended(code []byte) bool {
	for ; len(code) >= 4; code = code[:len(code)-4] {
		switch w := le.Uint32(code[len(code)-4:]); {
		case is(w, endFrame, endFrameArgs):
			return true
		case w == checkA, w == checkB, is(w, giveBack, giveBackArgs), is(w, restore, restoreArgs), is(w, restoreF, restoreFArgs):
		default:
			return false
		}
	}
	return false
}

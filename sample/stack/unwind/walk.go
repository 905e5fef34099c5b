package unwind

import (
	"encoding/binary"

	"tachograph/sample/stack"
)

// Machine is what a walk must know about a processor. Registers have the numbers that they have
// in the tables.
type Machine struct {
	// PC is the number for the address of the instruction, SP of the stack's pointer, FP of the
	// frame's, Link of the register that a call leaves its return address in; Link is 0 if calls
	// leave it on the stack.
	PC, SP, FP, Link int
	// kept are the registers that a function leaves to its caller as they were.
	kept uint64
	// context is where the kernel's frame of a signal has the registers, from the stack's
	// pointer on; 0 if the tables tell that.
	context uint64
	// plain masks what belongs to an address: signatures are in the bits above.
	plain uint64
}

// The processors whose stacks can be walked.
var (
	X86 = Machine{PC: 16, SP: 7, FP: 6, kept: 1<<3 | 1<<6 | 1<<7 | 0xf<<12 | 1<<16, plain: 1<<64 - 1}
	ARM = Machine{PC: 32, SP: 31, FP: 29, Link: 30, kept: 0x1fff<<19 | 1<<32, context: 312, plain: 1<<48 - 1}
)

// Registers has the values of a thread's registers, by their numbers in the tables. Some may be
// unknown.
type Registers struct {
	values [registers]uint64
	known  uint64
}

// Set makes a register known.
func (r *Registers) Set(number int, value uint64) {
	r.values[number] = value
	r.known |= 1 << number
}

func (r *Registers) register(n uint64) (uint64, bool) {
	if n >= registers || r.known>>n&1 == 0 {
		return 0, false
	}
	return r.values[n], true
}

// thread is the thread whose stack is being walked.
type thread struct {
	Registers
	stack []byte // a copy
	at    uint64 // its address
	// cut says that a value was needed from beyond the end of the copy.
	cut       bool
	evaluated int // steps of expressions
}

// read reads a word of the stack.
func (t *thread) read(addr uint64) (uint64, bool) {
	off := addr - t.at
	if off >= uint64(len(t.stack)) || uint64(len(t.stack))-off < 8 {
		const deepest = 1 << 30 // stacks are smaller
		t.cut = t.cut || off < deepest
		return 0, false
	}
	return binary.LittleEndian.Uint64(t.stack[off:]), true
}

// Finder returns the tables of the image that has the code at pc, and the difference between
// addresses in memory and the image's own. The Image is nil if the code has no tables; code is
// false if there is no code at pc.
type Finder func(pc uint64) (m *Image, bias uint64, code bool)

// A Walker walks along stacks. It remembers the rows that it has looked up, which are few: the
// same calls are met again and again.
type Walker struct {
	Machine  *Machine
	rows     map[rowKey]*row
	programs programs
}

type rowKey struct {
	image *Image
	pc    uint64
}

// maxRows bounds what a Walker remembers. A row takes some 300 bytes.
const maxRows = 1 << 14

// Walk appends the addresses of a stack to frames, the innermost first, up to its capacity.
// copied is a copy of the stack from the stack's pointer on. Walk does not keep it. A stack is
// Broken if its outer frames cannot be found, for lack of tables or because they make no sense,
// and Truncated if they are outside the copy, or are too many.
func (w *Walker) Walk(r *Registers, copied []byte, find Finder, frames []uint64) ([]uint64, stack.End) {
	k := w.Machine
	t := thread{Registers: *r, stack: copied, at: r.values[k.SP]}
	floor := t.at // of the frame: the caller's is above
	exact := true // pc is an instruction, not where a call returns to
	linked := false
	w.programs.steps = maxSteps
	for {
		pc := t.values[k.PC]
		if len(frames) == cap(frames) {
			return frames, stack.Truncated
		}
		// A call may be the last instruction of its function.
		looked := pc
		if !exact {
			looked--
		}
		m, bias, code := find(looked)
		if !code && len(frames) > 0 {
			return frames, stack.Broken
		}
		frames = append(frames, pc)
		var row *row
		if m != nil && m.machine == k {
			row = w.row(m, looked-bias)
		}
		if row == nil && m != nil && m.machine == k {
			outermost, done := t.inGo(k, m, looked-bias, exact, find)
			if outermost {
				return frames, stack.Whole
			}
			if done {
				floor, exact, linked = t.values[k.SP], false, true
				continue
			}
		}
		if row == nil {
			frame, known := t.register(uint64(k.FP))
			if known && frame == 0 && linked {
				return frames, stack.Whole // the empty record below the first function
			}
			if !known || frame < floor || !t.byFrame(k, frame) {
				return frames, t.ended()
			}
			floor, exact, linked = frame+16, false, true
			continue
		}
		if row.undefined() {
			return frames, stack.Whole
		}
		cfa, ok := t.step(k, row, exact)
		if !ok {
			return frames, t.ended()
		}
		switch {
		case row.signal: // which may have had a stack of its own
			t.cut = t.cut || t.values[k.SP]-t.at >= uint64(len(t.stack))
		// The caller's frame is above. But a function that has not used the stack yet, and
		// keeps its return address in a register, has none.
		case cfa < floor, cfa == floor && !(exact && k.Link != 0):
			return frames, stack.Broken
		}
		if t.values[k.PC] == 0 {
			return frames, stack.Whole
		}
		floor, exact, linked = t.values[k.SP], row.signal, false
	}
}

// ended is how a stack ends whose next frame was not found.
func (t *thread) ended() stack.End {
	if t.cut {
		return stack.Truncated
	}
	return stack.Broken
}

// inGo goes to the caller of a function in Go: by how much of the stack the function has used, if
// it may have no frame (the innermost has none if it is small) or the frame's pointer is not
// known. Elsewhere frame pointers are better: the runtime changes from one stack to another.
func (t *thread) inGo(k *Machine, m *Image, pc uint64, exact bool, find Finder) (outermost, done bool) {
	frame, known := t.register(uint64(k.FP))
	sp, ok := t.register(uint64(k.SP))
	if m.goDepths == nil || k.Link != 0 || known && !exact || !ok {
		return false, false
	}
	depth, outermost, ok := m.goDepths.At(pc)
	if outermost || !ok {
		return outermost, false
	}
	ret, ok := t.read(sp + depth)
	if !ok {
		return false, false
	}
	if _, _, code := find(ret - 1); !code {
		return false, false
	}
	t.known = 0
	t.Set(k.PC, ret)
	t.Set(k.SP, sp+depth+8)
	switch saved, ok := t.read(sp + depth - 8); {
	case known && frame != sp+depth-8: // it has not made its own frame yet
		t.Set(k.FP, frame)
	case known && ok:
		t.Set(k.FP, saved)
	}
	return false, true
}

// byFrame goes to the caller by the frame's pointer: there are the caller's, and the return
// address.
func (t *thread) byFrame(k *Machine, frame uint64) bool {
	caller, ok := t.read(frame)
	ret, ok2 := t.read(frame + 8)
	if !ok || !ok2 || frame&7 != 0 || ret&k.plain == 0 {
		return false
	}
	t.known = 0 // it says nothing about other registers
	t.Set(k.FP, caller)
	t.Set(k.PC, ret&k.plain)
	if k.Link == 0 {
		t.Set(k.SP, frame+16)
	}
	return true
}

// interrupted goes to the function that a signal interrupted: the kernel keeps all registers, in
// the order of their numbers, in the signal's frame.
func (t *thread) interrupted(k *Machine) bool {
	sp, ok := t.register(uint64(k.SP))
	if !ok {
		return false
	}
	t.known = 0
	for n := range registers {
		v, ok := t.read(sp + k.context + 8*uint64(n))
		if !ok {
			return false
		}
		t.Set(n, v)
	}
	t.values[k.PC] &= k.plain
	return true
}

// undefined says that the function has no caller.
func (r *row) undefined() bool {
	for i := range r.rules {
		if r.rules[i].register == r.ra {
			return r.rules[i].kind == isLost
		}
	}
	return false
}

// step goes to the caller by a row; it returns the frame's address.
func (t *thread) step(k *Machine, r *row, exact bool) (cfa uint64, ok bool) {
	if r.signal && k.context != 0 {
		return 0, t.interrupted(k)
	}
	if r.cfa.kind == inRegister {
		cfa, ok = t.register(uint64(r.cfa.register))
		cfa += uint64(r.cfa.value)
	} else {
		cfa, ok = t.evaluate(r.cfa.expression, nil)
	}
	if !ok {
		return 0, false
	}
	caller := t.Registers
	if !r.signal {
		caller.known &= k.kept
	}
	caller.Set(k.SP, cfa)
	returns := false // the rules say where the return address is
	for i := range r.rules {
		s := &r.rules[i]
		v, ok := t.saved(s, cfa)
		if s.register == r.ra && s.kind != isSame {
			if returns = true; !ok {
				return 0, false
			}
		}
		if ok {
			caller.Set(int(s.register), v)
		} else {
			caller.known &^= 1 << s.register
		}
	}
	ret := caller.values[r.ra]
	if !returns {
		// Only an innermost function may still have its return address in a register.
		if ret, ok = t.register(uint64(r.ra)); !ok || !exact || k.Link == 0 || int(r.ra) != k.Link {
			return 0, false
		}
	}
	caller.Set(k.PC, ret&k.plain)
	t.Registers = caller
	return cfa, true
}

// saved returns the caller's value of a register.
func (t *thread) saved(s *saved, cfa uint64) (uint64, bool) {
	switch s.kind {
	case isSame:
		return t.register(uint64(s.register))
	case atDistance:
		return t.read(cfa + uint64(s.value))
	case isDistance:
		return cfa + uint64(s.value), true
	case inRegister:
		v, ok := t.register(uint64(s.rule.register))
		return v + uint64(s.value), ok
	case atValue:
		addr, ok := t.evaluate(s.expression, &cfa)
		if !ok {
			return 0, false
		}
		return t.read(addr)
	case isValue:
		return t.evaluate(s.expression, &cfa)
	}
	return 0, false
}

// row returns the row of an address of an image; nil if it has none.
func (w *Walker) row(m *Image, pc uint64) *row {
	key := rowKey{m, pc}
	r, known := w.rows[key]
	if known {
		return r
	}
	if f, ok := m.find(pc); ok {
		if r, _ = w.programs.row(&f, pc); w.programs.steps < 0 {
			return nil // this walk has used up its steps: another may find it
		}
	}
	if w.rows == nil || len(w.rows) >= maxRows {
		w.rows = make(map[rowKey]*row)
	}
	w.rows[key] = r
	return r
}

package mach

import (
	"tachograph/sample/stack/chain"
	"tachograph/sample/stack/compact"
)

const (
	// maxUnwind is how many bytes of unwind information and code a session may keep.
	maxUnwind = 16 << 20
	// codeRead is how much of a function's code is read: what makes its frame is at its
	// beginning, and time spent at the end of a longer one is not worth more.
	codeRead = 256
)

// unwinding has the rules of an image's functions that were read so far.
type unwinding struct {
	sought    bool
	table     *compact.Table // nil if the image has none
	functions map[uint32]compact.Function
}

// offset returns the offset of an address in an image, if a table can have it.
func (m *image) offset(addr uint64) (uint32, bool) {
	offset := addr - m.Base
	return uint32(offset), offset>>32 == 0
}

// function returns where the function begins that a rule at an offset needs the code of. ok is
// false if that is not known yet.
func (m *image) function(r compact.Range, offset uint32, innermost bool) (start uint32, ok bool) {
	if !innermost {
		return r.From, true
	}
	// The linker has joined functions of the same encoding.
	if start, ok := m.symbols.Function(uint64(offset)); ok && start > uint64(r.From) {
		return uint32(start), true
	}
	return r.From, m.sought
}

// rules are the rules of a process's functions for Intel's processors. Inside a suspension
// nothing is read for them: what is missing is noted, and read afterwards.
type rules struct {
	images  *images
	missing [8]struct {
		addr      uint64
		innermost bool
	}
	n int
}

func (r *rules) miss(addr uint64, innermost bool) {
	if r.n < len(r.missing) {
		r.missing[r.n].addr, r.missing[r.n].innermost = addr, innermost
		r.n++
	}
}

// Rule implements chain.Rules.
func (r *rules) Rule(addr uint64, innermost bool) (rule chain.Rule, ok bool) {
	e := r.images.near(addr)
	if e == nil {
		return rule, false
	}
	if !e.sought || e.contains(addr) && !e.image.unwinding.sought {
		r.miss(addr, innermost)
		return rule, false
	}
	offset, ok := addr-e.load, e.contains(addr)
	if !ok || e.image.header.ARM || offset>>32 != 0 {
		return rule, false
	}
	at, known := e.image.unwinding.table.Find(uint32(offset))
	if !known {
		return rule, false
	}
	if rule, known = at.Intel(compact.Function{}, uint32(offset), innermost); known {
		return rule, true
	}
	start, ok := e.image.function(at, uint32(offset), innermost)
	f, read := e.image.unwinding.functions[start]
	rule, known = at.Intel(f, uint32(offset), innermost)
	if !known && !(ok && read) && at.Frameless() {
		r.miss(addr, innermost)
	}
	return rule, known
}

// learn reads what was missing, so that another walk gets further; it returns false if there is
// nothing, or no more may be kept.
func (r *rules) learn() bool {
	before := r.images.learned
	for _, m := range r.missing[:r.n] {
		if at, offset, in := r.images.unwind(m.addr); at != nil && !at.header.ARM {
			r.images.code(at, in, offset, m.innermost)
		}
	}
	r.n = 0
	return r.images.learned != before
}

// unwind returns what the table of an image says about an address; nil if there is none.
func (m *images) unwind(addr uint64) (at *image, offset uint32, r compact.Range) {
	at = m.find(addr)
	if at == nil {
		return nil, 0, r
	}
	u := &at.unwinding
	if !u.sought {
		u.sought = true
		m.learned++
		if b := at.header.ReadUnwind(at.mem, &m.names.budget); b != nil {
			u.table, _ = compact.Read(b)
		}
	}
	offset, ok := at.offset(addr)
	if !ok {
		return nil, 0, r
	}
	r, ok = u.table.Find(offset)
	if !ok {
		return nil, 0, r
	}
	return at, offset, r
}

// code returns the function whose code a rule needs, reading it once.
func (m *images) code(at *image, r compact.Range, offset uint32, innermost bool) compact.Function {
	if innermost {
		m.names.symbols(at)
	}
	start, _ := at.function(r, offset, innermost)
	f, read := at.unwinding.functions[start]
	if read || m.names.budget.Unwind < codeRead {
		return f
	}
	m.learned++
	m.names.budget.Unwind -= codeRead
	f.Start = start
	b := make([]byte, min(codeRead, at.header.Size-uint64(start)))
	if at.mem.Read(at.Base+uint64(start), b) {
		f.Code = b
	}
	if at.unwinding.functions == nil {
		at.unwinding.functions = make(map[uint32]compact.Function)
	}
	at.unwinding.functions[start] = f
	return f
}

// saved returns the caller of the innermost function as its unwind information says; 0 if the
// frame pointers lead there. ok is false if there is no such information.
func (m *images) saved(seen *glance) (caller uint64, ok bool) {
	at, offset, r := m.unwind(seen.frames[0])
	if at == nil {
		return 0, false
	}
	f := m.code(at, r, offset, true)
	if at.header.ARM {
		linked, ok := r.Linked(f, offset)
		if linked {
			caller = seen.registers.LR & chain.Plain
		}
		return caller, ok
	}
	rule, ok := r.Intel(f, offset, true)
	if i := rule.Size/8 - 1; i < uint64(len(seen.top)) {
		caller = seen.top[i] & chain.Plain
	}
	return caller, ok
}

package symbol

import "encoding/binary"

// GoDepths says how deep the functions of a program in Go have filled the stack. It is in the
// table of the runtime, which even stripped programs keep.
type GoDepths struct{ l *lines }

// GoDepths returns the depths of a program in Go; nil if the image is none, is big-endian, or has
// a table of more than limit bytes.
func (f *ELF) GoDepths(limit uint64) *GoDepths {
	names := f.sectionNames()
	if s := f.sectionNamed(names, ".gopclntab"); s == nil || s.size > limit {
		return nil
	}
	if l := f.goLines(names, 0); l != nil && l.order == binary.LittleEndian {
		return &GoDepths{l}
	}
	return nil
}

// Bytes is about what it takes.
func (d *GoDepths) Bytes() int { return len(d.l.data) }

// At returns how many bytes the function at address has used of the stack there, from the
// address that it returns to on. outermost says that the function has no caller. ok is false if
// the address is not in a function, or in one that sets the stack's pointer as it likes.
func (d *GoDepths) At(address uint64) (bytes uint64, outermost, ok bool) {
	// Marks of a function, in the last but two byte of its record.
	const top, writes = 1, 2
	record, into, ok := d.l.function(address)
	if !ok {
		return 0, false, false
	}
	marks := d.l.field(record, d.l.record-4) >> 8
	v, ok := d.l.value(d.l.field(record, depthField), into)
	return uint64(v), marks&top != 0, ok && marks&writes == 0
}

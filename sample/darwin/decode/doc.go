// Package decode turns the bytes that a Darwin kernel hands out into values.
// It is portable: the same decoders run, and are tested, on every platform.
//
// A struct is never overlaid with a Go struct: many of Darwin's have 8-byte
// fields at offsets that are no multiple of 8, and newer kernels append fields
// while older ones answer with less. A Field is read where the kernel put it,
// byte by byte, and is absent if the answer is too short to hold it.
//
// Darwin runs on little-endian processors only, and all structs used here have
// the same layout on both.
package decode

import "encoding/binary"

// Field is a member of a kernel struct.
type Field struct {
	// Struct and Name are what Apple's headers call them.
	Struct, Name string
	Off, Size    int
	Signed       bool
}

// Uint reads f from the answer rec, widened to 64 bits (with its sign, for a
// signed field); false if rec is too short to have it.
func (f *Field) Uint(rec []byte) (uint64, bool) {
	if len(rec) < f.Off+f.Size {
		return 0, false
	}
	return number(rec[f.Off:f.Off+f.Size], f.Signed)
}

// Text reads a character array up to its NUL; the bytes alias rec.
func (f *Field) Text(rec []byte) ([]byte, bool) {
	if len(rec) < f.Off+f.Size {
		return nil, false
	}
	return untilNUL(rec[f.Off : f.Off+f.Size]), true
}

func number(b []byte, signed bool) (uint64, bool) {
	switch len(b) {
	case 1:
		if signed {
			return uint64(int8(b[0])), true
		}
		return uint64(b[0]), true
	case 2:
		if signed {
			return uint64(int16(binary.LittleEndian.Uint16(b))), true
		}
		return uint64(binary.LittleEndian.Uint16(b)), true
	case 4:
		if signed {
			return uint64(int32(binary.LittleEndian.Uint32(b))), true
		}
		return uint64(binary.LittleEndian.Uint32(b)), true
	case 8:
		return binary.LittleEndian.Uint64(b), true
	}
	return 0, false
}

func untilNUL(b []byte) []byte {
	for i, c := range b {
		if c == 0 {
			return b[:i]
		}
	}
	return b
}

// fields collects every field of this package, so that one test can hold them
// all against the measured layouts.
var fields []*Field

func field(structName, name string, off, size int, signed bool) *Field {
	f := &Field{structName, name, off, size, signed}
	fields = append(fields, f)
	return f
}

func u32(structName, name string, off int) *Field { return field(structName, name, off, 4, false) }
func u64(structName, name string, off int) *Field { return field(structName, name, off, 8, false) }
func i32(structName, name string, off int) *Field { return field(structName, name, off, 4, true) }

// Words copies an answer that was read as 32-bit words into bytes.
func Words(b []byte, words []uint32) []byte {
	b = b[:0]
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// Package decode converts the bytes of a Darwin kernel's answers to values. It is portable: the
// same decoders run, and are tested, on every platform.
//
// No Go struct is overlaid on a kernel's: many of Darwin's have 8-byte fields at offsets that
// are not a multiple of 8, and newer kernels append fields while older ones answer with less. A
// Field is read at the kernel's offset, byte by byte, and is absent if the answer is too short
// to contain it.
//
// Darwin runs on little-endian processors only. Nearly all structs have the same layout on both;
// a Field can describe the exceptions. The processor is a parameter, so that the layouts of both
// are tested everywhere.
package decode

import "encoding/binary"

// Field is a member of a kernel struct.
type Field struct {
	// Struct and Name are the names in Apple's headers.
	Struct, Name string
	Off, Size    int
	Signed       bool
	// Len is the number of elements of an array of numbers of Size bytes each; otherwise 0.
	Len int
	// ARM64 is added to the field's offset on arm64. Only is the processor (a GOARCH) whose
	// struct has the field, if only one has it.
	ARM64 int
	Only  string
}

// On returns the field with its layout on a processor, or nil if the struct lacks it there.
func (f *Field) On(arch string) *Field {
	switch {
	case f.Only != "" && f.Only != arch:
		return nil
	case f.ARM64 == 0 || arch != "arm64":
		return f
	}
	there := *f
	there.Off += f.ARM64
	return &there
}

// Element is Uint for an element of an array.
func (f *Field) Element(rec []byte, i int) (uint64, bool) {
	from := f.Off + i*f.Size
	if from < f.Off || len(rec) < from+f.Size {
		return 0, false
	}
	return number(rec[from:from+f.Size], f.Signed)
}

// Uint reads f from the answer rec, widened to 64 bits (sign-extended, for a signed field);
// false if rec is too short to contain it.
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

// fields are all fields described so far.
var fields []*Field

// Find returns the field of a struct with its layout on a processor, or nil.
func Find(structName, name, arch string) *Field {
	for _, f := range fields {
		if f.Struct == structName && f.Name == name {
			return f.On(arch)
		}
	}
	return nil
}

// Struct is the name of a kernel struct. Its methods describe its fields.
type Struct string

// Field describes a number, or characters or bytes of any length.
func (s Struct) Field(name string, off, size int, signed bool) *Field {
	return s.Array(name, off, size, 0, signed)
}

// Array describes an array of numbers of size bytes each.
func (s Struct) Array(name string, off, size, n int, signed bool) *Field {
	f := &Field{Struct: string(s), Name: name, Off: off, Size: size, Len: n, Signed: signed}
	fields = append(fields, f)
	return f
}

// U32, U64 and I32 describe the numbers of most structs.
func (s Struct) U32(name string, off int) *Field { return s.Field(name, off, 4, false) }
func (s Struct) U64(name string, off int) *Field { return s.Field(name, off, 8, false) }
func (s Struct) I32(name string, off int) *Field { return s.Field(name, off, 4, true) }

// Words copies an answer that was read as 32-bit words to bytes.
func Words(b []byte, words []uint32) []byte {
	b = b[:0]
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

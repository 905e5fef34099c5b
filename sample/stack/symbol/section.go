package symbol

import (
	"debug/elf"
	"errors"
)

// Machine returns the processor that an image is for, and whether it has 64 bits. It is 0 if
// the image is big-endian.
func (f *ELF) Machine() (m elf.Machine, wide bool) { return f.machine, f.wide }

// Section returns the content of a section and its address, reading at most limit bytes. A
// missing section is empty.
func (f *ELF) Section(name string, limit uint64) (address uint64, b []byte, err error) {
	s := f.sectionNamed(f.sectionNames(), name)
	switch {
	case s == nil || s.kind == elf.SHT_NOBITS:
		return 0, nil, nil
	case s.flags&elf.SHF_COMPRESSED != 0:
		return 0, nil, errors.New("its section " + name + " is compressed")
	}
	b, err = region(f.r, f.size, s.offset, s.size, limit)
	return s.address, b, err
}

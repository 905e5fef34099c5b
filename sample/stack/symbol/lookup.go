package symbol

import (
	"debug/elf"
	"errors"
)

// elfSymbol is a symbol that has a name and is defined in the file.
type elfSymbol struct {
	name          string
	kind          elf.SymType
	address, size uint64
	in            *section
}

// eachSymbol goes through a table of symbols.
func (f *ELF) eachSymbol(s *section, each func(elfSymbol) error) error {
	if uint64(s.link) >= uint64(len(f.sections)) {
		return errors.New("its symbols have no names")
	}
	names, err := region(f.r, f.size, f.sections[s.link].offset, f.sections[s.link].size, maxNames)
	if err != nil {
		return err
	}
	size := uint64(16)
	if f.wide {
		size = 24
	}
	symbols, err := region(f.r, f.size, s.offset, s.size-s.size%size, maxSymbols*size)
	if err != nil {
		return err
	}
	given := 0
	for ; uint64(len(symbols)) >= size; symbols = symbols[size:] {
		info, in := symbols[12], f.order.Uint16(symbols[14:])
		if f.wide {
			info, in = symbols[4], f.order.Uint16(symbols[6:])
		}
		if uint64(in) >= uint64(len(f.sections)) || in == 0 {
			continue // defined elsewhere
		}
		y := elfSymbol{name: text(names, uint64(f.order.Uint32(symbols))), kind: elf.SymType(info & 15),
			address: f.word(symbols, 4, 8), size: f.word(symbols, 8, 16), in: &f.sections[in]}
		if y.name == "" {
			continue
		}
		if given += len(y.name); given > maxNames {
			return errors.New("its symbols have more text than real ones") // the same, over and over
		}
		if err := each(y); err != nil {
			return err
		}
	}
	return nil
}

// Symbols calls each with the functions and variables that the file defines: all of them if it
// still has its symbols, else those that it exports. The file must still be open.
func (f *ELF) Symbols(each func(name string, address, size uint64)) error {
	s := f.sectionOf(elf.SHT_SYMTAB)
	if s == nil {
		s = f.sectionOf(elf.SHT_DYNSYM)
	}
	if s == nil {
		return nil
	}
	return f.eachSymbol(s, func(y elfSymbol) error {
		each(y.name, y.address, y.size)
		return nil
	})
}

// SectionAddress returns the address of the section of that name. The file must still be
// open.
func (f *ELF) SectionAddress(name string) (address uint64, ok bool) {
	s := f.sectionNamed(f.sectionNames(), name)
	if s == nil {
		return 0, false
	}
	return s.address, true
}

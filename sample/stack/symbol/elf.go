package symbol

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"strings"
)

// ELF is the content of an ELF image's headers. Go's debug/elf reads whatever sizes a file
// claims, and makes a struct of each symbol: this reads only what is needed, within limits.
type ELF struct {
	// ID is the build ID in lower-case hexadecimal, or else Go's own build ID unchanged; "" if
	// there is none.
	ID string
	// Segments are the executable parts of the file that are mapped.
	Segments []Segment

	r        io.ReaderAt
	size     int64
	order    binary.ByteOrder
	machine  elf.Machine // 0 if of the other byte order
	wide     bool        // 64 bits
	sections []section
}

// Segment is a mapped part of a file: at Address in the image's own terms.
type Segment struct{ Offset, Address, Size uint64 }

type section struct {
	kind                  elf.SectionType
	flags                 elf.SectionFlag
	name, link            uint32
	address, offset, size uint64
}

// Bias returns the difference between addresses in memory and the image's own, if the part of
// the file at offset was mapped at start.
func (f *ELF) Bias(start, offset uint64) (uint64, bool) {
	// The kernel maps whole pages: a mapping begins up to a page before its segment, and two
	// segments may share a page of the file.
	const small, large = 4 << 10, 64 << 10
	for _, page := range []uint64{small, large} {
		for _, s := range f.Segments {
			if s.Offset&^(page-1) == offset {
				return start - offset - (s.Address - s.Offset), true
			}
		}
	}
	for _, s := range f.Segments { // a part of a segment
		if offset >= s.Offset && offset-s.Offset < s.Size {
			return start - offset - (s.Address - s.Offset), true
		}
	}
	return 0, false
}

// ReadELF reads the headers of an ELF image.
func ReadELF(r io.ReaderAt, size int64) (*ELF, error) {
	head, err := region(r, size, 0, 52, 52)
	if err != nil || string(head[:4]) != "\x7fELF" {
		return nil, errFormat
	}
	f := &ELF{r: r, size: size, order: binary.LittleEndian, wide: elf.Class(head[elf.EI_CLASS]) == elf.ELFCLASS64}
	if elf.Data(head[elf.EI_DATA]) == elf.ELFDATA2MSB {
		f.order = binary.BigEndian
	} else {
		f.machine = elf.Machine(f.order.Uint16(head[18:]))
	}
	var phoff, shoff uint64
	var counts []byte // e_phentsize and what follows it
	if f.wide {
		if head, err = region(r, size, 0, 64, 64); err != nil {
			return nil, err
		}
		phoff, shoff, counts = f.order.Uint64(head[32:]), f.order.Uint64(head[40:]), head[54:]
	} else {
		phoff, shoff, counts = uint64(f.order.Uint32(head[28:])), uint64(f.order.Uint32(head[32:])), head[42:]
	}
	count := func(i int) uint64 { return uint64(f.order.Uint16(counts[2*i:])) }
	if err := f.readSections(shoff, count(2), count(3)); err != nil {
		return nil, err
	}
	if err := f.readSegments(phoff, count(0), count(1)); err != nil {
		return nil, err
	}
	return f, nil
}

// word reads an address or size, which is at offset narrow or wide depending on the image.
func (f *ELF) word(b []byte, narrow, wide int) uint64 {
	if f.wide {
		return f.order.Uint64(b[wide:])
	}
	return uint64(f.order.Uint32(b[narrow:]))
}

var errHeaders = errors.New("its headers have an unknown size")

func (f *ELF) readSections(off, each, n uint64) error {
	if n == 0 || off == 0 {
		return nil // its section headers were stripped too
	}
	if least := uint64(40); f.wide && each < 64 || each < least {
		return errHeaders
	}
	b, err := region(f.r, f.size, off, n*each, maxHeaders)
	if err != nil {
		return err
	}
	f.sections = make([]section, n)
	for i := range f.sections {
		h := b[uint64(i)*each:]
		s := &f.sections[i]
		s.name, s.kind = f.order.Uint32(h), elf.SectionType(f.order.Uint32(h[4:]))
		s.flags, s.address = elf.SectionFlag(f.word(h, 8, 8)), f.word(h, 12, 16)
		s.offset, s.size = f.word(h, 16, 24), f.word(h, 20, 32)
		if f.wide {
			s.link = f.order.Uint32(h[40:])
		} else {
			s.link = f.order.Uint32(h[24:])
		}
		if s.kind == elf.SHT_NOTE {
			f.note(s.offset, s.size)
		}
	}
	return nil
}

func (f *ELF) readSegments(off, each, n uint64) error {
	if n == 0 {
		return nil
	}
	if least := uint64(32); f.wide && each < 56 || each < least {
		return errHeaders
	}
	b, err := region(f.r, f.size, off, n*each, maxHeaders)
	if err != nil {
		return err
	}
	// Notes are read from segments only if there are no sections: in files that hold only what
	// was stripped from others, segments point nowhere.
	notes := len(f.sections) == 0
	for i := uint64(0); i < n; i++ {
		h := b[i*each:]
		flags := elf.ProgFlag(f.word(h, 24, 4) & (1<<32 - 1))
		if f.wide {
			flags = elf.ProgFlag(f.order.Uint32(h[4:]))
		}
		offset, address, size := f.word(h, 4, 8), f.word(h, 8, 16), f.word(h, 16, 32)
		switch kind := elf.ProgType(f.order.Uint32(h)); {
		case kind == elf.PT_NOTE && notes:
			f.note(offset, size)
		case kind == elf.PT_LOAD && flags&elf.PF_X != 0:
			f.Segments = append(f.Segments, Segment{offset, address, size})
		}
	}
	return nil
}

// note looks for a build ID in notes. It prefers the linker's, which is better known, to Go's.
func (f *ELF) note(off, size uint64) {
	const most, gnuBuild, goBuild = 64 << 10, 3, 4
	b, err := region(f.r, f.size, off, size, most)
	if err != nil {
		return // an image without an ID is still an image
	}
	align := func(n uint32) uint64 { return (uint64(n) + 3) &^ 3 }
	for len(b) >= 12 {
		nameSize, descSize, kind := f.order.Uint32(b), f.order.Uint32(b[4:]), f.order.Uint32(b[8:])
		b = b[12:]
		if align(nameSize)+uint64(descSize) > uint64(len(b)) {
			return
		}
		name, desc := string(b[:nameSize]), b[align(nameSize):align(nameSize)+uint64(descSize)]
		const longest = 256
		switch {
		case len(desc) == 0 || len(desc) > longest:
		case name == "GNU\x00" && kind == gnuBuild:
			f.ID = hex.EncodeToString(desc)
			return
		case name == "Go\x00\x00" && kind == goBuild && f.ID == "" && printable(desc):
			f.ID = string(desc)
		}
		b = b[min(uint64(len(b)), align(nameSize)+align(descSize)):]
	}
}

func printable(b []byte) bool {
	for _, c := range b {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return true
}

// sectionNamed finds a section whose name ends with name: in position-independent programs the
// names of Go's sections have a prefix.
func (f *ELF) sectionNamed(names []byte, name string) *section {
	for i := range f.sections {
		if strings.HasSuffix(text(names, uint64(f.sections[i].name)), name) {
			return &f.sections[i]
		}
	}
	return nil
}

// sectionNames returns the names of sections. They are in the section that the header names, or
// in the one that has its own name in it.
func (f *ELF) sectionNames() []byte {
	const most = 1 << 20
	for i := range f.sections {
		s := &f.sections[i]
		if s.kind != elf.SHT_STRTAB {
			continue
		}
		if b, err := region(f.r, f.size, s.offset, s.size, most); err == nil && text(b, uint64(s.name)) == ".shstrtab" {
			return b
		}
	}
	return nil
}

// table reads the names of functions: of all functions if the file still has its symbols, else
// of the exported ones and those that its makers left in compressed form, and Go's own table as
// well.
func (f *ELF) table() (*Table, error) {
	var b builder
	symbols := f.sectionOf(elf.SHT_SYMTAB)
	stripped := symbols == nil
	if stripped {
		symbols = f.sectionOf(elf.SHT_DYNSYM)
	}
	var textStart uint64
	if symbols != nil {
		if err := f.readSymbols(symbols, &b, &textStart); err != nil {
			return nil, err
		}
	}
	names := f.sectionNames()
	if stripped {
		f.readPacked(names, &b)
	}
	t := b.table(f.ID)
	t.lines = f.goLines(names, textStart)
	if t.stripped = stripped; stripped {
		t.link = f.debugLink(names)
	}
	return t, nil
}

func (f *ELF) sectionOf(kind elf.SectionType) *section {
	for i := range f.sections {
		if s := &f.sections[i]; s.kind == kind && s.size > 0 {
			return s
		}
	}
	return nil
}

// readSymbols adds the functions of a table of symbols.
func (f *ELF) readSymbols(s *section, b *builder, textStart *uint64) error {
	return f.eachSymbol(s, func(y elfSymbol) error {
		if y.in.flags&elf.SHF_EXECINSTR == 0 {
			return nil // a variable
		}
		switch y.kind {
		case elf.STT_FUNC, elf.STT_GNU_IFUNC, elf.STT_NOTYPE:
		default:
			return nil
		}
		if y.name[0] == '$' { // markers of assemblers
			return nil
		}
		if y.name == "runtime.text" {
			*textStart = y.address
		}
		return b.add(y.address, y.size, y.in.address+y.in.size, y.name)
	})
}

// goLines reads Go's own table, if the program has one.
func (f *ELF) goLines(names []byte, textStart uint64) *lines {
	s := f.sectionNamed(names, ".gopclntab")
	if s == nil || s.kind == elf.SHT_NOBITS {
		return nil
	}
	data, err := region(f.r, f.size, s.offset, s.size, maxLines)
	if err != nil {
		return nil
	}
	l := readLines(data)
	if l == nil {
		return nil
	}
	// All else is relative to the address of the runtime's first function.
	if textStart == 0 {
		textStart = f.moduleText(names, s.address, l)
	}
	if textStart == 0 {
		textStart = l.told
	}
	if textStart == 0 {
		if code := f.sectionNamed(names, ".text"); code != nil {
			textStart = code.address
		}
	}
	l.text = textStart
	return l
}

// moduleText finds where the runtime's code begins, in the runtime's record of the program,
// which begins with the address of the table.
func (f *ELF) moduleText(names []byte, table uint64, l *lines) uint64 {
	s := f.sectionNamed(names, ".go.module")
	const most, first, start = 64 << 10, 20, 22 // words
	if s == nil || s.kind == elf.SHT_NOBITS {
		return 0
	}
	b, err := region(f.r, f.size, s.offset, s.size, most)
	if err != nil {
		return 0
	}
	size := 4
	if f.wide {
		size = 8
	}
	if len(b) < (start+1)*size {
		return 0
	}
	word := func(i int) uint64 { return f.word(b[i*size:], 0, 0) }
	if word(0) != table || word(first) != word(start)+l.entry(0) {
		return 0
	}
	return word(start)
}

// BuildID finds a build ID in notes, such as the kernel's in /sys/kernel/notes.
func BuildID(notes []byte) string {
	f := &ELF{r: bytes.NewReader(notes), size: int64(len(notes)), order: binary.NativeEndian}
	f.note(0, uint64(len(notes)))
	return f.ID
}

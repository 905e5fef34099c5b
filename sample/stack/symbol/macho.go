package symbol

import (
	"debug/macho"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// mach is an image of a Mach-O file, 64 bits only, as all have been since macOS 10.15.
type mach struct {
	r         io.ReaderAt
	size      int64
	processor string
	id        string
	text      uint64 // preferred address of __TEXT
	sections  []machSection
	// Offsets in the file.
	symbols, symbolCount, names, nameSize uint32
	starts, startSize                     uint32
}

type machSection struct {
	name          string
	address, size uint64
	offset        uint32
	code          bool
}

// Names of load commands that debug/macho does not have.
const (
	commandUUID           = 0x1b
	commandFunctionStarts = 0x26
)

// machParts finds the images of a Mach-O file: one, or one for each processor.
func machParts(r io.ReaderAt, size int64) ([]variant, error) {
	head, err := region(r, size, 0, 8, 8)
	if err != nil {
		return nil, errFormat
	}
	magic, n := binary.BigEndian.Uint32(head), uint64(binary.BigEndian.Uint32(head[4:]))
	const fat64, most = macho.MagicFat + 1, 32 // Java's classes begin like fat files, with more "processors"
	each := uint64(20)
	switch {
	case magic == fat64:
		each = 32
	case magic != macho.MagicFat:
		p, err := machPart(r, size)
		if err != nil {
			return nil, err
		}
		return []variant{p}, nil
	}
	if n == 0 || n > most {
		return nil, errFormat
	}
	list, err := region(r, size, 8, n*each, n*each)
	if err != nil {
		return nil, err
	}
	var parts []variant
	for ; len(list) > 0; list = list[each:] {
		off, length := uint64(binary.BigEndian.Uint32(list[8:])), uint64(binary.BigEndian.Uint32(list[12:]))
		if magic == fat64 {
			off, length = binary.BigEndian.Uint64(list[8:]), binary.BigEndian.Uint64(list[16:])
		}
		if off > uint64(size) || length > uint64(size)-off {
			continue
		}
		if p, err := machPart(io.NewSectionReader(r, int64(off), int64(length)), int64(length)); err == nil {
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		return nil, errFormat
	}
	return parts, nil
}

func machPart(r io.ReaderAt, size int64) (variant, error) {
	const header = 32
	head, err := region(r, size, 0, header, header)
	if err != nil {
		return variant{}, errFormat
	}
	order := binary.LittleEndian
	if order.Uint32(head) != macho.Magic64 {
		return variant{}, errFormat
	}
	m := &mach{r: r, size: size}
	switch macho.Cpu(order.Uint32(head[4:])) {
	case macho.CpuAmd64:
		m.processor = "amd64"
	case macho.CpuArm64:
		m.processor = "arm64"
	}
	commands, err := region(r, size, header, uint64(order.Uint32(head[20:])), maxHeaders)
	if err != nil {
		return variant{}, err
	}
	for range order.Uint32(head[16:]) {
		if len(commands) < 8 {
			break
		}
		n := order.Uint32(commands[4:])
		if n < 8 || uint64(n) > uint64(len(commands)) {
			break
		}
		m.command(order.Uint32(commands), commands[:n])
		commands = commands[n:]
	}
	return variant{m.processor, m.id, m.table}, nil
}

// command takes in a load command. It ignores one that is too short.
func (m *mach) command(kind uint32, b []byte) {
	order := binary.LittleEndian
	switch {
	case kind == commandUUID && len(b) >= 24:
		u := b[8:24]
		m.id = strings.ToUpper(fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:]))
	case macho.LoadCmd(kind) == macho.LoadCmdSymtab && len(b) >= 24:
		m.symbols, m.symbolCount = order.Uint32(b[8:]), order.Uint32(b[12:])
		m.names, m.nameSize = order.Uint32(b[16:]), order.Uint32(b[20:])
	case kind == commandFunctionStarts && len(b) >= 16:
		m.starts, m.startSize = order.Uint32(b[8:]), order.Uint32(b[12:])
	case macho.LoadCmd(kind) == macho.LoadCmdSegment64 && len(b) >= 72:
		if text(b[8:24], 0) == "__TEXT" {
			m.text = order.Uint64(b[24:])
		}
		const section = 80
		n := order.Uint32(b[64:])
		for b = b[72:]; n > 0 && len(b) >= section; n, b = n-1, b[section:] {
			const pureInstructions, someInstructions = 0x80000000, 0x400
			m.sections = append(m.sections, machSection{
				name: text(b[:16], 0), address: order.Uint64(b[32:]), size: order.Uint64(b[40:]),
				offset: order.Uint32(b[48:]), code: order.Uint32(b[64:])&(pureInstructions|someInstructions) != 0,
			})
		}
	}
}

// table reads the names of functions, and where functions without names begin.
func (m *mach) table() (*Table, error) {
	var b builder
	textStart, err := m.readSymbols(&b)
	if err != nil {
		return nil, err
	}
	if err := m.readStarts(&b); err != nil {
		return nil, err
	}
	t := b.table(m.id)
	t.lines = m.goLines(textStart)
	return t, nil
}

func (m *mach) readSymbols(b *builder) (textStart uint64, err error) {
	const each = 16
	if m.symbolCount > maxSymbols {
		return 0, fmt.Errorf("it has %d symbols: at most %d are read", m.symbolCount, maxSymbols)
	}
	names, err := region(m.r, m.size, uint64(m.names), uint64(m.nameSize), maxNames)
	if err != nil {
		return 0, err
	}
	symbols, err := region(m.r, m.size, uint64(m.symbols), uint64(m.symbolCount)*each, maxSymbols*each)
	if err != nil {
		return 0, err
	}
	order := binary.LittleEndian
	for ; len(symbols) >= each; symbols = symbols[each:] {
		const debugger, kind, inSection = 0xe0, 0x0e, 0x0e
		in, value := int(symbols[5]), order.Uint64(symbols[8:])
		if symbols[4]&debugger != 0 || symbols[4]&kind != inSection || in == 0 || in > len(m.sections) || !m.sections[in-1].code || value < m.text {
			continue
		}
		// In Mach-O, names of C have a leading underscore, those of Go do not.
		name := strings.TrimPrefix(text(names, uint64(order.Uint32(symbols))), "_")
		if name == "<redacted>" { // in what was extracted from a shared cache
			name = ""
		}
		if name == "runtime.text" {
			textStart = value
		}
		s := &m.sections[in-1]
		if err := b.add(value-m.text, 0, s.address+s.size-m.text, name); err != nil {
			return 0, err
		}
	}
	return textStart, nil
}

// readStarts reads where functions begin, one after the other: without it, a function with
// a name would extend over all stripped functions after it.
func (m *mach) readStarts(b *builder) error {
	starts, err := region(m.r, m.size, uint64(m.starts), uint64(m.startSize), maxSymbols)
	if err != nil {
		return errors.New("its list of functions lies outside of it")
	}
	var at, end uint64
	for _, s := range m.sections {
		if s.code {
			end = max(end, s.address+s.size-m.text)
		}
	}
	for len(starts) > 0 {
		d, n := binary.Uvarint(starts)
		if d == 0 || n <= 0 {
			break
		}
		starts = starts[n:]
		at += d
		if err := b.add(at, 0, end, ""); err != nil {
			return err
		}
	}
	return nil
}

// goLines reads Go's own table, if the program has one. Its addresses are relative to the
// beginning of __TEXT, as all are here.
func (m *mach) goLines(textStart uint64) *lines {
	code := uint64(0)
	for _, s := range m.sections {
		if s.name == "__text" {
			code = s.address
		}
	}
	for _, s := range m.sections {
		if s.name != "__gopclntab" || s.offset == 0 {
			continue
		}
		data, err := region(m.r, m.size, uint64(s.offset), s.size, maxLines)
		if err != nil {
			return nil
		}
		l := readLines(data)
		if l == nil {
			return nil
		}
		for _, start := range []uint64{textStart, l.told, code} {
			if start >= m.text && start != 0 {
				l.text = start - m.text
				return l
			}
		}
	}
	return nil
}

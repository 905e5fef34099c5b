package symbol

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// These files are made by hand, so that they can have content that no linker writes.

var little = binary.LittleEndian

func words(v ...any) []byte {
	var b bytes.Buffer
	for _, x := range v {
		switch x := x.(type) {
		case string:
			b.WriteString(x)
		case []byte:
			b.Write(x)
		default:
			binary.Write(&b, little, x)
		}
	}
	return b.Bytes()
}

func padded(s string, n int) []byte { return append([]byte(s), make([]byte, n-len(s))...) }

type madeSection struct {
	name string
	text []byte
}

// elfFile returns a file with three functions in .text, which is mapped from offset 0x40 to
// 0x401000: one with a size, two without, a variable and a mark. It has a build ID,
// and further sections as they are given.
func elfFile(more ...madeSection) []byte {
	names := []byte("\x00.shstrtab\x00.text\x00.symtab\x00.strtab\x00.note\x00")
	for _, m := range more {
		names = append(append(names, m.name...), 0)
	}
	at := func(name string) uint32 { return uint32(bytes.Index(names, []byte(name+"\x00"))) }
	functions := []byte("\x00first\x00second\x00third\x00variable\x00$x\x00alias\x00")
	symbol := func(name string, info byte, section uint16, value, size uint64) []byte {
		return words(uint32(bytes.Index(functions, []byte(name+"\x00"))), info, byte(0), section, value, size)
	}
	symbols := bytes.Join([][]byte{make([]byte, 24),
		symbol("second", 2, 1, 0x401020, 0), symbol("first", 2, 1, 0x401000, 0x10), symbol("alias", 0x12, 1, 0x401020, 0),
		symbol("variable", 1, 5, 0x402000, 8), symbol("$x", 0, 1, 0x401022, 0), symbol("third", 0, 1, 0x401030, 0),
	}, nil)
	note := words(uint32(4), uint32(4), uint32(3), "GNU\x00", "\xde\xad\xbe\xef")
	parts := [][]byte{make([]byte, 0x40), symbols, functions, note, names}
	for _, m := range more {
		parts = append(parts, m.text)
	}
	const head, segments = 64, 56
	off := []uint64{head + segments}
	for _, p := range parts {
		off = append(off, off[len(off)-1]+uint64(len(p)))
	}
	section := func(name string, kind uint32, flags, address, offset, size uint64, link uint32, each uint64) []byte {
		return words(at(name), kind, flags, address, offset, size, link, uint32(0), uint64(1), each)
	}
	part := func(i int) (uint64, uint64) { return off[i], uint64(len(parts[i])) }
	text, textSize := part(0)
	table, tableSize := part(1)
	str, strSize := part(2)
	n, nSize := part(3)
	shstr, shstrSize := part(4)
	sections := bytes.Join([][]byte{make([]byte, 64),
		section(".text", 1, 6, 0x401000, text, textSize, 0, 0),
		section(".symtab", 2, 0, 0, table, tableSize, 3, 24),
		section(".strtab", 3, 0, 0, str, strSize, 0, 0),
		section(".note", 7, 2, 0, n, nSize, 0, 0),
		section(".shstrtab", 3, 0, 0, shstr, shstrSize, 0, 0),
	}, nil)
	for i, m := range more {
		offset, size := part(5 + i)
		sections = append(sections, section(m.name, 1, 0, 0, offset, size, 0, 0)...)
	}
	return bytes.Join([][]byte{
		words("\x7fELF\x02\x01\x01\x00", uint64(0), uint16(2), uint16(62), uint32(1), uint64(0x401000), uint64(head), off[len(parts)],
			uint32(0), uint16(head), uint16(segments), uint16(1), uint16(64), uint16(6+len(more)), uint16(5)),
		words(uint32(1), uint32(5), text, uint64(0x401000), uint64(0x401000), textSize, textSize, uint64(0x1000)),
		bytes.Join(parts, nil), sections,
	}, nil)
}

// machFile returns a file with a C function, a C++ function, a variable, and the beginning
// of a function that has no name any more. Its __TEXT has its address at 4 GB.
func machFile(cpu uint32, uuid byte) []byte {
	const text, header, segment, section, symtab = 1 << 32, 32, 72, 80, 24
	names := []byte("\x00_main\x00__ZN1a1bEv\x00_variable\x00")
	symbol := func(name string, in byte, value uint64) []byte {
		return words(uint32(bytes.Index(names, []byte(name+"\x00"))), byte(0x0e), in, uint16(0), value)
	}
	symbols := bytes.Join([][]byte{
		symbol("__ZN1a1bEv", 1, text+0x1080), symbol("_main", 1, text+0x1000), symbol("_variable", 2, text+0x2000),
		words(uint32(1), byte(0x2e), byte(1), uint16(0), uint64(text+0x1004)), // for the debugger
	}, nil)
	starts := []byte{0x80, 0x20, 0x40, 0x40, 0} // 0x1000, 0x1040, 0x1080
	commands := uint32(segment + 2*section + symtab + 24 + 16)
	data := header + commands
	machSection := func(name, in string, address, size uint64, flags uint32) []byte {
		return words(padded(name, 16), padded(in, 16), address, size, uint32(0), uint32(0), uint32(0), uint32(0), flags, uint32(0), uint64(0))
	}
	return bytes.Join([][]byte{
		words(uint32(0xfeedfacf), cpu, uint32(0), uint32(2), uint32(4), commands, uint32(0), uint32(0)),
		words(uint32(0x19), uint32(segment+2*section), padded("__TEXT", 16), uint64(text), uint64(0x3000), uint64(0), uint64(0x3000), uint32(5), uint32(5), uint32(2), uint32(0)),
		machSection("__text", "__TEXT", text+0x1000, 0x100, 0x80000400), machSection("__data", "__DATA", text+0x2000, 0x100, 0),
		words(uint32(2), uint32(symtab), data, uint32(4), data+uint32(len(symbols)), uint32(len(names))),
		words(uint32(0x1b), uint32(24), bytes.Repeat([]byte{uuid}, 16)),
		words(uint32(0x26), uint32(16), data+uint32(len(symbols)+len(names)), uint32(len(starts))),
		symbols, names, starts,
	}, nil)
}

const (
	cpuAmd64 = 0x01000007
	cpuArm64 = 0x0100000c
)

// fatFile returns images for several processors.
func fatFile(images ...[]byte) []byte {
	big := func(v ...uint32) (b []byte) {
		for _, x := range v {
			b = binary.BigEndian.AppendUint32(b, x)
		}
		return b
	}
	list, data := big(0xcafebabe, uint32(len(images))), []byte(nil)
	for _, m := range images {
		list = append(list, big(little.Uint32(m[4:]), 0, uint32(8+20*len(images)+len(data)), uint32(len(m)), 0)...)
		data = append(data, m...)
	}
	return append(list, data...)
}

func read(t *testing.T, b []byte, id string) *Table {
	t.Helper()
	table, err := Read(bytes.NewReader(b), int64(len(b)), id)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

type spot struct {
	offset uint64
	want   string
}

func checkPlaces(t *testing.T, table *Table, places []spot) {
	t.Helper()
	for _, p := range places {
		if got, _, _, ok := table.Find(p.offset); got != p.want || ok != (p.want != "") {
			t.Errorf("%#x is in %q, %v: want %q", p.offset, got, ok, p.want)
		}
	}
}

func TestELF(t *testing.T) {
	table := read(t, elfFile(), "")
	if table.ID() != "deadbeef" {
		t.Errorf("build ID %q", table.ID())
	}
	checkPlaces(t, table, []spot{
		{0x400fff, ""}, {0x401000, "first"}, {0x40100f, "first"}, {0x401010, ""},
		{0x401020, "second"}, {0x40102f, "second"}, {0x401030, "third"}, {0x40103f, "third"}, {0x401040, ""}, {0x402000, ""}, {1<<64 - 1, ""},
	})
}

func TestBias(t *testing.T) {
	f := &ELF{Segments: []Segment{{Offset: 0x1000, Address: 0x401000, Size: 0x3800}, {Offset: 0x4800, Address: 0x806800, Size: 0x1000}}}
	for _, c := range []struct {
		name          string
		start, offset uint64
		want          uint64
		ok            bool
	}{
		{"not moved", 0x401000, 0x1000, 0, true},
		{"moved", 0x7f0000401000, 0x1000, 0x7f0000000000, true},
		{"a part of it", 0x403000, 0x3000, 0, true},
		{"a page in common", 0x806000, 0x4000, 0, true},
		{"not executable", 0x900000, 0x9000, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, ok := f.Bias(c.start, c.offset); got != c.want || ok != c.ok {
				t.Errorf("%#x, %v", got, ok)
			}
		})
	}
}

func TestMachO(t *testing.T) {
	table := read(t, machFile(cpuArm64, 0xab), "")
	if want := "ABABABAB-ABAB-ABAB-ABAB-ABABABABABAB"; table.ID() != want {
		t.Errorf("UUID %q", table.ID())
	}
	checkPlaces(t, table, []spot{
		{0xfff, ""}, {0x1000, "main"}, {0x103f, "main"}, {0x1040, ""}, {0x107f, ""}, {0x1080, "_ZN1a1bEv"}, {0x10ff, "_ZN1a1bEv"}, {0x1100, ""}, {0x2000, ""},
	})
}

func TestFatMachO(t *testing.T) {
	b := fatFile(machFile(cpuAmd64, 1), machFile(cpuArm64, 2))
	ids, err := Identify(bytes.NewReader(b), int64(len(b)))
	if err != nil || len(ids) != 2 {
		t.Fatal(ids, err)
	}
	for _, id := range ids {
		if got := read(t, b, id).ID(); got != id {
			t.Errorf("of %s it took %s", id, got)
		}
	}
	if _, err := Read(bytes.NewReader(b), int64(len(b)), "03030303-0303-0303-0303-030303030303"); err == nil {
		t.Error("an image that is not there was found")
	}
}

// A header's numbers are believed only if the file has so many bytes.
func TestLies(t *testing.T) {
	lie := func(b []byte, at int, v uint32) []byte {
		little.PutUint32(b[at:], v)
		return b
	}
	sections := func(b []byte) int { return int(little.Uint64(b[40:])) }
	file := elfFile()
	for name, b := range map[string][]byte{
		"nothing":              nil,
		"a text":               []byte("#!/bin/sh\necho hello\n"),
		"a header alone":       file[:64],
		"cut in the middle":    file[:len(file)/2],
		"sections elsewhere":   lie(elfFile(), 44, 0xffffff),
		"symbols without end":  lie(elfFile(), sections(file)+2*64+36, 0xffffff),
		"names somewhere else": lie(elfFile(), sections(file)+3*64+28, 0xffffff),
		"no such names":        lie(elfFile(), sections(file)+2*64+40, 0xffff),
		"symbols by millions":  lie(machFile(cpuAmd64, 1), 32+72+2*80+12, 0xffffffff),
		"a class of Java":      []byte("\xca\xfe\xba\xbe\x00\x00\x00\x41" + string(make([]byte, 4000))),
	} {
		t.Run(name, func(t *testing.T) {
			if table, err := Read(bytes.NewReader(b), int64(len(b)), ""); err == nil {
				t.Errorf("%+v", table)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add(elfFile())
	f.Add(machFile(cpuArm64, 1))
	f.Add(fatFile(machFile(cpuAmd64, 1), machFile(cpuArm64, 2)))
	f.Add(stripped(packedSymbols(f, elfFile()), linkTo("a.debug", elfFile())))
	f.Fuzz(func(t *testing.T, b []byte) {
		if e, err := ReadELF(bytes.NewReader(b), int64(len(b))); err == nil {
			e.Bias(0x1000, 0)
		}
		table, err := Read(bytes.NewReader(b), int64(len(b)), "")
		if err != nil {
			return
		}
		if packed := bytes.Contains(b, []byte(".gnu_debugdata")); table.Bytes() > 64*len(b)+1<<10 && !packed {
			t.Errorf("%d bytes became %d", len(b), table.Bytes())
		}
		for i, g := range table.functions {
			if i > 0 && g.start <= table.functions[i-1].start {
				t.Fatal("functions are not sorted")
			}
			table.Find(g.start)
			table.Find(g.start + uint64(g.size))
		}
	})
}

package unwind

import (
	"bytes"
	"encoding/binary"
	"testing"

	"tachograph/sample/stack"
)

// The linker's table and a pass over the entries find the same functions.
func TestTables(t *testing.T) {
	m := program()
	sorted := *m
	sorted.index = nil
	if !sorted.header(0x200000, m.made(0x200000)) {
		t.Fatal("the table is not understood")
	}
	for pc := uint64(0xff0); pc < 0x2000; pc++ {
		a, ok := m.find(pc)
		b, ok2 := sorted.find(pc)
		if ok != ok2 || a.start != b.start || a.size != b.size || ok != (pc >= 0x1000 && pc < 0x19ff && pc != 0x18fe && !(pc >= 0x1800 && pc < 0x18ff)) {
			t.Fatalf("at %#x: %v %#x, %v %#x", pc, ok, a.start, ok2, b.start)
		}
	}
	for _, b := range [][]byte{nil, {1}, {2, 0x1b, 3, 0x3b, 0, 0, 0, 0, 1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}, {1, 0x1b, 3, 0x3b, 0, 0, 0, 0, 2, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}, {1, 0x1b, 0xff, 0xff, 0, 0, 0, 0, 1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}} {
		if (&Image{}).header(0, b) {
			t.Errorf("% x passes for a table", b)
		}
	}
}

// Entries for debuggers have absolute addresses, and another mark of what is common.
func TestDebugTables(t *testing.T) {
	common := []byte{0xff, 0xff, 0xff, 0xff, 4, 0, 8, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1, 0, 0, 0, 0}
	b := append(binary.LittleEndian.AppendUint32(nil, uint32(len(common))), common...)
	f := binary.LittleEndian.AppendUint64(make([]byte, 4), 0x401000)
	f = append(binary.LittleEndian.AppendUint64(f, 0x20), 0x41, 0x0e, 16, 0)
	b = append(binary.LittleEndian.AppendUint32(b, uint32(len(f))), f...)
	m := &Image{machine: &X86, frames: b, debug: true}
	m.scan()
	found, ok := m.find(0x401010)
	p := programs{steps: maxSteps}
	if !ok || found.start != 0x401000 || found.size != 0x20 {
		t.Fatalf("%v %+v", ok, found)
	}
	if r, ok := p.row(&found, 0x401010); !ok || r.shown(&X86) != "rsp+16 ra=c-8" {
		t.Errorf("%v %+v", ok, r)
	}
}

// elfWith makes an ELF image for x86-64 with these sections.
func elfWith(names []string, addresses []uint64, contents [][]byte) []byte {
	var b bytes.Buffer
	b.Write(make([]byte, 64))
	text := []byte{0}
	type header struct {
		Name, Kind           uint32
		Flags, Addr, Off, Sz uint64
		Link, Info           uint32
		Align, Each          uint64
	}
	headers := []header{{}}
	for i, name := range append(names, ".shstrtab") {
		h := header{Name: uint32(len(text)), Kind: 1, Off: uint64(b.Len())}
		text = append(append(text, name...), 0)
		if i < len(names) {
			h.Addr = addresses[i]
			b.Write(contents[i])
		} else {
			h.Kind = 3
			b.Write(text)
		}
		h.Sz = uint64(b.Len()) - h.Off
		headers = append(headers, h)
	}
	at := b.Len()
	binary.Write(&b, binary.LittleEndian, headers)
	out := b.Bytes()
	copy(out, "\x7fELF\x02\x01\x01")
	binary.LittleEndian.PutUint16(out[16:], 3)
	binary.LittleEndian.PutUint16(out[18:], 62)
	binary.LittleEndian.PutUint64(out[40:], uint64(at))
	binary.LittleEndian.PutUint16(out[58:], 64)
	binary.LittleEndian.PutUint16(out[60:], uint16(len(headers)))
	return out
}

func TestRead(t *testing.T) {
	m := program()
	b := elfWith([]string{".eh_frame_hdr", ".eh_frame"}, []uint64{0x200000, tablesAt}, [][]byte{m.made(0x200000), m.frames})
	got, err := Read(bytes.NewReader(b), int64(len(b)), 1<<20)
	if err != nil || got.table == nil || got.machine != &X86 {
		t.Fatalf("%+v, %v", got, err)
	}
	if f, ok := got.find(0x1150); !ok || f.start != 0x1100 {
		t.Errorf("%v, %+v", ok, f)
	}
	for name, b := range map[string][]byte{
		"no tables":         elfWith([]string{".text"}, []uint64{0}, [][]byte{{1, 2, 3, 4, 5, 6}}),
		"empty":             elfWith([]string{".eh_frame"}, []uint64{0}, [][]byte{make([]byte, 4)}),
		"no image":          []byte("#!/bin/sh\n"),
		"another processor": append(append(append([]byte{}, b[:18]...), 8), b[19:]...),
		"cut":               b[:len(b)-100],
		"too much":          elfWith([]string{".eh_frame"}, []uint64{0}, [][]byte{make([]byte, 1<<20+1)}),
	} {
		if m, err := Read(bytes.NewReader(b), int64(len(b)), 1<<20); err == nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

// walkAll walks a stack of random content through every function that m has.
func walkAll(t *testing.T, m *Image, random []byte) {
	b := make([]byte, 512)
	copy(b, random)
	w := Walker{Machine: m.machine}
	for i := range 8 {
		var r Registers
		for n := range registers {
			r.Set(n, top+uint64(8*n))
		}
		pc := uint64(i) * 0x100
		if i < len(m.index) {
			pc = m.index[i].start
		} else if 8*i+8 <= len(m.table) {
			pc = m.tableAddress + uint64(int64(int32(binary.LittleEndian.Uint32(m.table[8*i:]))))
		}
		r.Set(m.machine.PC, pc+1)
		r.Set(m.machine.SP, top)
		frames, end := w.Walk(&r, b, func(uint64) (*Image, uint64, bool) { return m, 0, true }, make([]uint64, 0, 64))
		if len(frames) == 0 || len(frames) > 64 || end > stack.Broken {
			t.Errorf("%d frames, end %d", len(frames), end)
		}
	}
}

func FuzzTables(f *testing.F) {
	f.Add(program().frames, []byte("stack"), false)
	f.Add([]byte{12, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x78, 16, 0x0c, 7, 8}, []byte{}, true)
	f.Fuzz(func(t *testing.T, frames, random []byte, debug bool) {
		for _, machine := range []*Machine{&X86, &ARM} {
			m := &Image{machine: machine, frames: frames, address: tablesAt, debug: debug}
			m.scan()
			walkAll(t, m, random)
		}
	})
}

func FuzzProgram(f *testing.F) {
	f.Add([]byte{0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6}, []byte{1})
	f.Add([]byte{0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}, []byte{2})
	f.Add([]byte{0x0f, 3, 0x2f, 0xfd, 0xff}, []byte{2}) // a jump to itself
	f.Fuzz(func(t *testing.T, code, random []byte) {
		for _, machine := range []*Machine{&X86, &ARM} {
			tables := &tables{}
			tables.common("zR", -8, 16, 0x0c, 7, 8, 0x90, 1)
			tables.function(0x1000, 1<<20, code...)
			walkAll(t, tables.image(machine), random)
		}
	})
}

func FuzzImage(f *testing.F) {
	m := program()
	f.Add(elfWith([]string{".eh_frame_hdr", ".eh_frame"}, []uint64{0x200000, tablesAt}, [][]byte{m.made(0x200000), m.frames}), []byte("stack"))
	f.Add(elfWith([]string{".debug_frame"}, []uint64{0}, [][]byte{m.frames}), []byte{})
	f.Fuzz(func(t *testing.T, b, random []byte) {
		if m, err := Read(bytes.NewReader(b), int64(len(b)), 1<<20); err == nil {
			walkAll(t, m, random)
		}
	})
}

package symbol

import (
	"bytes"
	"path/filepath"
	"testing"

	"tachograph/sample/stack"
	"tachograph/sample/stack/macho"
)

// loaded is an image in the memory of a process.
type loaded struct {
	at uint64
	b  []byte
}

func (m loaded) Read(addr uint64, b []byte) bool {
	if addr < m.at || addr-m.at > uint64(len(m.b)) || uint64(len(m.b))-(addr-m.at) < uint64(len(b)) {
		return false
	}
	copy(b, m.b[addr-m.at:])
	return true
}

// machImage is a file that lies in memory as it lies on the disk.
func machImage(starts []byte, symbols ...machSymbol) []byte {
	const text, base = 0x4000, 1 << 32
	names, table := []byte{0}, []byte(nil)
	for _, s := range symbols {
		table = append(table, words(uint32(len(names)), s.kind, s.section, uint16(0), base+s.offset)...)
		names = append(append(names, s.name...), 0)
	}
	link := bytes.Join([][]byte{table, names, starts}, nil)
	section := func(name string, offset, size uint64, flags uint32) []byte {
		return words(padded(name, 16), padded("__TEXT", 16), base+offset, size, uint32(offset), uint32(0), uint32(0), uint32(0), flags, uint32(0), uint64(0))
	}
	commands := bytes.Join([][]byte{
		words(uint32(0x19), uint32(72+2*80), padded("__TEXT", 16), uint64(base), uint64(text), uint64(0), uint64(text), uint32(5), uint32(5), uint32(2), uint32(0)),
		section("__text", 0x1000, 0x1000, 0x80000400), section("__const", 0x2000, 0x100, 0),
		words(uint32(0x19), uint32(72), padded("__LINKEDIT", 16), uint64(base+text), uint64(len(link)), uint64(text), uint64(len(link)), uint32(1), uint32(1), uint32(0), uint32(0)),
		words(uint32(2), uint32(24), uint32(text), uint32(len(symbols)), uint32(text+len(table)), uint32(len(names))),
		words(uint32(0x1b), uint32(24), bytes.Repeat([]byte{0xab}, 16)),
		words(uint32(0x26), uint32(16), uint32(text+len(table)+len(names)), uint32(len(starts))),
	}, nil)
	head := words(uint32(0xfeedfacf), uint32(cpuArm64), uint32(0), uint32(2), uint32(5), uint32(len(commands)), uint32(0), uint32(0))
	return append(padded(string(head)+string(commands), text), padded(string(link), 0x4000)...) // whole pages
}

type machSymbol struct {
	name          string
	kind, section byte
	offset        uint64
}

// A walk names functions of a process from its memory, a stackshot from the file: each function has
// the same name by both, or none.
func TestMemoryAndFileAgree(t *testing.T) {
	const code, external, debug = 0x0e, 0x0f, 0x2e
	symbols := []machSymbol{
		{"_main", external, 1, 0x1000}, {"_alias", external, 1, 0x1000}, {"_label", code, 1, 0x1010},
		{"__ZN1a1bEv", external, 1, 0x1080}, {"_$s4main3fooyyF", external, 1, 0x10c0}, {"go.function", code, 1, 0x1100},
		{"<redacted>", code, 1, 0x1140}, {"__", external, 1, 0x1180}, {"_early", external, 1, 0x1200}, {"_alias.debug", debug, 1, 0x1180},
		{"_table", external, 2, 0x2000},
	}
	// The function at 0x1040 has no name, and the last one has no end but the section's.
	starts := []byte{0x80, 0x20, 0x40, 0x40, 0x40, 0x40, 0x40, 0x40, 0x80, 0x01, 0}
	for name, b := range map[string][]byte{"with starts": machImage(starts, symbols...), "without": machImage(nil, symbols...)} {
		t.Run(name, func(t *testing.T) {
			const at = 0x104a30000
			mem := loaded{at, b}
			h, ok := macho.ReadHeader(mem, at)
			s := h.ReadSymbols(mem, &macho.Budget{Symbols: 1000})
			if !ok || s == nil {
				t.Fatal("the image in memory is not read")
			}
			path := filepath.Join(t.TempDir(), "program")
			write(t, path, b)
			n := NewNamer(nil, Recording)
			image := &stack.Image{Path: path, ID: h.UUID, Base: at}
			named := 0
			for offset := uint64(0xf00); offset < 0x2000; offset++ {
				sample := sampleOf(image, offset)
				n.Name(sample)
				walked := s.Name(mem, offset)
				if shot := sample.Frames[0].Name; shot != walked {
					t.Fatalf("at %#x memory has %q, the file %q", offset, walked, shot)
				}
				if walked != "" {
					named++
				}
			}
			if named < 0x200 {
				t.Errorf("only %d places have names", named)
			}
		})
	}
}

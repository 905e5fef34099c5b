package symbol

import (
	"bytes"
	"debug/elf"
	"fmt"
	"strings"
	"testing"
)

// Functions and variables are found by name, and sections.
func TestLookup(t *testing.T) {
	b := elfFile(madeSection{".PyRuntime", []byte("xdebugpy")})
	f, err := ReadELF(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := f.Symbols(func(name string, address, size uint64) {
		got = append(got, fmt.Sprintf("%s %x %x", name, address, size))
	}); err != nil {
		t.Fatal(err)
	}
	if want := "second 401020 0; first 401000 10; alias 401020 0; variable 402000 8; $x 401022 0; third 401030 0"; strings.Join(got, "; ") != want {
		t.Errorf("%s, want %s", strings.Join(got, "; "), want)
	}
	if address, ok := f.SectionAddress(".text"); !ok || address != 0x401000 {
		t.Errorf("%x, %v", address, ok)
	}
	if _, ok := f.SectionAddress(".PyRuntime"); !ok {
		t.Error("a section is not found")
	}
	if address, ok := f.SectionAddress(".nothing"); ok {
		t.Errorf("%x", address)
	}
}

// Symbols that all have the same long name would take as much time as if there were that much
// text.
func TestSymbolsOfOneName(t *testing.T) {
	const count = maxNames/maxName + 1
	names := append([]byte{0}, bytes.Repeat([]byte("a"), maxName)...)
	one := words(uint32(1), byte(1), byte(0), uint16(1), uint64(8), uint64(8))
	b := append(names, bytes.Repeat(one, count)...)
	f := &ELF{r: bytes.NewReader(b), size: int64(len(b)), order: little, wide: true, sections: []section{
		{kind: elf.SHT_STRTAB, size: uint64(len(names))}, {kind: elf.SHT_SYMTAB, offset: uint64(len(names)), size: count * uint64(len(one))}}}
	given := 0
	if err := f.Symbols(func(string, uint64, uint64) { given++ }); err == nil || given != count-1 {
		t.Errorf("%d of %d symbols, %v", given, count, err)
	}
}

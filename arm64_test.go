package tachograph

import (
	"debug/elf"
	"debug/macho"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tachograph/testdata/built"
)

// needArm64 skips what builds everything for another processor, which takes minutes
// the first time, unless somebody asked for it.
func needArm64(t *testing.T) {
	t.Helper()
	if os.Getenv("TACHO_ARM64") == "" {
		t.Skip("builds everything for arm64: TACHO_ARM64=1")
	}
}

// Nothing in this module lets the compiler round a product and a sum at once,
// as it does for arm64 and not for amd64: whatever is recorded, stored or shown
// is the same number on every machine. The remedy is float64(x*y) around the
// product.
func TestNoFusedArithmetic(t *testing.T) {
	needArm64(t)
	path := filepath.Join(t.TempDir(), "fused")
	if found := fusedIn(t, fusing(t, path), 1, "main.F"); len(found) != 1 {
		t.Fatalf("of one fused operation this finds %q", found)
	}
	for _, system := range []string{"linux", "darwin"} {
		for _, name := range []string{"recorder", "replay"} {
			program, err := built.Package(built.Target{OS: system, Arch: "arm64"}, "tachograph/cmd/"+name)
			if err != nil {
				t.Fatal(err)
			}
			for _, where := range fusedIn(t, program, 2000, "tachograph/", "main.") {
				t.Errorf("%s on %s: a fused operation at %s", name, system, where)
			}
		}
	}
}

// fusing builds a program for arm64 that has one fused operation.
func fusing(t *testing.T, path string) string {
	t.Helper()
	source := path + ".go"
	text := "package main\n\nimport \"os\"\n\n//go:noinline\nfunc F(a, b, c float64) float64 { return a*b + c }\n\n" +
		"func main() { n := float64(len(os.Args)); os.Exit(int(F(n, n, n))) }\n"
	if err := os.WriteFile(source, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("go", "build", "-o", path, source)
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=arm64")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// A symbol is where a function begins.
type symbol struct {
	name string
	at   uint64
}

// text is the code of a program, where it lies, and the functions in it.
type text struct {
	code    []byte
	at      uint64
	symbols []symbol
}

// readText reads an ELF or a Mach-O program.
func readText(path string) (*text, error) {
	if f, err := elf.Open(path); err == nil {
		defer f.Close()
		section := f.Section(".text")
		code, err := section.Data()
		if err != nil {
			return nil, err
		}
		list, err := f.Symbols()
		t := &text{code: code, at: section.Addr}
		for _, s := range list {
			if elf.ST_TYPE(s.Info) == elf.STT_FUNC {
				t.symbols = append(t.symbols, symbol{s.Name, s.Value})
			}
		}
		return t, err
	}
	f, err := macho.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	section := f.Section("__text")
	code, err := section.Data()
	t := &text{code: code, at: section.Addr}
	for _, s := range f.Symtab.Syms {
		if s.Sect == 1 {
			t.symbols = append(t.symbols, symbol{strings.TrimPrefix(s.Name, "_"), s.Value})
		}
	}
	return t, err
}

// fused reports whether an instruction of arm64 is FMADD, FMSUB, FNMADD or FNMSUB of
// float64 or float32: "floating-point data-processing (3 source)".
func fused(word uint32) bool { return word>>24 == 0x1f && word>>22&3 < 2 }

// fusedIn lists where the functions with a prefix, of which there are so many at
// least, have fused operations.
func fusedIn(t *testing.T, program string, least int, prefixes ...string) []string {
	t.Helper()
	p, err := readText(program)
	if err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	slices.SortFunc(p.symbols, func(a, b symbol) int { return int(int64(a.at) - int64(b.at)) })
	looked := 0
	var found []string
	for i, s := range p.symbols {
		end := p.at + uint64(len(p.code))
		if i+1 < len(p.symbols) {
			end = p.symbols[i+1].at
		}
		if s.at < p.at || end > p.at+uint64(len(p.code)) || !slices.ContainsFunc(prefixes, func(x string) bool { return strings.HasPrefix(s.name, x) }) {
			continue
		}
		looked++
		for at := s.at; at+4 <= end; at += 4 {
			if fused(binary.LittleEndian.Uint32(p.code[at-p.at:])) {
				found = append(found, fmt.Sprintf("%s+%#x", s.name, at-s.at))
			}
		}
	}
	if looked < least {
		t.Fatalf("%s has %d functions of %q, not %d", program, looked, prefixes, least)
	}
	return found
}

// The same questions get the same answers, and the same ticks the same bytes,
// on arm64: the tests that compare them with what was written down pass there.
func TestSameOnArm64(t *testing.T) {
	needArm64(t)
	emulator, err := exec.LookPath("qemu-aarch64")
	if err != nil {
		t.Skip("qemu-aarch64 is not installed")
	}
	for _, c := range []struct{ dir, tests string }{
		{"store/chunk", "^TestSameBytesEverywhere$"},
		{"store", "^TestGolden$"},
		{"store/query", "Oracle$|^TestOperands|^TestDiff"},
		{"cmd/replay", "^TestGolden$"},
	} {
		t.Run(c.dir, func(t *testing.T) {
			cmd := exec.Command("go", "test", "-count=1", "-timeout", "30m", "-exec", emulator, "-run", c.tests, ".")
			cmd.Dir = c.dir
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=arm64")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", c.dir, err, out)
			}
		})
	}
}

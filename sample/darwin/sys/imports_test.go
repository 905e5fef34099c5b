package sys

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	pragma     = regexp.MustCompile(`(?m)^//go:cgo_import_dynamic libc_(\w+) ([\w$]+) "([^"]+)"$`)
	trampoline = regexp.MustCompile(`(?m)^TEXT libc_(\w+)_trampoline<>\(SB\),NOSPLIT,\$0-0\n\tJMP\tlibc_(\w+)\(SB\)\n` +
		`GLOBL\t·addr_(\w+)\(SB\), RODATA, \$8\nDATA\t·addr_(\w+)\(SB\)/8, \$libc_(\w+)_trampoline<>\(SB\)$`)
)

// Each import has three pieces in two files. They must name the same function, and the
// assembly must contain nothing else.
func TestImportsAreComplete(t *testing.T) {
	files, err := filepath.Glob("imports_*.go")
	if err != nil || len(files) < 4 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		asm, err := os.ReadFile(strings.TrimSuffix(file, ".go") + ".s")
		if err != nil {
			t.Fatal(err)
		}
		names := make(map[string]bool)
		for _, m := range pragma.FindAllStringSubmatch(string(text), -1) {
			names[m[1]] = true
			if symbol, _, _ := strings.Cut(m[2], "$"); symbol != m[1] {
				t.Errorf("%s: libc_%s is bound to %s", file, m[1], m[2])
			}
			if !regexp.MustCompile(`(?m)^\t?(var )?addr_` + m[1] + ` +uintptr$`).MatchString(string(text)) {
				t.Errorf("%s: no address for %s", file, m[1])
			}
		}
		rest := strings.Replace(string(asm), "#include \"textflag.h\"\n", "", 1)
		for _, m := range trampoline.FindAllStringSubmatch(string(asm), -1) {
			for _, name := range m[2:] {
				if name != m[1] {
					t.Errorf("%s: the trampoline of %s speaks of %s", file, m[1], name)
				}
			}
			if !names[m[1]] {
				t.Errorf("%s: a trampoline for %s, which is not imported", file, m[1])
			}
			delete(names, m[1])
			rest = strings.Replace(rest, m[0], "", 1)
		}
		for name := range names {
			t.Errorf("%s: no trampoline for %s", file, name)
		}
		if strings.TrimSpace(rest) != "" {
			t.Errorf("%s: the assembly has more than trampolines: %q", file, rest)
		}
	}
}

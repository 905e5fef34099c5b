package stacks

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// maxSymbol is the longest name that is demangled. What a name stands for can be very
// much longer than it is, which demangledBits bounds.
const (
	maxSymbol     = 4096
	demangledBits = 11
)

// Demangled is a function's name as its author wrote it: those of C++ and Rust without
// parameters, those of Go and C as they are. Swift's stay as they are as well: no library
// in Go knows them.
func Demangled(s string) string {
	if len(s) > maxSymbol {
		return s
	}
	mangled := s
	if strings.HasPrefix(s, "__Z") || strings.HasPrefix(s, "__R") {
		mangled = s[1:] // Mach-O puts an underscore before all names of C.
	}
	if !strings.HasPrefix(mangled, "_Z") && !strings.HasPrefix(mangled, "_R") {
		return s
	}
	if plain, err := demangle.ToString(mangled, demangle.NoParams, demangle.MaxLength(demangledBits)); err == nil {
		return plain
	}
	return s
}

package stacks

import (
	"strings"

	"github.com/ianlancetaylor/demangle"

	"tachograph/cmd/replay/internal/swiftnames"
)

// maxSymbol is the longest name to demangle. The demangled name can be much longer than that;
// demangledBits bounds it.
const (
	maxSymbol     = 4096
	demangledBits = 11
)

// Demangled returns a function's name as its author wrote it: names of C++ and Rust without
// parameters, those of Swift with the labels of parameters, names of Go and C unchanged. On macOS the system
// knows Swift's; elsewhere those that swift understands.
func Demangled(s string) string {
	if len(s) > maxSymbol {
		return s
	}
	if plain, ok := swiftnames.Name(s); ok {
		return plain
	}
	if plain, ok := swift(s); ok {
		return plain
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

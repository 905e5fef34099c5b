package python

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tachograph/sample/stack/chain"
	"tachograph/sample/stack/macho"
	"tachograph/sample/stack/symbol"
)

// Image is a file that has the interpreter: a program, or its library. Addresses are in the
// image's own terms.
type Image struct {
	// runtime is where the interpreter's state is, version where it has its version; 0 if that is
	// not known.
	runtime, version uint64
	// minor is the second number of the version that the file's name has; 0 if it has none.
	minor int
	// loops are the evaluation loop, start is where a program begins.
	loops []extent
	start extent
}

type extent struct{ from, to uint64 }

func (e extent) has(address uint64) bool { return address-e.from < e.to-e.from }

// Names of CPython's in its images.
const (
	runtimeSection = ".PyRuntime"
	runtimeSymbol  = "_PyRuntime"
	versionSymbol  = "Py_Version"
	startSymbol    = "_start"
	loopSymbol     = "_PyEval_EvalFrameDefault"
	// tailSymbol begins the names of the functions that the loop consists of where each
	// instruction is a function: they go on in each other instead of calling.
	tailSymbol = "_TAIL_CALL_"
	maxLoops   = 1 << 10
)

// FindELF finds the interpreter in an ELF file; false if it has none.
func FindELF(f *symbol.ELF, name string) (*Image, bool) {
	m := &Image{minor: minorNamed(name)}
	section, found := f.SectionAddress(runtimeSection)
	err := f.Symbols(func(name string, address, size uint64) { m.take(name, extent{address, address + size}) })
	if found {
		m.runtime = section
	}
	if m.runtime == 0 || err != nil && !found {
		return nil, false
	}
	return m, true
}

// FindMachO finds the interpreter in an image that a process on macOS has loaded; false if it has
// none.
func FindMachO(mem chain.Memory, h *macho.Header, name string, budget *macho.Budget) (*Image, bool) {
	m := &Image{minor: minorNamed(name)}
	var starts []uint64
	h.EachSymbol(mem, budget, func(name string, address uint64) {
		starts = append(starts, address-h.Load)
		m.take(name, extent{address - h.Load, 0})
	})
	if h.Python != 0 {
		m.runtime = h.Python - h.Load
	}
	// A function ends where the next symbol is.
	slices.Sort(starts)
	for i := range m.loops {
		e := &m.loops[i]
		e.to = h.Size
		if next, _ := slices.BinarySearch(starts, e.from+1); next < len(starts) {
			e.to = starts[next]
		}
	}
	return m, m.runtime != 0
}

// take takes a symbol that is one of those that are needed.
func (m *Image) take(name string, at extent) {
	switch {
	case name == runtimeSymbol:
		m.runtime = at.from
	case name == versionSymbol:
		m.version = at.from
	case name == loopSymbol, strings.HasPrefix(name, loopSymbol+"."), strings.HasPrefix(name, tailSymbol):
		if len(m.loops) < maxLoops {
			m.loops = append(m.loops, at)
		}
	case name == startSymbol:
		m.start = at
	}
}

var named = regexp.MustCompile(`^(?:lib)?python3\.(\d{1,2})(?:\D|$)`)

// minorNamed returns the second number of the version in the name of a program or library.
func minorNamed(name string) int {
	m := named.FindStringSubmatch(path.Base(name))
	if m == nil {
		return 0
	}
	minor, _ := strconv.Atoi(m[1])
	return minor
}

// has reports whether a frame is in the evaluation loop.
func (m *Image) has(offset uint64) bool {
	return slices.ContainsFunc(m.loops, func(e extent) bool { return e.has(offset) })
}

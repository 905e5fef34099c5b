package symbol

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"hash/crc32"
	"io"
	"path"
	"strings"

	"tachograph/sample/xz"
)

// maxPacked bounds the file of symbols that a linker left compressed in a stripped one, and what
// it unpacks to. A recorder has 100 MB in all, unless its configuration says otherwise.
const maxPacked = 32 << 20

// readPacked reads the functions of MiniDebugInfo: distributions such as Fedora strip their
// programs, but leave the names of functions in them, as a compressed ELF file. One that is
// damaged adds nothing.
func (f *ELF) readPacked(names []byte, b *builder) {
	s := f.sectionNamed(names, ".gnu_debugdata")
	if s == nil || s.kind == elf.SHT_NOBITS {
		return
	}
	packed, err := region(f.r, f.size, s.offset, s.size, maxPacked)
	if err != nil {
		return
	}
	text, err := xz.Append(nil, packed, maxPacked)
	if err != nil {
		return
	}
	in, err := ReadELF(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		return
	}
	if symbols := in.sectionOf(elf.SHT_SYMTAB); symbols != nil {
		var more builder
		var unused uint64
		if in.readSymbols(symbols, &more, &unused) == nil {
			b.join(&more)
		}
	}
}

// debugLink is what a stripped file says about the file with its symbols: its name without a
// directory, and its checksum.
type debugLink struct {
	name string
	sum  uint32
}

func (f *ELF) debugLink(names []byte) debugLink {
	const most = 4096
	s := f.sectionNamed(names, ".gnu_debuglink")
	if s == nil || s.kind == elf.SHT_NOBITS {
		return debugLink{}
	}
	b, err := region(f.r, f.size, s.offset, s.size, most)
	if err != nil {
		return debugLink{}
	}
	name := text(b, 0)
	at := (len(name) + 4) &^ 3 // the name ends with a zero
	if name == "" || name == "." || name == ".." || strings.Contains(name, "/") || len(b) < at+4 {
		return debugLink{}
	}
	return debugLink{name, f.order.Uint32(b[at:])}
}

// debugDirectory is where distributions put files with symbols.
const debugDirectory = "/usr/lib/debug"

// debugPaths returns where the debug file of an image at an absolute path may be.
func (t *Table) debugPaths(image string) []string {
	var paths []string
	if id, err := hex.DecodeString(t.id); err == nil && len(id) > 1 {
		paths = append(paths, path.Join(debugDirectory, ".build-id", t.id[:2], t.id[2:]+".debug"))
	}
	if t.link.name != "" && path.IsAbs(image) {
		dir := path.Dir(image)
		for _, in := range []string{dir, path.Join(dir, ".debug"), path.Join(debugDirectory, dir)} {
			if p := path.Join(in, t.link.name); p != image {
				paths = append(paths, p)
			}
		}
	}
	return paths
}

// debugTable returns the table of the debug file of a stripped image at a path, if there is one
// and both take at most that many bytes; else nil.
func (t *Table) debugTable(image string, open func(path string) (io.ReaderAt, int64, error), most int) *Table {
	if !t.stripped {
		return nil
	}
	for _, p := range t.debugPaths(image) {
		r, size, err := open(p)
		if err != nil {
			continue
		}
		debug := t.readDebug(r, size, most)
		if c, ok := r.(io.Closer); ok {
			c.Close()
		}
		if debug != nil && t.Bytes()+debug.Bytes() <= most && len(debug.functions) > len(t.functions) {
			return debug
		}
	}
	return nil
}

// readDebug reads a debug file if it belongs to the image: it has the same ID, or, if the image
// has none, the checksum that the image names. It reads no symbols that are much larger than what
// may be kept of them.
func (t *Table) readDebug(r io.ReaderAt, size int64, most int) *Table {
	if t.id == "" {
		if sum, ok := checksum(r, size); !ok || t.link.name == "" || sum != t.link.sum {
			return nil
		}
	}
	f, err := ReadELF(r, size)
	if err != nil || f.ID != t.id || f.symbolBytes()/2 > uint64(most) {
		return nil
	}
	debug, err := f.table()
	if err != nil || debug.stripped {
		return nil
	}
	return debug
}

// symbolBytes returns how large the file's symbols and their names are.
func (f *ELF) symbolBytes() uint64 {
	s := f.sectionOf(elf.SHT_SYMTAB)
	if s == nil || uint64(s.link) >= uint64(len(f.sections)) {
		return 0
	}
	return min(s.size, 1<<62) + min(f.sections[s.link].size, 1<<62)
}

// checksum returns the CRC of a file as .gnu_debuglink has it; false for one that is too large to
// be read for that.
func checksum(r io.ReaderAt, size int64) (uint32, bool) {
	const most = 1 << 30
	if size > most {
		return 0, false
	}
	sum := crc32.NewIEEE()
	_, err := io.Copy(sum, io.NewSectionReader(r, 0, size))
	return sum.Sum32(), err == nil
}

// joined returns the table of a stripped image together with that of its debug file. Where both
// name a function, it keeps the exported name, which is the one that callers know: "read", not
// "__libc_read".
func (t *Table) joined(debug *Table) *Table {
	b := builder{functions: make([]collected, 0, len(t.functions)+len(debug.functions))}
	for _, from := range []*Table{t, debug} {
		more := builder{names: from.names}
		for _, f := range from.functions {
			more.functions = append(more.functions, collected{function: f})
		}
		b.join(&more)
	}
	all := b.table(t.id)
	all.lines = t.lines
	return all
}

package symbol

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sort"
	"syscall"
)

// Limits of what is read of a file. Real files stay below them: the biggest libraries of
// browsers have about half a million functions, the biggest Go programs tables of 60 MB.
const (
	maxHeaders   = 4 << 20   // section headers, load commands
	maxSymbols   = 4 << 20   // entries of a symbol table
	maxFunctions = 1 << 20   // functions among them
	maxNames     = 128 << 20 // bytes of their names
	maxLines     = 128 << 20 // bytes of Go's table
	maxName      = 4 << 10   // bytes of one name; longer ones are cut
)

// Table finds the function at an offset in an image. It never changes and is safe for
// concurrent use.
type Table struct {
	id        string
	functions []function // by start
	names     []byte     // of the functions, each ended by a zero; the name at 0 is empty
	lines     *lines     // of programs in Go
	stripped  bool       // the ELF file has no symbols but exported ones
	link      debugLink  // where it says that the others are
}

// function is where a function begins, and how long it is. An entry without a name only marks
// the end of the function before.
type function struct {
	start      uint64
	size, name uint32
}

// ID is the image's UUID (upper case, with dashes) or build ID (lower-case hexadecimal; Go's
// own, unchanged, if a program has no other). "" if it has none.
func (t *Table) ID() string { return t.id }

// Bytes returns about how much memory the table takes.
func (t *Table) Bytes() int {
	n := len(t.names) + 16*len(t.functions)
	if t.lines != nil {
		n += len(t.lines.data)
	}
	return n
}

// Find returns the function at offset: an address in an ELF image's own terms, or relative to
// the beginning of __TEXT in a Mach-O image, as in stack.Frame's Offset. A return address
// belongs to the call before it: subtract one. File and line are known for programs in Go; they
// are exact, even where the compiler inlined another function, while the name is that of the
// function around it.
func (t *Table) Find(offset uint64) (name, file string, line int, ok bool) {
	if t.lines != nil {
		if name, file, line, ok = t.lines.find(offset); ok {
			return name, file, line, true
		}
	}
	// A function may begin within another (an alias, a label): the result is the innermost one
	// that contains the offset.
	const around = 8
	i := sort.Search(len(t.functions), func(i int) bool { return t.functions[i].start > offset })
	for j := i - 1; j >= 0 && j >= i-around; j-- {
		f := &t.functions[j]
		if offset-f.start < uint64(f.size) {
			name := t.name(f.name)
			return name, "", 0, name != ""
		}
	}
	return "", "", 0, false
}

func (t *Table) name(at uint32) string { return text(t.names, uint64(at)) }

// text returns the string that begins at at and ends with a zero.
func text(b []byte, at uint64) string {
	if at >= uint64(len(b)) {
		return ""
	}
	b = b[at:min(uint64(len(b)), at+maxName)]
	if n := bytes.IndexByte(b, 0); n >= 0 {
		b = b[:n]
	}
	return string(b)
}

// builder collects functions. It keeps only the names of functions, not those of variables,
// which are most of a symbol table's text.
type builder struct {
	functions []collected
	names     []byte
}

// collected is a function; guessed says that the file did not give its size.
type collected struct {
	function
	guessed bool
}

var errMany = fmt.Errorf("it has more than %d functions", maxFunctions)

// add adds a function. If size is 0, the function ends where the next one begins, or at end.
func (b *builder) add(start, size, end uint64, name string) error {
	c := collected{function{start: start}, size == 0}
	if c.guessed && end > start {
		size = end - start
	}
	if c.size = uint32(min(size, 1<<32-1)); name != "" {
		if len(b.names) == 0 {
			b.names = append(b.names, 0)
		}
		c.name = uint32(len(b.names))
		b.names = append(append(b.names, name...), 0)
	}
	if len(b.functions) == maxFunctions || len(b.names) > maxNames {
		return errMany
	}
	b.functions = append(b.functions, c)
	return nil
}

// join adds the functions of another builder, if there is room for all of them.
func (b *builder) join(more *builder) {
	if len(b.functions)+len(more.functions) > maxFunctions || len(b.names)+len(more.names) > maxNames {
		return
	}
	by := uint32(len(b.names))
	b.names = append(b.names, more.names...)
	for _, c := range more.functions {
		if c.name != 0 {
			c.name += by
		}
		b.functions = append(b.functions, c)
	}
}

// table sorts the functions. Of several at one address it keeps the first with a name, and if
// possible with a size that the file gave.
func (b *builder) table(id string) *Table {
	all := b.functions
	order := func(x, y collected) int { return cmp.Or(cmp.Compare(x.start, y.start), rank(x)-rank(y)) }
	if !slices.IsSortedFunc(all, order) {
		slices.SortStableFunc(all, order)
	}
	all = slices.CompactFunc(all, func(x, y collected) bool { return x.start == y.start })
	t := &Table{id: id, functions: make([]function, len(all)), names: bytes.Clone(b.names)}
	for i, c := range all {
		if c.guessed && i+1 < len(all) {
			c.size = uint32(min(uint64(c.size), all[i+1].start-c.start))
		}
		t.functions[i] = c.function
	}
	return t
}

func rank(c collected) int {
	switch {
	case c.name == 0:
		return 2
	case c.guessed:
		return 1
	}
	return 0
}

// OpenImage reads the function names in the part of a file with the UUID or build ID id, and
// returns an error if there is none. If id is "", it reads the part for this processor, or else
// the first.
func OpenImage(path, id string) (*Table, error) {
	f, size, err := regular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := Read(f, size, id)
	if err != nil {
		return nil, &os.PathError{Op: "read symbols of", Path: path, Err: err}
	}
	return t, nil
}

// regular opens a file if it is an ordinary one: at an untrusted path there may be a pipe,
// which would block.
func regular(path string) (*os.File, int64, error) {
	// Opening some devices has effects: do not even open them.
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, &os.PathError{Op: "read symbols of", Path: path, Err: errors.New("it is not an ordinary file")}
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	return f, info.Size(), nil
}

var (
	errFormat = errors.New("it is neither ELF nor Mach-O")
	errOther  = errors.New("it is not the file that the code was from: its ID is another one")
)

// Read is OpenImage for the content of r.
func Read(r io.ReaderAt, size int64, id string) (*Table, error) {
	parts, err := parts(r, size)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		if id == "" && len(parts) > 1 && p.processor != runtime.GOARCH {
			continue
		}
		if id == "" || p.ID == id {
			return p.table()
		}
	}
	if id == "" {
		return parts[0].table()
	}
	return nil, errOther
}

// Identify returns the IDs in r, one for each processor that it has code for.
func Identify(r io.ReaderAt, size int64) ([]string, error) {
	parts, err := parts(r, size)
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(parts))
	for _, p := range parts {
		ids = append(ids, p.ID)
	}
	return ids, nil
}

// variant is the image for one processor in a file that has several.
type variant struct {
	processor string // Go's name for it
	ID        string
	table     func() (*Table, error)
}

func parts(r io.ReaderAt, size int64) ([]variant, error) {
	var magic [4]byte
	if _, err := r.ReadAt(magic[:], 0); err != nil {
		return nil, errFormat
	}
	switch {
	case string(magic[:]) == "\x7fELF":
		f, err := ReadELF(r, size)
		if err != nil {
			return nil, err
		}
		return []variant{{ID: f.ID, table: f.table}}, nil
	default:
		return machParts(r, size)
	}
}

// region reads n bytes, at most limit, at off of a file of size bytes.
func region(r io.ReaderAt, size int64, off, n, limit uint64) ([]byte, error) {
	switch {
	case n > limit:
		return nil, fmt.Errorf("it has a table of %d bytes: at most %d are read", n, limit)
	case off > uint64(size) || n > uint64(size)-off:
		return nil, errors.New("it is shorter than its own tables say")
	}
	b := make([]byte, n)
	if _, err := r.ReadAt(b, int64(off)); err != nil && !(err == io.EOF && n == 0) {
		return nil, err
	}
	return b, nil
}

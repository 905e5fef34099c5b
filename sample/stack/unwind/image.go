package unwind

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"sort"

	"tachograph/sample/stack/symbol"
)

// Image is the tables of an ELF image. Addresses in it are the image's own.
type Image struct {
	machine *Machine
	frames  []byte // .eh_frame or .debug_frame
	address uint64 // of frames
	debug   bool   // frames is .debug_frame
	// Entries by address of code: the linker's table (.eh_frame_hdr), or else what a pass over
	// frames found.
	table        []byte
	tableAddress uint64
	index        []place
	goDepths     *symbol.GoDepths // of code in Go, which has no entries
}

type place struct {
	start uint64
	at    uint32 // in frames
}

const maxIndex = 1 << 18

var errNone = errors.New("it has no unwind tables")

// Read reads the tables of an ELF image, each of at most most bytes; those of the largest browsers
// have some 20 MB. Go's are read if they take no more than half of that: without them only the
// callers of functions without a frame are missing.
func Read(r io.ReaderAt, size int64, most uint64) (*Image, error) {
	f, err := symbol.ReadELF(r, size)
	if err != nil {
		return nil, err
	}
	m := &Image{}
	switch machine, wide := f.Machine(); {
	case machine == elf.EM_X86_64 && wide:
		m.machine = &X86
	case machine == elf.EM_AARCH64 && wide:
		m.machine = &ARM
	default:
		return nil, errors.New("it is for another processor")
	}
	m.goDepths = f.GoDepths(most / 2)
	m.address, m.frames, err = f.Section(".eh_frame", most)
	if m.goDepths != nil && err == nil && len(m.frames) <= 4 {
		return m, nil
	}
	if err == nil && len(m.frames) <= 4 { // nothing but the mark of the end
		m.address, m.frames, err = f.Section(".debug_frame", most)
		m.debug = true
	}
	if err != nil {
		return nil, err
	}
	if len(m.frames) <= 4 {
		return nil, errNone
	}
	if !m.debug {
		if at, head, err := f.Section(".eh_frame_hdr", most); err == nil && m.header(at, head) {
			return m, nil
		}
	}
	m.scan()
	return m, nil
}

// Bytes is about what the Image takes.
func (m *Image) Bytes() int {
	n := len(m.frames) + len(m.table) + 16*len(m.index)
	if m.goDepths != nil {
		n += m.goDepths.Bytes()
	}
	return n
}

// header reads .eh_frame_hdr; it returns false if that has no table of the usual kind.
func (m *Image) header(address uint64, b []byte) bool {
	const version, count4, sorted = 1, 0x03, encodedData | 0x0b
	c := cursor{b: b}
	if c.u8() != version {
		return false
	}
	encoding, counts, table := c.u8(), c.u8(), c.u8()
	c.encoded(encoding&^encodedIndirect, address+4, address)
	n := c.unsigned(4)
	if c.bad || counts != count4 || table != sorted || n == 0 || n > uint64(c.left())/8 {
		return false
	}
	m.tableAddress, m.table = address, c.take(8*n)
	return true
}

// scan makes the index.
func (m *Image) scan() {
	for at := uint64(0); len(m.index) < maxIndex; {
		e, next, ok := m.entry(at)
		if !ok {
			break
		}
		if f, ok := m.function(&e); ok {
			m.index = append(m.index, place{f.start, uint32(at)})
		}
		at = next
	}
	slices.SortStableFunc(m.index, func(a, b place) int { return cmp.Compare(a.start, b.start) })
}

// find returns the entry of the function that contains pc.
func (m *Image) find(pc uint64) (function, bool) {
	var at uint64
	if m.table != nil {
		start := func(i int) uint64 {
			return m.tableAddress + uint64(int64(int32(binary.LittleEndian.Uint32(m.table[8*i:]))))
		}
		i := sort.Search(len(m.table)/8, func(i int) bool { return start(i) > pc })
		if i == 0 {
			return function{}, false
		}
		at = m.tableAddress + uint64(int64(int32(binary.LittleEndian.Uint32(m.table[8*i-4:])))) - m.address
	} else {
		i := sort.Search(len(m.index), func(i int) bool { return m.index[i].start > pc })
		if i == 0 {
			return function{}, false
		}
		at = uint64(m.index[i-1].at)
	}
	e, _, ok := m.entry(at)
	if !ok {
		return function{}, false
	}
	f, ok := m.function(&e)
	return f, ok && pc-f.start < f.size
}

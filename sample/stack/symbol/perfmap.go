package symbol

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"slices"
	"sort"

	"tachograph/sample/proc/cmdline"
)

// PerfMap names code that a program made at run time, from the text that the program writes about
// it itself: a perf-PID.map, with a line "START SIZE NAME" for each function, the numbers in
// hexadecimal. The program appends to it as it makes code; where it made other code at an address
// later, the later line is right. A PerfMap never changes.
type PerfMap struct {
	functions []function // by start, one for each
	names     []byte     // each ended by a zero, in the order of the lines
	read      int64      // up to where the text was read
}

// Limits of what is read of such a text.
const (
	maxMapText = 64 << 20 // bytes at once; of more, the last
	maxMapLine = 64 << 10 // longer lines are left out
	maxMapName = 512      // longer names are cut
	maxMapSize = 1 << 30  // of a function
)

// ReadPerfMap reads what was appended to a text of size bytes since before was read, nil at first,
// and returns all of it. The result takes at most about most bytes: of more it has the last.
func ReadPerfMap(r io.ReaderAt, size int64, before *PerfMap, most int) (*PerfMap, error) {
	if before == nil || size < before.read { // the program began it anew
		before = new(PerfMap)
	}
	m := &PerfMap{read: before.read}
	if size-m.read > maxMapText {
		m.read = size - maxMapText - 1 // the end of the line before
	}
	lines := bufio.NewReaderSize(io.NewSectionReader(r, m.read, size-m.read), maxMapLine)
	skip := m.read > before.read // what is left of a line that began before
	m.names = slices.Grow(bytes.Clone(before.names), 1)
	if len(m.names) == 0 {
		m.names = append(m.names, 0)
	}
	var added []function
	for {
		line, err := lines.ReadSlice('\n')
		switch {
		case err == io.EOF: // the program has not finished that line
			m.functions = merged(before.functions, added)
			m.forget(most)
			return m, nil
		case err == bufio.ErrBufferFull:
			skip = true
		case err != nil:
			return nil, err
		case skip:
			skip = false
		default:
			if start, length, name, ok := perfMapLine(line[:len(line)-1]); ok {
				added = append(added, function{start, length, uint32(len(m.names))})
				m.names = append(append(m.names, name...), 0)
			}
		}
		m.read += int64(len(line))
		if most > 0 && sizeOf(len(added), len(m.names)) > 2*most {
			half := PerfMap{functions: merged(nil, added), names: m.names}
			half.forget(most)
			before = &PerfMap{}
			added, m.names = half.functions, half.names
		}
	}
}

func sizeOf(functions, names int) int { return 16*functions + names }

// Bytes returns about how much memory m takes.
func (m *PerfMap) Bytes() int { return sizeOf(len(m.functions), len(m.names)) }

// perfMapLine splits a line. It returns false for what is none.
func perfMapLine(line []byte) (start uint64, size uint32, name string, ok bool) {
	start, line, ok = hexadecimal(line)
	if !ok {
		return 0, 0, "", false
	}
	length, line, ok := hexadecimal(line)
	line = bytes.TrimSpace(line)
	if !ok || length == 0 || length > maxMapSize || start+length < start || len(line) == 0 {
		return 0, 0, "", false
	}
	// A zero would end the name.
	return start, uint32(length), cmdline.Printable(string(line[:min(len(line), maxMapName)])), true
}

// hexadecimal reads a number that a space ends, with or without 0x.
func hexadecimal(b []byte) (v uint64, rest []byte, ok bool) {
	const digits = 16
	b = bytes.TrimPrefix(b, []byte("0x"))
	for i, c := range b {
		switch {
		case c == ' ':
			return v, b[i+1:], i > 0
		case i == digits:
			return 0, nil, false
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, nil, false
		}
		v = v<<4 | uint64(c)
	}
	return 0, nil, false
}

// merged puts later functions among earlier ones, which are sorted. Of those that begin at the same
// address it keeps the last.
func merged(earlier, later []function) []function {
	slices.SortStableFunc(later, func(a, b function) int { return cmp.Compare(a.start, b.start) })
	all := make([]function, 0, len(earlier)+len(later))
	for _, f := range later {
		for len(earlier) > 0 && earlier[0].start < f.start {
			all, earlier = append(all, earlier[0]), earlier[1:]
		}
		if len(earlier) > 0 && earlier[0].start == f.start {
			earlier = earlier[1:]
		}
		if n := len(all); n > 0 && all[n-1].start == f.start {
			all[n-1] = f
			continue
		}
		all = append(all, f)
	}
	return append(all, earlier...)
}

// forget leaves only the last functions if all take more than most bytes, so that there is room for
// as many again.
func (m *PerfMap) forget(most int) {
	if m.Bytes() <= most {
		return
	}
	all, names := m.functions, m.names
	slices.SortFunc(all, func(a, b function) int { return cmp.Compare(b.name, a.name) })
	n, bytes := 0, 0
	for ; n < len(all); n++ {
		if bytes += sizeOf(1, len(text(names, uint64(all[n].name)))+1); bytes > most/2 {
			break
		}
	}
	m.functions, m.names = make([]function, 0, n), append(make([]byte, 0, bytes), 0)
	for _, f := range slices.Backward(all[:n]) {
		name := text(names, uint64(f.name))
		f.name = uint32(len(m.names))
		m.names = append(append(m.names, name...), 0)
		m.functions = append(m.functions, f)
	}
	slices.SortFunc(m.functions, func(a, b function) int { return cmp.Compare(a.start, b.start) })
}

// Find returns the name of the function at an address: of several whose code was there, the last.
func (m *PerfMap) Find(address uint64) (string, bool) {
	// Code that was given up may have been longer than what is there now.
	const around = 32
	i := sort.Search(len(m.functions), func(i int) bool { return m.functions[i].start > address })
	var last function
	for _, f := range m.functions[max(0, i-around):i] {
		if address-f.start < uint64(f.size) && f.name >= last.name {
			last = f
		}
	}
	return text(m.names, uint64(last.name)), last.name != 0
}

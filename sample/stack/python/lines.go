package python

// none is no offset in code.
const none = 1<<64 - 1

// line returns the line of the instruction at an offset in the code; before the first one, and
// where the table says nothing, the line that the function begins at.
func (c *code) line(offset uint64) int {
	if offset != c.at {
		c.at, c.found = offset, lineAt(c.table, c.first, offset)
		if c.found <= 0 {
			c.found = c.first
		}
	}
	return c.found
}

// Kinds of entries in a table of lines, which its first byte has in four of its bits. Entries of
// a smaller kind than oneLine are on the line of the entry before.
const (
	oneLine   = 10 // and the two after it: that many lines further
	noColumns = 13
	long      = 14
	noLine    = 15
)

// lineAt looks up the line of an offset in a table, which has an entry for each few instructions
// in their order: for how many it is, and how many lines it is away from the entry before. Only
// the first byte of an entry has its highest bit set.
func lineAt(table []byte, line int, offset uint64) int {
	const unit, highest = 2, 0x80
	at := uint64(0)
	for i := 0; i < len(table); {
		first := table[i]
		i++
		kind := first >> 3 & 15
		switch {
		case kind == noColumns, kind == long:
			line += signed(table, i)
		case kind >= oneLine && kind < noColumns:
			line += int(kind - oneLine)
		}
		for i < len(table) && table[i]&highest == 0 {
			i++
		}
		at += unit * (uint64(first&7) + 1)
		if offset < at {
			if kind == noLine {
				return 0
			}
			return line
		}
	}
	return 0
}

// signed reads a number of six bits a byte, the lowest first, whose lowest bit is its sign.
func signed(table []byte, i int) int {
	const more, digits, longest = 0x40, 0x3f, 30
	n := 0
	for shift := 0; i < len(table) && shift < longest; shift += 6 {
		n |= int(table[i]&digits) << shift
		if table[i]&more == 0 {
			break
		}
		i++
	}
	if n&1 == 1 {
		return -(n >> 1)
	}
	return n >> 1
}

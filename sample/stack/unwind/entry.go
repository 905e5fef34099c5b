package unwind

// entry is an entry of the table: a function's, or what several functions have in common.
type entry struct {
	common bool
	parent uint64 // where the common part is
	body   cursor // what follows
	from   uint64 // where the body begins in the table
}

// entry reads the beginning of the entry at a place in the table, and says where the next is.
func (m *Image) entry(at uint64) (e entry, next uint64, ok bool) {
	if at >= uint64(len(m.frames)) {
		return e, 0, false
	}
	c := cursor{b: m.frames, at: int(at)}
	length, word := c.unsigned(4), 4
	if length == 1<<32-1 {
		if length = c.unsigned(8); m.debug {
			word = 8
		}
	}
	begin := uint64(c.at)
	if c.bad || length == 0 || length > uint64(c.left()) {
		return e, 0, false // the end, or damaged
	}
	next = begin + length
	c.b = c.b[:next]
	parent := c.unsigned(word)
	switch {
	case m.debug:
		e.common = parent == 1<<(8*word)-1
		e.parent = parent
	default:
		e.common = parent == 0
		e.parent = begin - parent // a distance backwards
	}
	e.body, e.from = c, uint64(c.at)
	return e, next, !c.bad
}

// common is what several functions have in common.
type common struct {
	code     uint64 // unit of distances in code
	data     int64  // unit of distances in the stack
	ra       uint64 // the column of the return address
	encoding byte   // of addresses
	extra    bool   // a block of other data precedes the program
	signal   bool   // the frame of a signal, which interrupted its caller
	program  []byte
}

func (m *Image) common(at uint64) (k common, ok bool) {
	e, _, ok := m.entry(at)
	if !ok || !e.common {
		return k, false
	}
	c := e.body
	version := c.u8()
	letters := c.text()
	if version == 4 { // sizes of addresses and of segments
		if c.u8() != 8 || c.u8() != 0 {
			return k, false
		}
	} else if version != 1 && version != 3 {
		return k, false
	}
	k.code, k.data = c.uleb(), c.sleb()
	if version == 1 {
		k.ra = uint64(c.u8())
	} else {
		k.ra = c.uleb()
	}
	if k.ra >= registers {
		return k, false
	}
	if letters != "" {
		if letters[0] != 'z' {
			return k, false // before 2000
		}
		k.extra = true
		extra := cursor{b: c.block()}
	letters:
		for _, l := range letters[1:] {
			switch l {
			case 'R':
				k.encoding = extra.u8()
			case 'P':
				encoding := extra.u8()
				extra.encoded(encoding&0x0f, 0, 0)
			case 'L':
				extra.u8()
			case 'S':
				k.signal = true
			case 'B', 'G': // how addresses are signed, which does not matter once that is removed
			default:
				break letters
			}
		}
		if extra.bad {
			return k, false
		}
	}
	k.program = c.b[c.at:]
	return k, !c.bad
}

// function is the entry of one function.
type function struct {
	common
	start, size uint64
	program     []byte
}

func (m *Image) function(e *entry) (f function, ok bool) {
	if e.common {
		return f, false
	}
	if f.common, ok = m.common(e.parent); !ok {
		return f, false
	}
	c := e.body
	f.start = c.encoded(f.encoding, m.address+e.from, 0)
	f.size = c.encoded(f.encoding&0x0f, 0, 0)
	if f.extra {
		c.block()
	}
	f.program = c.b[c.at:]
	return f, !c.bad
}

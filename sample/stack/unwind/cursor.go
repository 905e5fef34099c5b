package unwind

import "encoding/binary"

// cursor reads little-endian values. Beyond the end it reads 0 and becomes bad.
type cursor struct {
	b   []byte
	at  int
	bad bool
}

func (c *cursor) left() int { return len(c.b) - c.at }

// take returns the next n bytes; nil if there are not as many.
func (c *cursor) take(n uint64) []byte {
	if c.bad || n > uint64(c.left()) {
		c.bad = true
		return nil
	}
	b := c.b[c.at : c.at+int(n)]
	c.at += int(n)
	return b
}

func (c *cursor) u8() byte {
	if b := c.take(1); b != nil {
		return b[0]
	}
	return 0
}

// unsigned reads an integer of n bytes: 1, 2, 4 or 8.
func (c *cursor) unsigned(n int) uint64 {
	b := c.take(uint64(n))
	switch {
	case b == nil:
		return 0
	case n == 1:
		return uint64(b[0])
	case n == 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case n == 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

// signed is unsigned, with a sign.
func (c *cursor) signed(n int) int64 {
	shift := 64 - 8*n
	return int64(c.unsigned(n)<<shift) >> shift
}

// uleb and sleb read integers of 7 bits a byte, of at most 77 bits: those beyond the 64th are
// lost.
func (c *cursor) uleb() uint64 {
	v, _, _ := c.leb()
	return v
}

func (c *cursor) sleb() int64 {
	v, bits, last := c.leb()
	if bits < 64 && last&0x40 != 0 {
		v |= ^uint64(0) << bits
	}
	return int64(v)
}

func (c *cursor) leb() (v uint64, bits uint, last byte) {
	for {
		if last = c.u8(); bits > 70 {
			c.bad = true
		}
		if c.bad {
			return 0, 64, 0
		}
		v |= uint64(last&0x7f) << bits
		bits += 7
		if last&0x80 == 0 {
			return v, bits, last
		}
	}
}

// block reads a length and as many bytes.
func (c *cursor) block() []byte { return c.take(c.uleb()) }

// text reads up to a zero, which must come soon.
func (c *cursor) text() string {
	const most = 16
	from := c.at
	for c.u8() != 0 {
		c.bad = c.bad || c.at-from > most
	}
	if c.bad {
		return ""
	}
	return string(c.b[from : c.at-1])
}

// How addresses are encoded in tables: the low four bits are the size, the next three what is to
// be added.
const (
	encodedPlain    = 0x00
	encodedRelative = 0x10 // to the address of the value itself
	encodedData     = 0x30 // to the address of the section .eh_frame_hdr
	encodedIndirect = 0x80
)

// encoded reads an address. own is the address of the value itself, data of .eh_frame_hdr.
func (c *cursor) encoded(encoding byte, own, data uint64) uint64 {
	var v uint64
	switch encoding & 0x0f {
	case 0, 4, 12:
		v = c.unsigned(8)
	case 1:
		v = c.uleb()
	case 2:
		v = c.unsigned(2)
	case 3:
		v = c.unsigned(4)
	case 9:
		v = uint64(c.sleb())
	case 10:
		v = uint64(c.signed(2))
	case 11:
		v = uint64(c.signed(4))
	default:
		c.bad = true
	}
	switch encoding &^ 0x0f {
	case encodedPlain:
	case encodedRelative:
		v += own
	case encodedData:
		v += data
	default: // encodedIndirect needs memory; the others do not occur
		c.bad = true
	}
	return v
}

// Package xz unpacks .xz streams that journald and linkers write: with LZMA2 as the only filter. What
// has been unpacked is its own dictionary, so that no memory is taken because a number in the data
// asks for it, and never more than the caller allows.
package xz

import (
	"bytes"
	"encoding/binary"
	"errors"
)

var errDamaged = errors.New("compressed data are damaged")

const (
	headerSize = 12
	magic      = "\xfd7zXZ\x00"
)

// checkSizes are the sizes of the checksums behind a block, by their kind.
var checkSizes = [16]int{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}

// Append appends what the blocks of a stream hold, up to limit bytes. It does not compare
// checksums: journald writes none.
func Append(dst, src []byte, limit int) ([]byte, error) {
	if len(src) <= headerSize || !bytes.HasPrefix(src, []byte(magic)) {
		return dst, errDamaged
	}
	check := checkSizes[src[7]&15]
	src = src[headerSize:]
	for end := len(dst) + limit; ; {
		size, ok := blockHeader(src)
		if !ok {
			return dst, errDamaged
		}
		var rest []byte
		var err error
		if dst, rest, err = appendLZMA2(dst, src[size:], end-len(dst)); err != nil || len(dst) == end {
			return dst, err
		}
		// Each block begins at a multiple of four; the list of all blocks begins with a zero.
		used := (len(src)-len(rest)+3)&^3 + check
		if used >= len(src) || src[used] == 0 {
			return dst, nil
		}
		src = src[used:]
	}
}

// blockHeader returns the size of the header of a block, if the block can be unpacked.
func blockHeader(src []byte) (size int, ok bool) {
	size = (int(src[0]) + 1) * 4
	if src[0] == 0 || size > len(src) || src[1]&^0xc0 != 0 {
		return 0, false
	}
	header := src[2 : size-4]
	for _, bit := range []byte{0x40, 0x80} { // the sizes of the block, packed and unpacked
		if src[1]&bit == 0 {
			continue
		}
		_, n := binary.Uvarint(header)
		if n <= 0 {
			return 0, false
		}
		header = header[n:]
	}
	const lzma2 = 0x21
	return size, len(header) >= 3 && header[0] == lzma2 && header[1] == 1
}

// appendLZMA2 unpacks chunks until their end or the limit, and returns what follows.
func appendLZMA2(dst, src []byte, limit int) (out, rest []byte, err error) {
	d := lzma{out: dst, start: len(dst), end: len(dst) + limit}
	ready, fresh := false, false
	for {
		if len(src) == 0 {
			return d.out, nil, errDamaged
		}
		control := src[0]
		if control == 0 || len(d.out) == d.end {
			return d.out, src[1:], nil
		}
		if len(src) < 3 {
			return d.out, nil, errDamaged
		}
		size := int(binary.BigEndian.Uint16(src[1:])) + 1
		if control == 1 || control >= 0xe0 {
			d.start, fresh = len(d.out), true
		}
		if control < 0x80 {
			if control > 2 || !fresh {
				return d.out, nil, errDamaged
			}
			src = src[3:]
			if n := min(size, d.end-len(d.out)); n <= len(src) {
				d.out = append(d.out, src[:n]...)
			}
			if size > len(src) {
				return d.out, nil, errDamaged
			}
			src = src[size:]
			continue
		}
		if len(src) < 6 || !fresh {
			return d.out, nil, errDamaged
		}
		size += int(control&0x1f) << 16
		packed := int(binary.BigEndian.Uint16(src[3:])) + 1
		src = src[5:]
		if control >= 0xc0 {
			if !d.setup(src[0]) {
				return d.out, nil, errDamaged
			}
			src, ready = src[1:], true
		}
		if control >= 0xa0 {
			d.reset()
		}
		if !ready {
			return d.out, nil, errDamaged
		}
		chunk := src[:min(packed, len(src))]
		if !d.chunk(chunk, min(size, d.end-len(d.out))) || packed > len(src) && len(d.out) < d.end {
			return d.out, nil, errDamaged
		}
		if len(d.out) == d.end {
			return d.out, nil, nil
		}
		src = src[packed:]
	}
}

// lzma is the state of an LZMA decoder. Names are those of the format's description.
type lzma struct {
	out        []byte
	start, end int // where the dictionary begins, and where the output ends

	lc, lp, pb uint
	state      int
	rep        [4]int

	in    []byte
	code  uint32
	rng   uint32
	spent bool // the input ended too early

	isMatch, isRep0Long              [12 << 4]uint16
	isRep, isRepG0, isRepG1, isRepG2 [12]uint16
	literal                          [0x300 << 4]uint16
	slot                             [4][64]uint16
	special                          [128]uint16
	align                            [16]uint16
	matchLen, repLen                 lzmaLength
}

type lzmaLength struct {
	choice [2]uint16
	low    [16][8]uint16
	mid    [16][8]uint16
	high   [256]uint16
}

func (d *lzma) setup(props byte) bool {
	if props >= 9*5*5 {
		return false
	}
	p := uint(props)
	d.lc, d.lp, d.pb = p%9, p/9%5, p/45
	return d.lc+d.lp <= 4
}

func (d *lzma) reset() {
	d.state, d.rep = 0, [4]int{}
	even(d.isMatch[:], d.isRep0Long[:], d.isRep[:], d.isRepG0[:], d.isRepG1[:], d.isRepG2[:], d.literal[:], d.special[:], d.align[:])
	for i := range d.slot {
		even(d.slot[i][:])
	}
	for _, l := range []*lzmaLength{&d.matchLen, &d.repLen} {
		even(l.choice[:], l.high[:])
		for i := range l.low {
			even(l.low[i][:], l.mid[i][:])
		}
	}
}

// even sets probabilities to one half.
func even(all ...[]uint16) {
	for _, probs := range all {
		for i := range probs {
			probs[i] = 1 << 10
		}
	}
}

func (d *lzma) normalize() {
	if d.rng >= 1<<24 {
		return
	}
	if len(d.in) == 0 {
		d.spent = true
		d.rng <<= 8
		d.code <<= 8
		return
	}
	d.rng, d.code, d.in = d.rng<<8, d.code<<8|uint32(d.in[0]), d.in[1:]
}

func (d *lzma) bit(prob *uint16) int {
	d.normalize()
	bound := d.rng >> 11 * uint32(*prob)
	if d.code < bound {
		d.rng = bound
		*prob += (1<<11 - *prob) >> 5
		return 0
	}
	d.rng -= bound
	d.code -= bound
	*prob -= *prob >> 5
	return 1
}

// tree reads a number of n bits, the highest first.
func (d *lzma) tree(probs []uint16, n uint) int {
	m := 1
	for range n {
		m = m<<1 | d.bit(&probs[m])
	}
	return m - 1<<n
}

// reverse reads a number of n bits, the lowest first.
func (d *lzma) reverse(probs []uint16, n uint) int {
	m, value := 1, 0
	for i := range n {
		b := d.bit(&probs[m])
		m = m<<1 | b
		value |= b << i
	}
	return value
}

func (d *lzma) direct(n uint) int {
	value := 0
	for range n {
		d.normalize()
		d.rng >>= 1
		b := 0
		if d.code >= d.rng {
			d.code -= d.rng
			b = 1
		}
		value = value<<1 | b
	}
	return value
}

func (d *lzma) length(l *lzmaLength, pos int) int {
	switch {
	case d.bit(&l.choice[0]) == 0:
		return d.tree(l.low[pos][:], 3)
	case d.bit(&l.choice[1]) == 0:
		return 8 + d.tree(l.mid[pos][:], 3)
	}
	return 16 + d.tree(l.high[:], 8)
}

// distance reads how far back a copy begins, less one.
func (d *lzma) distance(length int) int {
	slot := d.tree(d.slot[min(length, 3)][:], 6)
	if slot < 4 {
		return slot
	}
	n := uint(slot>>1 - 1)
	base := (2 | slot&1) << n
	if slot < 14 {
		return base + d.reverse(d.special[base-slot:], n)
	}
	return base + d.direct(n-4)<<4 + d.reverse(d.align[:], 4)
}

// chunk unpacks size bytes from the input of one chunk.
func (d *lzma) chunk(in []byte, size int) bool {
	if len(in) < 5 || in[0] != 0 {
		return false
	}
	d.rng, d.code, d.in, d.spent = 1<<32-1, binary.BigEndian.Uint32(in[1:]), in[5:], false
	for stop := len(d.out) + size; len(d.out) < stop; {
		if d.spent {
			return false
		}
		at := len(d.out) - d.start
		pos := at & (1<<d.pb - 1)
		if d.bit(&d.isMatch[d.state<<4+pos]) == 0 {
			if !d.byte(at) {
				return false
			}
			continue
		}
		var length int
		if d.bit(&d.isRep[d.state]) == 0 {
			d.rep[3], d.rep[2], d.rep[1] = d.rep[2], d.rep[1], d.rep[0]
			length = d.length(&d.matchLen, pos)
			d.rep[0] = d.distance(length)
			d.state = after(d.state, 7)
		} else {
			short := false
			if d.bit(&d.isRepG0[d.state]) == 0 {
				short = d.bit(&d.isRep0Long[d.state<<4+pos]) == 0
			} else {
				d.again()
			}
			if short {
				length = -1
				d.state = after(d.state, 9)
			} else {
				length = d.length(&d.repLen, pos)
				d.state = after(d.state, 8)
			}
		}
		if d.rep[0] >= at {
			return false
		}
		from := len(d.out) - d.rep[0] - 1
		for n := min(length+2, stop-len(d.out)); n > 0; n-- {
			d.out = append(d.out, d.out[from])
			from++
		}
	}
	return !d.spent
}

// again takes one of the three distances before the last.
func (d *lzma) again() {
	i := 1
	if d.bit(&d.isRepG1[d.state]) == 1 {
		i = 2 + d.bit(&d.isRepG2[d.state])
	}
	dist := d.rep[i]
	copy(d.rep[1:], d.rep[:i])
	d.rep[0] = dist
}

// after is the state after a copy: the first of two numbers follows a byte.
func after(state, first int) int {
	if state < 7 {
		return first
	}
	if first == 9 {
		return 11
	}
	return first + 3 // 10 after a new distance, 11 after one that is repeated
}

// byte unpacks one that is no part of a copy.
func (d *lzma) byte(at int) bool {
	previous := 0
	if at > 0 {
		previous = int(d.out[len(d.out)-1])
	}
	probs := d.literal[0x300*((at&(1<<d.lp-1))<<d.lc+previous>>(8-d.lc)):]
	symbol := 1
	if d.state >= 7 {
		if d.rep[0] >= at {
			return false
		}
		match := int(d.out[len(d.out)-d.rep[0]-1])
		for symbol < 0x100 {
			b := match >> 7 & 1
			match <<= 1
			got := d.bit(&probs[(1+b)<<8+symbol])
			symbol = symbol<<1 | got
			if got != b {
				break
			}
		}
	}
	for symbol < 0x100 {
		symbol = symbol<<1 | d.bit(&probs[symbol])
	}
	d.out = append(d.out, byte(symbol))
	switch {
	case d.state < 4:
		d.state = 0
	case d.state < 10:
		d.state -= 3
	default:
		d.state -= 6
	}
	return true
}

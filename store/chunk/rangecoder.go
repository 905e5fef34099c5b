package chunk

import (
	"encoding/binary"
	"errors"
)

// The entropy coder is a binary arithmetic coder. A stream is one long number between 0 and 1,
// most significant byte first. Its trailing zero bytes are left out: a decoder reads zeros past
// the end.
//
// maxTrimmed bounds how many zero bytes are left out, so that a decoder can detect a stream
// that was cut short.
const maxTrimmed = 32

// The state is an interval of 64 bits. Coding a bit divides the interval in
// proportion to the bit's probability, 0 below and 1 above; when less than 32
// bits of width are left, 32 bits of the number are settled.

// prob is an adaptive probability that the next bit is 0. The upper 22 bits
// are the probability, the lower 10 count the bits it was learned from.
type prob uint32

const (
	countBits      = 10
	countMask      = 1<<countBits - 1
	probInit  prob = 1 << 31
)

// A history of few bits is averaged; one of many is forgotten slowly. The limit is the most
// bits that a history counts as.
const (
	slowLimit = 255
	fastLimit = 60
)

// steps[n] is 2^16/(n+1.5): how far one bit moves a probability that was learned from n bits.
var steps = func() (s [slowLimit + 1]uint32) {
	for n := range s {
		s[n] = uint32(1 << 17 / (2*n + 3))
	}
	return s
}()

// A probability stays 2^-11 away from certainty. This costs next to nothing, and bounds how
// much data a few bytes can represent.
const (
	surely0 = 1<<22 - surely1
	surely1 = 1 << 11
)

// zero returns the probability of 0 in units of 2^-16.
func (p prob) zero() uint64 { return uint64(p >> 16) }

// saw returns p after one more bit: moved a step towards certainty.
func (p prob) saw(bit uint32, limit prob) prob {
	n := p & countMask
	v := int64(p >> countBits)
	v += (surely0 - int64(bit)*(surely0-surely1) - v) * int64(steps[uint8(n)]) >> 16
	if n < limit {
		n++
	}
	return prob(v)<<countBits | n
}

// An encoder appends a stream to out.
type encoder struct {
	out   []byte
	start int // where the stream began in out
	low   uint64
	width uint64
}

func (e *encoder) begin(out []byte) {
	*e = encoder{out: out, start: len(out), width: 1<<64 - 1}
}

// carry adds one to the bytes that are already out.
func (e *encoder) carry() {
	for i := len(e.out) - 1; i >= e.start; i-- {
		e.out[i]++
		if e.out[i] != 0 {
			return
		}
	}
}

func (e *encoder) shift() {
	e.out = binary.BigEndian.AppendUint32(e.out, uint32(e.low>>32))
	e.low <<= 32
	e.width <<= 32
}

func (e *encoder) bit(p *prob, limit prob, bit uint32) {
	e.split(p.zero(), bit)
	*p = p.saw(bit, limit)
}

// split codes a bit that is 0 with the probability zero.
func (e *encoder) split(zero uint64, bit uint32) {
	bound := e.width >> 16 * zero
	if bit == 0 {
		e.width = bound
	} else {
		low := e.low + bound
		if low < e.low {
			e.carry()
		}
		e.low = low
		e.width -= bound
	}
	if e.width>>32 == 0 {
		e.shift()
	}
}

// path codes the low bits of sym, most significant first, with probabilities in
// the nodes of a binary tree: node 1 is the root, 2n and 2n+1 follow n.
func (e *encoder) path(nodes []prob, bits int, limit prob, sym uint32) {
	node := uint32(1)
	for i := bits - 1; i >= 0; i-- {
		b := sym >> i & 1
		e.bit(&nodes[node], limit, b)
		node = node<<1 | b
	}
}

// plain codes the low n bits of v, all values equally likely. n is at most 16.
func (e *encoder) plain(v uint64, n uint) {
	e.width >>= n
	low := e.low + v*e.width
	if low < e.low {
		e.carry()
	}
	e.low = low
	if e.width>>32 == 0 {
		e.shift()
	}
}

// end writes the last bits, with as few bytes as identify the number, and returns the output.
func (e *encoder) end() []byte {
	for n := uint(56); ; n -= 8 {
		// The smallest number at or above low with n trailing zero bits.
		up := (e.low + 1<<n - 1) >> n << n
		over := up < e.low
		if n == 0 {
			up, over = e.low, false
		}
		if up-e.low < e.width {
			if over {
				e.carry()
			}
			for s := 56; up != 0; s -= 8 {
				e.out = append(e.out, byte(up>>56))
				up <<= 8
			}
			break
		}
	}
	for range maxTrimmed {
		if n := len(e.out); n > e.start && e.out[n-1] == 0 {
			e.out = e.out[:n-1]
		}
	}
	return e.out
}

// A decoder reads a stream. It cannot fail by itself: every string of bytes is a stream of some
// bits. Its users bound how much they decode, and check now and then whether it has run short.
type decoder struct {
	in    []byte
	at    int    // the current place in in
	code  uint64 // the number minus the lower end of the interval
	width uint64
}

func (d *decoder) begin(in []byte) {
	d.in, d.at = in, 0
	d.width = 1<<64 - 1
	d.code = uint64(d.next())<<32 | uint64(d.next())
}

func (d *decoder) next() uint32 {
	at := d.at
	d.at += 4
	if at <= len(d.in)-4 {
		return binary.BigEndian.Uint32(d.in[at:])
	}
	var b [4]byte
	if at < len(d.in) {
		copy(b[:], d.in[at:])
	}
	return binary.BigEndian.Uint32(b[:])
}

// short reports whether more was decoded than the stream can have held.
func (d *decoder) short() bool { return d.at > len(d.in)+maxTrimmed+16 }

var errShort = errors.New("a stream ends too early")

func (d *decoder) shift() {
	d.code = d.code<<32 | uint64(d.next())
	d.width <<= 32
}

// bit decodes one bit that can mostly be predicted.
func (d *decoder) bit(p *prob, limit prob) uint32 {
	bound := d.width >> 16 * p.zero()
	var bit uint32
	if d.code < bound {
		d.width = bound
	} else {
		d.code -= bound
		d.width -= bound
		bit = 1
	}
	*p = p.saw(bit, limit)
	if d.width>>32 == 0 {
		d.shift()
	}
	return bit
}

// path decodes the bits of a symbol, most significant first, whose probabilities are in the
// nodes of a binary tree. It returns the leaf: a 1 and then the bits. The bits are hard to
// predict, hence it does not branch on them.
func (d *decoder) path(nodes []prob, bits int, limit prob) uint32 {
	code, width := d.code, d.width
	node := uint32(1)
	nodes = nodes[:1<<bits]
	p := nodes[1]
	for left := bits; ; {
		bound := width >> 16 * p.zero()
		rest := width - bound
		var bit uint32
		if code >= bound {
			bit = 1
		}
		mask := -uint64(bit)
		code -= bound & mask
		width = bound ^ (bound^rest)&mask
		nodes[node] = p.saw(bit, limit)
		if width>>32 == 0 {
			code = code<<32 | uint64(d.next())
			width <<= 32
		}
		left--
		node <<= 1
		if left == 0 {
			node |= bit
			break
		}
		// Both candidates are fetched before it is known which one comes next.
		p0, p1 := nodes[node], nodes[node+1]
		p = p0 ^ (p0^p1)&prob(mask)
		node |= bit
	}
	d.code, d.width = code, width
	return node
}

func (d *decoder) plain(n uint) uint64 {
	d.width >>= n
	v := d.code / d.width
	if v >= 1<<n { // only if the bytes were not made by this encoder
		v = 1<<n - 1
	}
	d.code -= v * d.width
	if d.width>>32 == 0 {
		d.shift()
	}
	return v
}

package journal

import "math/bits"

// A coder is a binary arithmetic coder that runs in either direction. Every model in this
// package is written once, as a method that takes the value to code and returns the coded value:
// when encoding they are the same, when decoding the argument is ignored. Encoder and decoder
// can therefore not drift apart.
//
// The arithmetic is carryless on 32 bits with probabilities of 16 bits, all
// in integers, so that every machine computes the same.
type coder struct {
	dec    bool
	lo, hi uint32
	// buf is the output when encoding, the input when decoding.
	buf []byte
	// Decoding only: the window into the code, the next input byte, and how many bytes past the
	// end have been read.
	code    uint32
	pos     int
	overrun int
	fed     int // bytes given to decode, over all records
}

// maxOverrun is how far past the end of its input a decoder of sound input
// reads: the encoder leaves out trailing zeros of its last four bytes.
const maxOverrun = 4

func (c *coder) startEncoding(out []byte) {
	c.dec = false
	c.lo, c.hi, c.buf, c.overrun = 0, ^uint32(0), out, 0
}

// finishEncoding writes as few bytes as distinguish the last interval from all others, given
// that the decoder reads zeros past the end, and returns the whole output.
func (c *coder) finishEncoding() []byte {
	settled := len(c.buf)
	if c.lo != 0 {
		for shift := 24; shift >= 0; shift -= 8 {
			step := uint32(1) << shift
			v := (uint64(c.lo) + uint64(step) - 1) &^ uint64(step-1)
			if v <= uint64(c.hi) {
				for s := 24; s >= shift; s -= 8 {
					c.buf = append(c.buf, byte(v>>s))
				}
				break
			}
		}
	}
	n := len(c.buf)
	for n > settled && c.buf[n-1] == 0 {
		n--
	}
	c.buf = c.buf[:n]
	return c.buf
}

func (c *coder) startDecoding(in []byte) {
	c.dec = true
	c.fed += len(in)
	c.lo, c.hi, c.buf, c.pos, c.overrun = 0, ^uint32(0), in, 0, 0
	c.code = 0
	for range 4 {
		c.code = c.code<<8 | c.next()
	}
}

// resume continues at the place of from, which codes the beginning of the record.
func (c *coder) resume(from *coder) {
	fed := c.fed
	*c = *from
	c.fed = fed + len(c.buf)
}

func (c *coder) next() uint32 {
	if c.pos < len(c.buf) {
		b := c.buf[c.pos]
		c.pos++
		return uint32(b)
	}
	c.overrun++
	return 0
}

// bad reports that the decoder has read past its input: what it returns from now on means
// nothing.
func (c *coder) bad() bool { return c.overrun > maxOverrun }

// fail makes the coder bad: its input is nothing that an encoder writes.
func (c *coder) fail() { c.overrun = maxOverrun + 1 }

// code1 codes bit y, whose probability to be 1 is p/65536, 0 < p < 65536.
func (c *coder) code1(p uint32, y int) int {
	mid := c.lo + uint32(uint64(c.hi-c.lo)*uint64(p)>>16)
	if c.at(y) <= mid {
		c.below(mid)
		return 1
	}
	c.above(mid)
	return 0
}

// at returns the position of the code in the interval: below the middle for a 1. When encoding,
// y decides it, so that both directions take the same two paths. These are separate, with a
// branch before them, because the processor then predicts the bit and goes on with the next one;
// it would have to wait for a computed bit.
func (c *coder) at(y int) uint32 {
	if c.dec {
		return c.code
	}
	if y != 0 {
		return c.lo
	}
	return c.hi
}

// below takes the lower part of the interval, which is a 1; above takes the upper part.
func (c *coder) below(mid uint32) {
	if c.hi = mid; (c.lo^mid)&0xff000000 == 0 {
		c.shift()
	}
}

func (c *coder) above(mid uint32) {
	if c.lo = mid + 1; (c.lo^c.hi)&0xff000000 == 0 {
		c.shift()
	}
}

// shift passes the bytes that are settled. It is called for one bit in many, and inlined it
// would keep its callers from being inlined.
//
//go:noinline
func (c *coder) shift() {
	for (c.lo^c.hi)&0xff000000 == 0 {
		if c.dec {
			c.code = c.code<<8 | c.next()
		} else {
			c.buf = append(c.buf, byte(c.hi>>24))
		}
		c.lo <<= 8
		c.hi = c.hi<<8 | 255
	}
}

// raw codes the low n bits of v without a model.
func (c *coder) raw(n int, v uint64) uint64 {
	var out uint64
	for i := n - 1; i >= 0; i-- {
		out = out<<1 | uint64(c.code1(1<<15, int(v>>i&1)))
	}
	return out
}

// A prob is an adaptive probability: 22 bits of it, and in the low 10 bits how often it has been
// used, so that it learns fast while it is young.
type prob uint32

const (
	freshProb = prob(1 << 31)
	// probLimit is where learning stops slowing down.
	probLimit = 127
)

// learn holds, by how often a prob has been used, its learning rate, and in the lowest bit what is
// added to its count: together they take little of the processor's cache.
var learn [probLimit + 1]uint32

func init() {
	for i := range learn {
		learn[i] = uint32(65536*2/(2*i+3)) << 1
		if i < probLimit {
			learn[i] |= 1
		}
	}
}

func freshProbs(ps []prob) {
	for i := range ps {
		ps[i] = freshProb
	}
}

// one returns p after a coded 1, zero after a 0.
func (p prob) one() prob  { return p.toward(1<<22 - 1) }
func (p prob) zero() prob { return p.toward(0) }

func (p prob) toward(end int64) prob {
	l := learn[p&probLimit]
	return p + prob((end-int64(p>>10))*int64(l>>1)>>16)<<10 + prob(l&1)
}

// p16 returns p in 16 bits, never 0 and never 65536.
func (p prob) p16() uint32 {
	v := uint32(p) >> 16
	if v < 24 {
		return 24
	}
	if v > 65536-24 {
		return 65536 - 24
	}
	return v
}

// bit codes y under the model p and teaches p.
func (c *coder) bit(p *prob, y int) int {
	v := *p
	mid := c.lo + uint32(uint64(c.hi-c.lo)*uint64(v.p16())>>16)
	if c.at(y) <= mid {
		*p = v.one()
		c.below(mid)
		return 1
	}
	*p = v.zero()
	c.above(mid)
	return 0
}

// bits codes the low n bits of v, high bit first, each under the model of its place. They are
// mostly noise: the processor would mispredict every other one and have to go back, so when
// decoding they are computed without a branch.
func (c *coder) bits(ps *[64]prob, n int, v uint64) (out uint64) {
	if !c.dec {
		for i := n - 1; i >= 0; i-- {
			out = out<<1 | uint64(c.bit(&ps[i], int(v>>i&1)))
		}
		return out
	}
	lo, hi, code := c.lo, c.hi, c.code
	for i := n - 1; i >= 0; i-- {
		p := ps[i&63]
		mid := lo + uint32(uint64(hi-lo)*uint64(p.p16())>>16)
		zero := uint32((int64(mid) - int64(code)) >> 63) // all ones, or zero
		ps[i&63] = p.toward(int64((1<<22 - 1) &^ zero))
		hi = hi&zero | mid&^zero
		lo = lo&^zero | (mid+1)&zero
		out = out<<1 | uint64(1+zero)
		if (lo^hi)&0xff000000 == 0 {
			c.lo, c.hi = lo, hi
			c.shift()
			lo, hi, code = c.lo, c.hi, c.code
		}
	}
	c.lo, c.hi = lo, hi
	return out
}

// tree codes the low n bits of v, high bit first, under a tree of models that has at least 1<<n
// members.
func (c *coder) tree(ps []prob, n int, v uint64) uint64 {
	node := uint64(1)
	for i := n - 1; i >= 0; i-- {
		node = node<<1 | uint64(c.bit(&ps[node], int(v>>i&1)))
	}
	return node - 1<<n
}

// logistic is 4096/(1+exp(-x/256)) for x = -2048, -1920, … 2048.
var logistic = [33]int32{
	1, 2, 4, 6, 10, 17, 27, 45, 74, 120, 194, 311, 488, 747, 1102, 1546, 2048,
	2550, 2994, 3349, 3608, 3785, 3902, 3976, 4022, 4051, 4069, 4079, 4086, 4090, 4092, 4094, 4095,
}

var (
	squashed  [4096]uint16 // by x+2048, in 16 bits
	stretched [4096]int16  // by a probability in 12 bits
)

func init() {
	for x := -2048; x < 2048; x++ {
		w, i := int32(x&127), (x>>7)+16
		squashed[x+2048] = uint16((logistic[i]*(128-w) + logistic[i+1]*w) >> 3)
	}
	next := 0
	for x := -2048; x < 2048; x++ {
		for v := int(squashed[x+2048] >> 4); next <= v; next++ {
			stretched[next] = int16(x)
		}
	}
	for ; next < 4096; next++ {
		stretched[next] = 2047
	}
}

// A mixer weighs the predictions of several models for the same bit.
type mixer [3]int32

var freshMixer = mixer{1 << 15, 1 << 15, 1 << 15}

func freshMixers(ms []mixer) {
	for i := range ms {
		ms[i] = freshMixer
	}
}

// bit3 codes y under three models mixed by m, and teaches all four.
func (c *coder) bit3(m *mixer, p0, p1, p2 *prob, y int) int {
	v0, v1, v2 := *p0, *p1, *p2
	s0, s1, s2 := int32(stretched[v0>>20]), int32(stretched[v1>>20]), int32(stretched[v2>>20])
	dot := (int64(m[0])*int64(s0) + int64(m[1])*int64(s1) + int64(m[2])*int64(s2)) >> 16
	dot = min(max(dot, -2047), 2047)
	p := max(uint32(squashed[(dot+2048)&4095]), 24)
	mid := c.lo + uint32(uint64(c.hi-c.lo)*uint64(p)>>16)
	if c.at(y) <= mid {
		*p0, *p1, *p2 = v0.one(), v1.one(), v2.one()
		m.learn(s0, s1, s2, int32(65536-p)>>4*mixRate)
		c.below(mid)
		return 1
	}
	*p0, *p1, *p2 = v0.zero(), v1.zero(), v2.zero()
	m.learn(s0, s1, s2, -int32(p)>>4*mixRate)
	c.above(mid)
	return 0
}

// learn moves the weights according to the error of the prediction.
func (m *mixer) learn(s0, s1, s2, err int32) {
	m[0] += (s0*err + 1<<15) >> 16
	m[1] += (s1*err + 1<<15) >> 16
	m[2] += (s2*err + 1<<15) >> 16
}

const mixRate = 10

// A number is the model of an integer that is usually small: it models the integer's length in
// bits, and the two bits after its leading one.
type number struct {
	length [128]prob
	top    [65][4]prob
}

func (n *number) reset() {
	freshProbs(n.length[:])
	for i := range n.top {
		freshProbs(n.top[i][:])
	}
}

// unsigned codes v under n.
func (c *coder) unsigned(n *number, v uint64) uint64 {
	k := int(c.tree(n.length[:], 7, uint64(bits.Len64(v))))
	if k > 64 {
		c.fail()
		return 0
	}
	if k < 2 {
		return uint64(k)
	}
	out := uint64(1)
	rest := k - 1
	t := min(rest, 2)
	rest -= t
	node := uint64(1)
	for i := t - 1; i >= 0; i-- {
		b := uint64(c.bit(&n.top[k][node], int(v>>(rest+i)&1)))
		node = node<<1 | b
		out = out<<1 | b
	}
	return out<<rest | c.raw(rest, v)
}

// count codes a count of at most limit. A larger one makes the coder bad and is returned as 0.
func (c *coder) count(n *number, v, limit int) int {
	u := c.unsigned(n, uint64(v))
	if u > uint64(limit) {
		c.fail()
		return 0
	}
	return int(u)
}

// signed codes v under n.
func (c *coder) signed(n *number, v int64) int64 {
	u := c.unsigned(n, uint64(v<<1)^uint64(v>>63))
	return int64(u>>1) ^ -int64(u&1)
}

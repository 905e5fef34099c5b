package chunk

import "math/bits"

// A magnitude codes whole numbers. Small and frequent ones get short codes. A number is coded
// as its length in bits and the bits below the leading one. For numbers of up to wholeBits
// bits, these are modelled one by one, so that frequent values become cheap. For longer ones
// only the upper headBits are.
type magnitude struct {
	low  [1 << wholeBits]prob
	high [(64 - wholeBits) << headBits]prob
}

const (
	wholeBits = 9
	headBits  = 4
)

func fill(ps []prob) {
	for i := range ps {
		ps[i] = probInit
	}
}

// tree codes a symbol of 6 bits.
type tree [64]prob

// longest is the symbol that stands for lengths of 63 and 64 bits.
const longest = 63

func (e *encoder) tree(t *tree, sym uint32) { e.path(t[:], 6, fastLimit, sym) }

func (d *decoder) tree(t *tree) uint32 {
	return d.path(t[:], 6, fastLimit) & 63
}

// length codes the length of v in bits.
func (e *encoder) length(t *tree, v uint64) uint32 {
	n := uint32(bits.Len64(v))
	if n < longest {
		e.tree(t, n)
		return n
	}
	e.tree(t, longest)
	e.plain(uint64(n-longest), 1)
	return n
}

func (d *decoder) length(t *tree) uint32 {
	n := d.tree(t)
	if n == longest {
		n += uint32(d.plain(1))
	}
	return n
}

// rest codes the bits below the leading one of v, which has n bits.
func (e *encoder) rest(m *magnitude, v uint64, n uint32) {
	if n < 2 {
		return
	}
	if n <= wholeBits {
		at := uint32(1) << (n - 1)
		node := uint32(1)
		for i := int(n) - 2; i >= 0; i-- {
			b := uint32(v>>i) & 1
			e.bit(&m.low[at+node], slowLimit, b)
			node = node<<1 | b
		}
		return
	}
	base := (n - wholeBits - 1) << headBits
	node := uint32(1)
	i := int(n) - 2
	for k := 0; k < headBits; k++ {
		b := uint32(v>>i) & 1
		e.bit(&m.high[base+node], slowLimit, b)
		node = node<<1 | b
		i--
	}
	for left := uint(i + 1); left > 0; {
		k := min(left, 16)
		left -= k
		e.plain(v>>left&(1<<k-1), k)
	}
}

func (d *decoder) rest(m *magnitude, n uint32) uint64 {
	if n < 2 {
		return uint64(n)
	}
	if n <= wholeBits {
		return uint64(d.path(m.low[1<<(n-1):1<<n], int(n-1), slowLimit))
	}
	base := (n - wholeBits - 1) << headBits
	v := uint64(d.path(m.high[base:base+1<<headBits], headBits, slowLimit))
	for left := uint(n) - 1 - headBits; left > 0; {
		k := min(left, 16)
		left -= k
		v = v<<k | d.plain(k)
	}
	return v
}

// A number codes signed whole numbers around zero.
type number struct {
	len  [numContexts]tree
	sign [2]prob
	mag  magnitude
	prev uint32 // context: the length of the number before
	neg  uint32
}

const numContexts = 20

func lengthContext(n uint32) uint32 { return min(n, numContexts-1) }

// freshNumber is a number that has learned nothing.
var freshNumber = func() (m number) {
	for i := range m.len {
		fill(m.len[i][:])
	}
	fill(m.sign[:])
	fill(m.mag.low[:])
	fill(m.mag.high[:])
	return m
}()

// priorNumber is a number of a series that has learned nothing. It expects a length near the
// previous one, and nearly any bits below the leading one. Most series of a chunk have few
// changes, and learning this first would take 2 % of an archive.
var priorNumber = func() number {
	m := freshNumber
	for was := range m.len {
		m.len[was].expect(func(n int) uint32 {
			return 1 + priorWeight>>(magnitudeOf(int64(n-was))>>1)
		})
	}
	for i := range m.mag.low {
		m.mag.low[i] = probInit | priorBits
	}
	for i := range m.mag.high {
		m.mag.high[i] = probInit | priorBits
	}
	return m
}()

const (
	priorWeight = 64 // of the most likely length; that of the least likely one is 1
	priorBits   = 6  // how many bits the bits below the leading one have learned from
)

// expect sets t as if it had learned one symbol, distributed by weight.
func (t *tree) expect(weight func(sym int) uint32) {
	var sums [2 * len(t)]uint32
	for sym := range t {
		sums[len(t)+sym] = weight(sym)
	}
	for node := len(t) - 1; node > 0; node-- {
		sums[node] = sums[2*node] + sums[2*node+1]
		t[node] = prob(sums[2*node]<<(32-countBits)/sums[node])<<countBits | 1
	}
}

func (m *number) init() { *m = freshNumber }

func (e *encoder) number(m *number, v int64) {
	u := uint64(v)
	if v < 0 {
		u = -u
	}
	n := e.length(&m.len[lengthContext(m.prev)], u)
	m.prev = n
	if n == 0 {
		return
	}
	neg := uint32(uint64(v) >> 63)
	e.bit(&m.sign[m.neg], fastLimit, neg)
	m.neg = neg
	e.rest(&m.mag, u, n)
}

func (d *decoder) number(m *number) int64 {
	n := d.length(&m.len[lengthContext(m.prev)])
	m.prev = n
	if n == 0 {
		return 0
	}
	m.neg = d.bit(&m.sign[m.neg], fastLimit)
	v := d.rest(&m.mag, n)
	if m.neg != 0 {
		v = -v
	}
	return int64(v)
}

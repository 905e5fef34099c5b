package chunk

import "math/bits"

// Two models often each know a part of what a value does next: one knows what it did last, the
// other how much is going on around it. A bit that both models predict is coded with their
// predictions combined, each weighted by its past success: as a weighted sum in the logistic
// domain.

// weights are how much each of two models counts, in units of 2^-16.
type weights [2]int32

const (
	weightBits          = 16
	weightRate          = 13 // how slowly weights are learned
	weightInit          = 1 << weightBits / 2
	maxWeight           = 1 << 20
	logisticBits        = 8                   // of the fraction
	maxLogistic         = 8<<logisticBits - 1 // e^8 to 1
	leastZero    uint32 = 1 << 5              // of 2^16
)

// logistic is 2^16 / (1 + e^-x) for x from -8 to 8 in steps of a half.
var logistic = [33]uint32{
	22, 36, 60, 98, 162, 267, 439, 723, 1179, 1928, 3108, 4971, 7812, 11953, 17625, 24742,
	32768, 40794, 47911, 53583, 57724, 60565, 62428, 63608, 64357, 64813, 65097, 65269, 65374, 65438, 65476, 65500, 65514,
}

// squash is the probability of 0, in units of 2^-16, for a sum of predictions. stretch is its
// inverse, indexed by the upper 12 bits of a probability.
var squash, stretch = func() (s [2*maxLogistic + 2]uint16, t [1 << 12]int16) {
	for i := range s {
		k, part := i>>(logisticBits-1), uint32(i&(1<<(logisticBits-1)-1))
		low := logistic[k]
		zero := low + (logistic[k+1]-low)*part>>(logisticBits-1)
		s[i] = uint16(min(max(zero, leastZero), 1<<16-leastZero))
	}
	at := 0
	for p := range t {
		for at < len(s)-1 && uint32(s[at]) < uint32(p)<<4+8 {
			at++
		}
		t[p] = int16(at - maxLogistic - 1)
	}
	return s, t
}()

// An opinion is the combined prediction of two models for a bit.
type opinion struct {
	a, b int64 // stretched
	zero uint64
}

func (w *weights) weigh(p, q prob) opinion {
	o := opinion{a: int64(stretch[p>>20]), b: int64(stretch[q>>20])}
	sum := (o.a*int64(w[0]) + o.b*int64(w[1])) >> weightBits
	sum = min(max(sum, -maxLogistic), maxLogistic)
	o.zero = uint64(squash[uint32(sum+maxLogistic+1)])
	return o
}

// saw gives more weight to the model that was right.
func (w *weights) saw(o opinion, bit uint32) {
	wrong := int64(1-bit)<<16 - int64(o.zero)
	w[0] = int32(min(max(int64(w[0])+(o.a*wrong)>>weightRate, -maxWeight), maxWeight))
	w[1] = int32(min(max(int64(w[1])+(o.b*wrong)>>weightRate, -maxWeight), maxWeight))
}

// mixed codes a bit that two models predict.
func (e *encoder) mixed(p, q *prob, w *weights, limit prob, bit uint32) {
	o := w.weigh(*p, *q)
	e.split(o.zero, bit)
	w.saw(o, bit)
	*p, *q = p.saw(bit, limit), q.saw(bit, limit)
}

func (d *decoder) mixed(p, q *prob, w *weights, limit prob) uint32 {
	o := w.weigh(*p, *q)
	bound := d.width >> 16 * o.zero
	var bit uint32
	if d.code < bound {
		d.width = bound
	} else {
		d.code -= bound
		d.width -= bound
		bit = 1
	}
	if d.width>>32 == 0 {
		d.shift()
	}
	w.saw(o, bit)
	*p, *q = p.saw(bit, limit), q.saw(bit, limit)
	return bit
}

// A step codes the changes of a series. It is a number with a second model for its length. That
// model uses the average length of the previous numbers, or the size of the change that the
// series is expected to make.
type step struct {
	number
	near    [nearContexts]tree
	weights [mixedLevels]weights
	avg     int32 // average length, in sixteenths
}

const (
	avgContexts   = 40
	guideContexts = 24
	nearContexts  = avgContexts + guideContexts
	lengthLevels  = 6
	mixedLevels   = 4 // the lowest of these
)

// freshStep is a step that has learned nothing.
var freshStep = func() (m step) {
	m.number = priorNumber
	for i := range m.near {
		fill(m.near[i][:])
	}
	for i := range m.weights {
		m.weights[i] = weights{weightInit, weightInit}
	}
	return m
}()

// begin forgets the previous numbers.
func (m *step) begin() { m.prev, m.neg, m.avg = 0, 0, 0 }

// models returns the two models for the length of the next number. guided is the size of its
// expected change, 0 if none is expected.
func (m *step) models(guided uint32) (a, b *tree) {
	at := min(uint32(m.avg+4)>>3, avgContexts-1)
	if guided > 0 {
		at = avgContexts + min(guided, guideContexts-1)
	}
	return &m.len[lengthContext(m.prev)], &m.near[at]
}

// saw notes the length of a number.
func (m *step) saw(n uint32) {
	m.prev = n
	m.avg += (int32(n<<4) - m.avg) >> 2
}

func (e *encoder) step(m *step, v int64, guided uint32, mixed bool) {
	if !mixed {
		e.number(&m.number, v)
		return
	}
	u := uint64(v)
	if v < 0 {
		u = -u
	}
	n := uint32(bits.Len64(u))
	a, b := m.models(guided)
	sym := min(n, longest)
	node := uint32(1)
	for i := lengthLevels - 1; i >= 0; i-- {
		bit := sym >> i & 1
		if i >= mixedLevels {
			e.bit(&a[node], fastLimit, bit)
		} else {
			e.mixed(&a[node], &b[node], &m.weights[i], fastLimit, bit)
		}
		node = node<<1 | bit
	}
	if sym == longest {
		e.plain(uint64(n-longest), 1)
	}
	m.saw(n)
	if n == 0 {
		return
	}
	neg := uint32(uint64(v) >> 63)
	e.bit(&m.sign[m.neg], fastLimit, neg)
	m.neg = neg
	e.rest(&m.mag, u, n)
}

func (d *decoder) step(m *step, guided uint32, mixed bool) int64 {
	if !mixed {
		return d.number(&m.number)
	}
	a, b := m.models(guided)
	n := d.mixedLength(a, b, &m.weights)
	if n == longest {
		n += uint32(d.plain(1))
	}
	m.saw(n)
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

// mixedLength decodes the symbol of a length. As in path, it does not branch on the bits, which
// are hard to predict.
func (d *decoder) mixedLength(a, b *tree, ws *[mixedLevels]weights) uint32 {
	code, width := d.code, d.width
	node := uint32(1)
	for node < 1<<(lengthLevels-mixedLevels) { // as in bit
		p := a[node]
		bound := width >> 16 * p.zero()
		var bit uint32
		if code < bound {
			width = bound
		} else {
			code -= bound
			width -= bound
			bit = 1
		}
		a[node] = p.saw(bit, fastLimit)
		if width>>32 == 0 {
			code = code<<32 | uint64(d.next())
			width <<= 32
		}
		node = node<<1 | bit
	}
	for i := mixedLevels - 1; i >= 0; i-- {
		p, q, w := a[node&63], b[node&63], &ws[i]
		o := w.weigh(p, q)
		bound := width >> 16 * o.zero
		var bit uint32
		if code >= bound {
			bit = 1
		}
		mask := -uint64(bit)
		code -= bound & mask
		width = bound ^ (bound^(width-bound))&mask
		if width>>32 == 0 {
			code = code<<32 | uint64(d.next())
			width <<= 32
		}
		w.saw(o, bit)
		a[node&63], b[node&63] = p.saw(bit, fastLimit), q.saw(bit, fastLimit)
		node = node<<1 | bit
	}
	d.code, d.width = code, width
	return node & 63
}

// moves are the models for whether a series changes at an ordinal.
type moves struct {
	// alone uses whether the series changed at its last ordinals. guided also uses whether the
	// series that predicts it changes.
	alone  [1 << historyBits]prob
	guided [2][1 << historyBits]prob
	// quiet uses how long ago it last changed and by how much. expected uses the size of the
	// expected change.
	quiet    [8 * 8]prob
	expected [32]prob
	weights  [2]weights
	last     uint32 // the ordinal of the last change
	history  uint32
}

// freshMoves are models that have learned nothing.
var freshMoves = func() (m moves) {
	fill(m.alone[:])
	fill(m.guided[0][:])
	fill(m.guided[1][:])
	fill(m.quiet[:])
	fill(m.expected[:])
	for i := range m.weights {
		m.weights[i] = weights{weightInit, weightInit}
	}
	return m
}()

func (m *moves) begin() { m.last, m.history = 0, 0 }

// unguided returns the models at ordinal t, where the last number had length bits.
func (m *moves) unguided(t, length uint32) (p, q *prob, w *weights) {
	ago := uint32(bits.Len32(t - m.last))
	return &m.alone[m.history], &m.quiet[min(ago, 7)<<3|min(length>>1, 7)], &m.weights[0]
}

// withGuide returns the models where the other series makes a change of the size guided, 0 for
// none.
func (m *moves) withGuide(guided uint32) (p, q *prob, w *weights) {
	there := min(guided, 1)
	return &m.guided[there][m.history], &m.expected[min(guided, 31)], &m.weights[there]
}

func (m *moves) saw(t, bit uint32) {
	m.history = m.history<<1&(1<<historyBits-1) | bit
	if bit != 0 {
		m.last = t
	}
}

// either codes a bit by both models, or in plain series by the first alone.
func (e *encoder) either(p, q *prob, w *weights, mixed bool, bit uint32) {
	if mixed {
		e.mixed(p, q, w, slowLimit, bit)
	} else {
		e.bit(p, slowLimit, bit)
	}
}

func (d *decoder) either(p, q *prob, w *weights, mixed bool) uint32 {
	if mixed {
		return d.mixed(p, q, w, slowLimit)
	}
	return d.bit(p, slowLimit)
}

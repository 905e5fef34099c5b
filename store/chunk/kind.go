package chunk

// A kindCoder codes which kind comes next in a segment, where the number of instances of each
// kind is known. Mostly it is the kind that followed the previous kind the last time. Otherwise
// it is coded by how many of each kind are left.
type kindCoder struct {
	kinds  []kindRun
	left   []int32
	total  int32
	follow []int32 // what followed a kind, by place in kinds; -1 before it is known
	before int32
	hits   uint32 // whether the last two were as expected
}

func newKindCoder(kinds []kindRun) *kindCoder {
	c := &kindCoder{kinds: kinds, left: make([]int32, len(kinds)), follow: make([]int32, len(kinds)+1), before: int32(len(kinds))}
	for k := range kinds {
		c.left[k] = kinds[k].count
		c.total += kinds[k].count
	}
	for k := range c.follow {
		c.follow[k] = -1
	}
	return c
}

// expected returns the kind that is likely to come: the one that last followed the previous
// kind, or else the next kind that has any left, going round in a circle back to the previous
// kind.
func (c *kindCoder) expected() int32 {
	if f := c.follow[c.before]; f >= 0 && c.left[f] > 0 {
		return f
	}
	n := int32(len(c.kinds))
	for at := c.before + 1; at < n; at++ {
		if c.left[at] > 0 {
			return at
		}
	}
	for at := range min(c.before+1, n) {
		if c.left[at] > 0 {
			return at
		}
	}
	return 0
}

// took notes the kind that came.
func (c *kindCoder) took(k int32, hit uint32) {
	c.follow[c.before] = k
	c.before = k
	c.left[k]--
	c.total--
	c.hits = c.hits<<1&3 | hit
}

func (e *encoder) kind(m *headModel, c *kindCoder, kind int32) {
	want := c.expected()
	if c.left[want] == c.total {
		c.took(want, 1)
		return
	}
	if c.kinds[want].kind == kind {
		e.bit(&m.follow[c.hits], fastLimit, 1)
		c.took(want, 1)
		return
	}
	e.bit(&m.follow[c.hits], fastLimit, 0)
	below := int32(0)
	for k := range c.kinds {
		if int32(k) == want {
			continue
		}
		if c.kinds[k].kind == kind {
			e.share(uint64(below), uint64(c.left[k]), uint64(c.total-c.left[want]))
			c.took(int32(k), 0)
			return
		}
		below += c.left[k]
	}
}

// kind decodes the next kind, as its index in the list.
func (d *decoder) kind(m *headModel, c *kindCoder) int32 {
	want := c.expected()
	if c.left[want] == c.total {
		c.took(want, 1)
		return want
	}
	if d.bit(&m.follow[c.hits], fastLimit) != 0 {
		c.took(want, 1)
		return want
	}
	unit, at := d.part(uint64(c.total - c.left[want]))
	below := uint64(0)
	for k := range c.kinds {
		n := uint64(c.left[k])
		if int32(k) == want || n == 0 {
			continue
		}
		if at < below+n {
			d.take(unit, below, n)
			c.took(int32(k), 0)
			return int32(k)
		}
		below += n
	}
	return want // not reached
}

// share codes a range of n out of total equally likely parts, which begins after below parts.
func (e *encoder) share(below, n, total uint64) {
	unit := e.width / total
	low := e.low + below*unit
	if low < e.low {
		e.carry()
	}
	e.low = low
	e.width = n * unit
	if e.width>>32 == 0 {
		e.shift()
	}
}

// part returns which of total equal parts comes next, and their width.
func (d *decoder) part(total uint64) (unit, at uint64) {
	unit = d.width / total
	return unit, min(d.code/unit, total-1)
}

// take consumes the range of n parts from below on, which holds the part that came.
func (d *decoder) take(unit, below, n uint64) {
	d.code -= below * unit
	d.width = n * unit
	if d.width>>32 == 0 {
		d.shift()
	}
}

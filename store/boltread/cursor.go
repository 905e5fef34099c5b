package boltread

import (
	"bytes"
	"io"
	"sort"
)

// Cursor walks the keys of a bucket in byte order. It is for one goroutine.
//
// Damaged pages and elements are skipped and noted in the snapshot's Damage. Where damage makes
// the order of the tree doubtful, the cursor goes on in a sorted list of all keys that can be
// found, so that undamaged keys still come in their place.
type Cursor struct {
	b     *Bucket
	stack []frame
	last  []byte // the current key
	hurt  *Damage

	listed bool // from here on, list and pos apply instead of stack
	list   []element
	pos    int
}

// frame is a page on the way from the root and a position in it. All keys below
// it are less than hi, if that is set.
type frame struct {
	p  *page
	i  int
	hi []byte
}

// First moves to the first key and reports whether there is one.
func (c *Cursor) First() bool {
	if !c.listed {
		c.reset()
		ok := c.pushRoot() && c.ahead()
		if !c.listed {
			return ok
		}
	}
	return c.standAt(0)
}

// Next moves to the next key and reports whether there is one.
func (c *Cursor) Next() bool {
	if c.last == nil {
		return false
	}
	if !c.listed {
		from := c.last
		c.stack[len(c.stack)-1].i++
		ok := c.ahead()
		if !c.listed {
			return ok
		}
		return c.standAt(after(c.list, from))
	}
	return c.standAt(c.pos + 1)
}

// Seek moves to the first key that is not less than key and reports whether
// there is one.
func (c *Cursor) Seek(key []byte) bool {
	if !c.listed {
		c.reset()
		ok := c.descend(key) && c.ahead()
		if !c.listed {
			return ok
		}
	}
	return c.standAt(notBefore(c.list, key))
}

// Key returns the current key, nil if there is none. It must not be modified.
func (c *Cursor) Key() []byte { return c.last }

// IsBucket reports whether the key belongs to a nested bucket.
func (c *Cursor) IsBucket() bool {
	_, e := c.at()
	return e != nil && e.bucket
}

// ValueSize returns the length of the value, without reading it.
func (c *Cursor) ValueSize() int {
	if _, e := c.at(); e != nil {
		return e.vsize
	}
	return 0
}

// Value returns the current value. It must not be modified. It stays valid as long as it is
// referenced.
func (c *Cursor) Value() ([]byte, error) {
	p, e := c.at()
	if e == nil {
		return nil, nil
	}
	return c.b.s.value(p, e)
}

// Section returns the current value without reading it, nil if there is none. Damage shows as
// an error or as wrong bytes when it is read.
func (c *Cursor) Section() *io.SectionReader {
	p, e := c.at()
	if e == nil {
		return nil
	}
	return c.b.s.section(p, e)
}

// Page returns the number of the page that holds the key, for reports.
func (c *Cursor) Page() uint64 {
	if p, _ := c.at(); p != nil {
		return p.id
	}
	return 0
}

// Bucket returns the current nested bucket, or nil if the cursor is not at one.
func (c *Cursor) Bucket() (*Bucket, error) {
	p, e := c.at()
	if e == nil || !e.bucket {
		return nil, nil
	}
	sub, d := c.b.open(p, e)
	if d != nil {
		c.note(d)
		return nil, d
	}
	return sub, nil
}

// Err returns damage that the cursor met: keys may be missing from its walk.
func (c *Cursor) Err() error {
	if c.hurt != nil {
		return c.hurt
	}
	return nil
}

func (c *Cursor) at() (*page, *elem) {
	if c.last == nil {
		return nil, nil
	}
	if c.listed {
		at := c.list[c.pos]
		return at.p, &at.p.elems[at.i]
	}
	f := c.stack[len(c.stack)-1]
	return f.p, &f.p.elems[f.i]
}

// find seeks key and reports whether it exists.
func (c *Cursor) find(key []byte) bool {
	return c.Seek(key) && bytes.Equal(c.last, key)
}

func (c *Cursor) reset() {
	c.stack = c.stack[:0]
	c.last = nil
}

func (c *Cursor) note(d *Damage) {
	if c.hurt == nil {
		c.hurt = d
	}
	c.b.s.damage.add(d)
}

// standAt moves to position i of the list.
func (c *Cursor) standAt(i int) bool {
	if i < 0 || i >= len(c.list) {
		c.last = nil
		return false
	}
	c.pos = i
	c.last = c.list[i].p.elems[c.list[i].i].key
	return true
}

// distrust switches from the tree to the list.
func (c *Cursor) distrust(d *Damage) {
	c.note(d)
	c.listed = true
	c.list = c.b.walk()
	c.last = nil
}

func (c *Cursor) pushRoot() bool {
	p := c.b.inline
	if p == nil {
		var d *Damage
		if p, d = c.b.s.load(c.b.root); d != nil {
			c.note(d)
			return false
		}
	}
	return c.push(p, nil)
}

// push goes down to p, unless p cannot be trusted.
func (c *Cursor) push(p *page, hi []byte) bool {
	if p.damage != nil {
		if !p.leaf || p.disorder {
			c.distrust(p.damage)
			return false
		}
		c.note(p.damage)
	}
	if c.b.s.visited != nil {
		c.b.s.visited[p.id] = true
	}
	c.stack = append(c.stack, frame{p, 0, hi})
	return true
}

// enter goes down to the page below the top frame's element. It returns false if that page must
// be skipped, or the tree must be left.
func (c *Cursor) enter() bool {
	f := c.stack[len(c.stack)-1]
	e := &f.p.elems[f.i]
	hi := f.hi
	if f.i+1 < len(f.p.elems) {
		hi = f.p.elems[f.i+1].key
	}
	if len(c.stack) >= maxDepth {
		c.note(c.b.tooDeep(e))
		return false
	}
	p, d := c.b.s.load(e.child)
	if d == nil && len(p.elems) == 0 {
		d = pageDamage(p.id, p.base, "it holds no element")
	}
	if d != nil {
		lost := *d
		lost.From, lost.To = e.key, hi
		c.note(&lost)
		return false
	}
	// bbolt keeps a branch's key equal to the first key below it. If it is
	// not, one of the two is damaged, and a search may have been misled.
	first, last := p.elems[0].key, p.elems[len(p.elems)-1].key
	if !bytes.Equal(first, e.key) {
		c.distrust(&Damage{Page: p.id, Offset: p.base, From: e.key, To: hi,
			What: "its first key " + quote(first) + " is not the one in the branch above, " + quote(e.key)})
		return false
	}
	if hi != nil && bytes.Compare(last, hi) >= 0 {
		c.distrust(&Damage{Page: p.id, Offset: p.base, From: e.key, To: hi,
			What: "its last key " + quote(last) + " is beyond the next one in the branch above, " + quote(hi)})
		return false
	}
	return c.push(p, hi)
}

// descend goes down to where key is or would be. It stops above a page on the way that is lost.
func (c *Cursor) descend(key []byte) bool {
	if !c.pushRoot() {
		return false
	}
	for {
		f := &c.stack[len(c.stack)-1]
		f.i = f.p.search(key)
		if f.p.leaf {
			return true
		}
		if f.i > 0 && (f.i == len(f.p.elems) || !bytes.Equal(f.p.elems[f.i].key, key)) {
			f.i--
		}
		if f.i >= len(f.p.elems) {
			return true
		}
		if !c.enter() {
			// ahead would only fail to enter it again.
			c.stack[len(c.stack)-1].i++
			return !c.listed
		}
	}
}

// ahead moves from the top frame to the next key that exists.
func (c *Cursor) ahead() bool {
	for len(c.stack) > 0 && !c.listed {
		f := &c.stack[len(c.stack)-1]
		switch {
		case f.i >= len(f.p.elems):
			c.stack = c.stack[:len(c.stack)-1]
			if n := len(c.stack); n > 0 {
				c.stack[n-1].i++
			}
		case f.p.leaf:
			c.last = f.p.elems[f.i].key
			return true
		case !c.enter():
			f.i++
		}
	}
	c.last = nil
	return false
}

// after returns the first position whose key is greater than key.
func after(list []element, key []byte) int {
	return sort.Search(len(list), func(i int) bool { return bytes.Compare(list[i].key(), key) > 0 })
}

// notBefore returns the first position whose key is not less than key.
func notBefore(list []element, key []byte) int {
	return sort.Search(len(list), func(i int) bool { return bytes.Compare(list[i].key(), key) >= 0 })
}

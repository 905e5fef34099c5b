package boltread

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sort"
)

const (
	branchFlag   = 0x01
	leafFlag     = 0x02
	metaFlag     = 0x04
	freelistFlag = 0x10
	bucketFlag   = 0x01 // in a leaf element

	elemSize   = 16
	maxKeySize = 32768

	// Pages up to wholePage bytes are read in one go. Of longer ones, which
	// hold a few long values, only elements and keys are read at first.
	wholePage = 16 << 10
)

// elem is one entry of a page: a child page, or a key with its value.
type elem struct {
	key    []byte
	child  uint64 // in a branch
	off    int64  // where the value is within the page
	vsize  int
	bucket bool
}

// page is a decoded page. It is immutable once loaded.
type page struct {
	id   uint64
	leaf bool
	size int64 // with overflow
	// base is the page's place in the file; for an inline page, which has
	// none, values lie in buf.
	base  int64
	buf   []byte // the whole page, or its beginning
	elems []elem
	// damage says what is wrong with elements that were left out. It is nil if the page is as a
	// writer leaves it.
	damage *Damage
	// disorder is set when the keys do not ascend, so that they cannot be
	// searched.
	disorder bool
}

func pageDamage(id uint64, base int64, format string, args ...any) *Damage {
	return &Damage{Page: id, Offset: base, What: fmt.Sprintf(format, args...)}
}

// fetch reads n bytes at off of the page. The bytes must lie within the page.
type fetch func(off int64, n int) ([]byte, error)

// parsePage decodes the elements of a branch or leaf page. buf holds at least
// its header; more is fetched as needed. highWater bounds child pages.
func parsePage(p *page, flags uint16, count int, highWater uint64, more fetch) *Damage {
	p.leaf = flags == leafFlag
	if flags != leafFlag && flags != branchFlag {
		return pageDamage(p.id, p.base, "page flags %#x where a branch or leaf was expected", flags)
	}
	table, err := p.table(&count, more)
	if err != nil {
		return err
	}
	sp := p.layout(table, count, highWater)
	clean := true
	p.elems = make([]elem, 0, count)
	for i, s := range sp {
		if !s.ok {
			clean = false
			continue
		}
		row := table[i*elemSize:]
		e := elem{off: s.off + int64(s.ksize), vsize: s.vsize}
		if p.leaf {
			e.bucket = binary.LittleEndian.Uint32(row)&bucketFlag != 0
		} else {
			e.child = binary.LittleEndian.Uint64(row[8:])
		}
		var kerr error
		if e.key, kerr = p.bytes(s.off, s.ksize, more); kerr != nil {
			return &Damage{Page: p.id, Offset: p.base, What: kerr.Error(), Err: kerr}
		}
		p.elems = append(p.elems, e)
	}
	if !clean {
		p.damage = pageDamage(p.id, p.base, "%d of %d elements do not fit the page's layout", count-len(p.elems), count)
	}
	for i := 1; i < len(p.elems); i++ {
		if bytes.Compare(p.elems[i-1].key, p.elems[i].key) >= 0 {
			p.disorder = true
			if p.damage == nil {
				p.damage = pageDamage(p.id, p.base, "the key of element %d is not greater than the one before", i)
			}
			break
		}
	}
	return nil
}

// table returns the element table. It trusts the count in the header only if the first
// element's data begins where the table ends. Otherwise it computes the table's length from
// where that data begins.
func (p *page) table(count *int, more fetch) ([]byte, *Damage) {
	room := (p.size - pageHeaderSize) / elemSize
	if *count == 0 && room == 0 {
		return nil, nil // an empty inline page
	}
	first, err := p.bytes(pageHeaderSize, elemSize, more)
	if err != nil {
		return nil, &Damage{Page: p.id, Offset: p.base, What: err.Error(), Err: err}
	}
	start := pageHeaderSize + int64(p.pos(first))
	if start != pageHeaderSize+int64(*count)*elemSize {
		n := (start - pageHeaderSize) / elemSize
		if start%elemSize == 0 && n > 0 && n <= min(room, 65535) && p.plausible(int(n), more) {
			p.damage = pageDamage(p.id, p.base, "the page says %d elements and has %d", *count, n)
			*count = int(n)
		}
	}
	if *count == 0 {
		return nil, nil
	}
	if int64(*count) > room {
		return nil, pageDamage(p.id, p.base, "%d elements do not fit into %d bytes", *count, p.size)
	}
	t, err := p.bytes(pageHeaderSize, *count*elemSize, more)
	if err != nil {
		return nil, &Damage{Page: p.id, Offset: p.base, What: err.Error(), Err: err}
	}
	return t, nil
}

// plausible reports whether a table of n elements describes data that follows it without gaps.
func (p *page) plausible(n int, more fetch) bool {
	t, err := p.bytes(pageHeaderSize, n*elemSize, more)
	if err != nil {
		return false
	}
	at := int64(pageHeaderSize + n*elemSize)
	for i := range n {
		row := t[i*elemSize:]
		if at != int64(pageHeaderSize+i*elemSize)+int64(p.pos(row)) {
			return false
		}
		k, v := p.sizes(row)
		if at += int64(k) + int64(v); at > p.size {
			return false
		}
	}
	return true
}

// pos returns where an element's data begins, counted from the element.
func (p *page) pos(row []byte) uint32 {
	if p.leaf {
		return binary.LittleEndian.Uint32(row[4:])
	}
	return binary.LittleEndian.Uint32(row)
}

func (p *page) sizes(row []byte) (k, v uint32) {
	if p.leaf {
		return binary.LittleEndian.Uint32(row[8:]), binary.LittleEndian.Uint32(row[12:])
	}
	return binary.LittleEndian.Uint32(row[4:]), 0
}

// A span is the place of an element's key and value.
type span struct {
	off          int64
	ksize, vsize int
	ok           bool
}

// layout locates all elements. bbolt writes keys and values without gaps in
// the order of the elements, so each place is known twice: from the element
// and from its predecessor's end. An element whose place or size is contradicted
// is not ok.
func (p *page) layout(table []byte, count int, highWater uint64) []span {
	sp := make([]span, count)
	start := func(i int) int64 {
		return int64(i*elemSize+pageHeaderSize) + int64(p.pos(table[i*elemSize:]))
	}
	size := func(i int) int64 {
		k, v := p.sizes(table[i*elemSize:])
		return int64(k) + int64(v)
	}
	at := int64(pageHeaderSize + count*elemSize)
	for i := range count {
		row := table[i*elemSize:]
		k, v := p.sizes(row)
		ok := k > 0 && k <= maxKeySize
		if p.leaf {
			ok = ok && binary.LittleEndian.Uint32(row)&^bucketFlag == 0
		} else if child := binary.LittleEndian.Uint64(row[8:]); child < 2 || child >= highWater {
			ok = false
		}
		if s := start(i); s != at {
			switch {
			case i+1 < count && at+size(i) == start(i+1):
				// Only this element's own place is wrong. bbolt would trust it.
				p.damage = pageDamage(p.id, p.base, "element %d is not where it says; its neighbours tell", i)
			case i+1 < count && s+size(i) == start(i+1):
				// The predecessor's size is wrong.
				if i > 0 {
					sp[i-1].ok = false
				}
				at = s
			default:
				// Either of the two may be wrong.
				if i > 0 {
					sp[i-1].ok = false
				}
				ok = false
				at = s
			}
		}
		if at < int64(pageHeaderSize+count*elemSize) || at+int64(k)+int64(v) > p.size {
			ok = false
		}
		sp[i] = span{off: at, ksize: int(k), vsize: int(v), ok: ok}
		if at += int64(k) + int64(v); at > p.size && i+1 < count {
			sp[i].ok = false
			at = start(i + 1)
		}
	}
	return sp
}

// bytes returns n bytes at off of the page, from memory if they are there.
func (p *page) bytes(off int64, n int, more fetch) ([]byte, error) {
	if off < 0 || n < 0 || off+int64(n) > p.size {
		return nil, fmt.Errorf("%d bytes at %d lie outside the page's %d", n, off, p.size)
	}
	if off+int64(n) <= int64(len(p.buf)) {
		return p.buf[off : off+int64(n) : off+int64(n)], nil
	}
	return more(off, n)
}

// search returns the first element whose key is not less than key.
func (p *page) search(key []byte) int {
	return sort.Search(len(p.elems), func(i int) bool { return bytes.Compare(p.elems[i].key, key) >= 0 })
}

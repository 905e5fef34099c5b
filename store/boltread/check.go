package boltread

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// Check examines the whole structure of the snapshot: that every page in use is reachable
// exactly once, that keys are in order, that free pages are free, and that no page is
// unaccounted for. It returns what it found, in the order of the pages. progress, if set, gets
// the number of pages done and the total.
//
// bbolt keeps no checksums over pages, so Check does not notice a changed value.
func (s *Snapshot) Check(progress func(done, total int64)) []*Damage {
	pages := min(int64(s.meta.HighWater), s.size/int64(s.meta.PageSize)+1)
	k := &checker{s: s, owned: make([]byte, pages), progress: progress}
	k.own(0, 2, reached)
	if s.meta.Freelist != NoFreelist {
		k.freelist()
	}
	k.bucket(s.Root())
	if s.meta.Freelist != NoFreelist {
		for id, o := range k.owned {
			if o == nobody {
				k.add(pageDamage(uint64(id), int64(id*s.meta.PageSize), "it is neither in use nor free"))
			}
		}
	}
	for _, d := range s.Damage() {
		k.add(d)
	}
	if progress != nil {
		progress(pages, pages)
	}
	slices.SortStableFunc(k.found, func(a, b *Damage) int { return cmp.Compare(a.Page, b.Page) })
	return slices.CompactFunc(k.found, func(a, b *Damage) bool { return a.Error() == b.Error() })
}

const (
	nobody = iota
	free
	reached
)

type checker struct {
	s        *Snapshot
	owned    []byte // the owner of each page
	done     int64
	found    []*Damage
	progress func(done, total int64)
}

func (k *checker) add(d *Damage) {
	if len(k.found) < maxDamage {
		k.found = append(k.found, d)
	}
}

// own claims n pages from id on. It returns false if one is claimed already.
func (k *checker) own(id, n uint64, by byte) bool {
	for i := id; i < id+n; i++ {
		if i >= uint64(len(k.owned)) {
			return false
		}
		switch k.owned[i] {
		case free:
			k.add(pageDamage(i, int64(i)*int64(k.s.meta.PageSize), "it is in use and in the list of free pages"))
		case reached:
			k.add(pageDamage(i, int64(i)*int64(k.s.meta.PageSize), "it is used twice"))
			return false
		}
		k.owned[i] = by
	}
	k.done += int64(n)
	if k.progress != nil && k.done&0xff == 0 {
		k.progress(k.done, int64(len(k.owned)))
	}
	return true
}

// freelist claims the pages of the list of free pages, and the pages that it lists.
func (k *checker) freelist() {
	s := k.s
	id := s.meta.Freelist
	base := int64(id) * int64(s.meta.PageSize)
	bad := func(what string) { k.add(pageDamage(id, base, "list of free pages: %s", what)) }
	if id < 2 || id >= s.meta.HighWater || base+int64(s.meta.PageSize) > s.size {
		bad("its page does not exist")
		return
	}
	buf := make([]byte, s.meta.PageSize)
	if err := readFull(s.src, buf, base); err != nil {
		bad(err.Error())
		return
	}
	h, d := decodeHeader(buf, id, base)
	if d != nil {
		k.add(d)
		return
	}
	size := (int64(h.overflow) + 1) * int64(s.meta.PageSize)
	if h.flags != freelistFlag || base+size > s.size {
		bad("its page header is wrong")
		return
	}
	n, at := uint64(h.count), int64(pageHeaderSize)
	if n == 0xffff {
		// More pages than the header can count are counted by the first entry.
		n, at = binary.LittleEndian.Uint64(buf[at:]), at+8
	}
	if n > uint64(size-at)/8 {
		bad("it is longer than its page")
		return
	}
	ids := make([]byte, n*8)
	if err := readFull(s.src, ids, base+at); err != nil {
		bad(err.Error())
		return
	}
	k.own(id, uint64(h.overflow)+1, reached)
	last := uint64(1)
	for ; len(ids) > 0; ids = ids[8:] {
		f := binary.LittleEndian.Uint64(ids)
		if f <= last || f >= s.meta.HighWater {
			bad("its entries are not ascending page numbers")
			return
		}
		last = f
		k.own(f, 1, free)
	}
}

func (k *checker) bucket(b *Bucket) {
	if b.inline != nil {
		k.page(b, b.inline, nil, nil, 1)
		return
	}
	p, d := k.s.load(b.root)
	if d != nil {
		k.add(d)
		return
	}
	if k.own(p.id, uint64(p.size)/uint64(k.s.meta.PageSize), reached) {
		k.page(b, p, nil, nil, 1)
	}
}

// page checks p, whose keys are bounded by lo and hi, and all below it.
func (k *checker) page(b *Bucket, p *page, lo, hi []byte, depth int) {
	if n := len(p.elems); n > 0 {
		if lo != nil && !bytes.Equal(p.elems[0].key, lo) {
			k.add(pageDamage(p.id, p.base, "its first key %s is not the one in the branch above, %s", quote(p.elems[0].key), quote(lo)))
		}
		if hi != nil && bytes.Compare(p.elems[n-1].key, hi) >= 0 {
			k.add(pageDamage(p.id, p.base, "its last key %s is beyond the next one in the branch above, %s", quote(p.elems[n-1].key), quote(hi)))
		}
	} else if depth > 1 {
		k.add(pageDamage(p.id, p.base, "it holds no element"))
	}
	for i := range p.elems {
		e := &p.elems[i]
		if p.leaf {
			if e.bucket {
				sub, d := b.open(p, e)
				if d != nil {
					k.add(d)
				} else {
					k.bucket(sub)
				}
			}
			continue
		}
		if depth >= maxDepth {
			k.add(b.tooDeep(e))
			continue
		}
		q, d := k.s.load(e.child)
		if d != nil {
			k.add(d)
			continue
		}
		next := hi
		if i+1 < len(p.elems) {
			next = p.elems[i+1].key
		}
		if k.own(q.id, uint64(q.size)/uint64(k.s.meta.PageSize), reached) {
			k.page(b, q, e.key, next, depth+1)
		}
	}
}

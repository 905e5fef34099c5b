package boltread

import (
	"fmt"
	"io"
)

// Found is a key and value that Salvage found.
type Found struct {
	// Bucket is the path of bucket names. It is nil for what was found outside of any tree, and
	// lacks its beginning (Loose is set) for what lies below such a page.
	Bucket []string
	Key    []byte
	Page   uint64
	// Older is set for what can be reached only from the older of the two roots, Loose for what
	// can be reached from neither. It may have been deleted or replaced since.
	Older, Loose bool
	// Section is the value, unread.
	Section *io.SectionReader
}

// Value reads the value.
func (f *Found) Value() ([]byte, error) {
	b := make([]byte, f.Section.Size())
	return b, readFull(f.Section, b, 0)
}

// Salvage calls fn for every key and value that can be found in a damaged file: first what the
// newest root leads to, then, if anything was damaged, what the older one leads to, then what
// lies in pages that neither reaches. It may find a key several times; the first is the best.
// Values are passed as found: their owner must be able to tell whether they are whole. They can
// be read as long as src can.
//
// It returns the damage met on the way. The error is fn's, or says that src is no bbolt file.
func Salvage(src Source, progress func(done, total int64), fn func(Found) error) ([]*Damage, error) {
	size, err := src.Size()
	if err != nil {
		return nil, err
	}
	metas, errs := ReadMetas(src)
	best := newest(metas)
	v := &salvage{src: src, size: size, fn: fn, progress: progress, visited: make(map[uint64]bool)}
	for i, err := range errs {
		if err != nil {
			v.found = append(v.found, &Damage{Page: uint64(i), What: err.Error(), Err: err})
		}
	}
	pageSize := 0
	if best != nil {
		pageSize = best.PageSize
		v.pages = size / int64(pageSize)
		damaged, err := v.tree(best, false)
		if err != nil {
			return v.found, err
		}
		if !damaged && errs[0] == nil && errs[1] == nil {
			return v.found, nil
		}
		if other := metas[1-best.Page]; other != nil {
			if _, err := v.tree(other, true); err != nil {
				return v.found, err
			}
		}
	} else if pageSize = guessPageSize(src, size); pageSize == 0 {
		return v.found, fmt.Errorf("not a bbolt file: %w", errs[0])
	}
	return v.found, v.loose(pageSize)
}

type salvage struct {
	src      Source
	size     int64
	fn       func(Found) error
	progress func(done, total int64)
	visited  map[uint64]bool
	// roots are the root pages of the buckets that this pass has entered: a
	// damaged file may make buckets contain each other.
	roots map[uint64]bool
	pages int64 // in the file
	found []*Damage
}

// tree reports everything that m leads to, and whether it met damage.
func (v *salvage) tree(m *Meta, older bool) (bool, error) {
	s, err := OpenMeta(v.src, m)
	if err != nil {
		return false, err
	}
	s.visited, v.roots = v.visited, map[uint64]bool{m.Root: true}
	err = v.bucket(s.Root(), nil, Found{Older: older})
	v.found = append(v.found, s.Damage()...)
	return len(s.Damage()) > 0, err
}

// bucket reports everything in b. like says where it was found.
func (v *salvage) bucket(b *Bucket, path []string, like Found) error {
	c := b.Cursor()
	for ok := c.First(); ok; ok = c.Next() {
		p, e := c.at()
		if err := v.element(b, p, e, path, like); err != nil {
			return err
		}
	}
	return nil
}

func (v *salvage) element(b *Bucket, p *page, e *elem, path []string, like Found) error {
	if v.progress != nil {
		v.progress(min(int64(len(v.visited)), v.pages), v.pages)
	}
	if e.bucket {
		sub, d := b.open(p, e)
		if d == nil && sub.inline == nil {
			if v.roots[sub.root] {
				d = pageDamage(sub.root, b.offset(sub.root), "two buckets lead to it")
			}
			v.roots[sub.root] = true
		}
		if d == nil {
			return v.bucket(sub, append(path[:len(path):len(path)], string(e.key)), like)
		}
		// It may be a value that a damaged flag makes look like a bucket.
		b.s.damage.add(d)
	}
	like.Bucket, like.Key, like.Page, like.Section = path, e.key, p.id, b.s.section(p, e)
	return v.fn(like)
}

// loose reports what lies in leaf pages that no tree has led to. Pages that hold buckets come
// first, since they have the names of what they lead to. loose does not trust the length in a
// page's header: another page may begin within it.
func (v *salvage) loose(pageSize int) error {
	all := &Meta{PageSize: pageSize, Root: 2, HighWater: uint64(v.size / int64(pageSize))}
	s, err := OpenMeta(v.src, all)
	if err != nil {
		return err
	}
	s.visited, v.roots = v.visited, make(map[uint64]bool)
	v.pages = int64(all.HighWater)
	root := s.Root()
	for _, buckets := range []bool{true, false} {
		for id := uint64(2); id < all.HighWater; id++ {
			if v.visited[id] || !s.looksLikeLeaf(id) {
				continue
			}
			p, d := s.load(id)
			if d != nil || buckets && !p.hasBuckets() {
				continue
			}
			v.visited[id] = true
			for i := range p.elems {
				if err := v.element(root, p, &p.elems[i], nil, Found{Loose: true}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// looksLikeLeaf reads no more than a page header.
func (s *Snapshot) looksLikeLeaf(id uint64) bool {
	var b [pageHeaderSize]byte
	base := int64(id) * int64(s.meta.PageSize)
	if readFull(s.src, b[:], base) != nil {
		return false
	}
	h, d := decodeHeader(b[:], id, base)
	return d == nil && h.flags == leafFlag && h.count > 0
}

func (p *page) hasBuckets() bool {
	for i := range p.elems {
		if p.elems[i].bucket {
			return true
		}
	}
	return false
}

// guessPageSize finds the size at which most pages bear their own number.
func guessPageSize(src Source, size int64) int {
	best, most := 0, 0
	for ps := minPageSize; ps <= maxPageSize; ps *= 2 {
		n := 0
		var b [pageHeaderSize]byte
		for id := uint64(2); int64(id+1)*int64(ps) <= size; id++ {
			if readFull(src, b[:], int64(id)*int64(ps)) != nil {
				break
			}
			if h, d := decodeHeader(b[:], id, 0); d == nil && (h.flags == leafFlag || h.flags == branchFlag) {
				n++
			}
		}
		if n > most {
			best, most = ps, n
		}
	}
	return best
}

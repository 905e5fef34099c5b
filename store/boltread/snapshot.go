package boltread

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"sync"
)

const (
	// cachePages and cacheBytes bound the page cache of a snapshot. It is emptied when full:
	// the upper pages of the tree are soon back.
	cachePages = 1024
	cacheBytes = 4 << 20
)

// Snapshot is the content of a file as of one transaction. It may be used by
// several goroutines at once.
type Snapshot struct {
	src    Source
	meta   *Meta
	size   int64
	damage damageLog

	mu     sync.Mutex
	cache  map[uint64]*page
	cached int64
	// walked holds the keys of buckets whose tree cannot be trusted.
	walked map[uint64][]element
	// visited, if set, collects the pages that cursors went into, for Salvage.
	visited map[uint64]bool
}

// Open returns a snapshot of the newest transaction in src.
func Open(src Source) (*Snapshot, error) {
	metas, errs := ReadMetas(src)
	m := newest(metas)
	if m == nil {
		return nil, fmt.Errorf("no usable meta page: %w", errors.Join(errs[:]...))
	}
	s, err := OpenMeta(src, m)
	if err != nil {
		return nil, err
	}
	for i, err := range errs {
		if err != nil {
			s.damage.add(&Damage{Page: uint64(i), Offset: int64(i * m.PageSize), What: err.Error() + "; the other one is used", Err: err})
		}
	}
	return s, nil
}

// OpenMeta returns a snapshot of the transaction of m, one of ReadMetas' results. Pages of the
// older one may be overwritten already.
func OpenMeta(src Source, m *Meta) (*Snapshot, error) {
	size, err := src.Size()
	if err != nil {
		return nil, err
	}
	s := &Snapshot{src: src, meta: m, size: size, cache: make(map[uint64]*page)}
	if m.Bytes() > size {
		s.damage.add(&Damage{Page: uint64(size / int64(m.PageSize)), Offset: size,
			What: fmt.Sprintf("the file ends after %d bytes and should have %d", size, m.Bytes())})
	}
	return s, nil
}

// Meta returns the meta page of the transaction.
func (s *Snapshot) Meta() Meta { return *s.meta }

// TxID returns the number of the transaction.
func (s *Snapshot) TxID() uint64 { return s.meta.TxID }

// Changed reports whether the file has another newest transaction by now. If it has, what was
// read through s must be read again: see the package documentation.
func (s *Snapshot) Changed() (bool, error) {
	metas, errs := ReadMetas(s.src)
	m := newest(metas)
	if m == nil {
		return true, fmt.Errorf("no usable meta page: %w", errors.Join(errs[:]...))
	}
	return m.TxID != s.meta.TxID || m.sum != s.meta.sum, nil
}

// Damage lists the damage found so far by anything that read from s.
func (s *Snapshot) Damage() []*Damage { return s.damage.all() }

// Root returns the top-level bucket.
func (s *Snapshot) Root() *Bucket { return &Bucket{s: s, root: s.meta.Root} }

// Bucket follows a path of bucket names from the top. It is nil without error
// if there is none, and nil with an error if damage may hide it.
func (s *Snapshot) Bucket(names ...string) (*Bucket, error) {
	b := s.Root()
	for _, n := range names {
		var err error
		if b, err = b.Bucket([]byte(n)); b == nil || err != nil {
			return nil, err
		}
	}
	return b, nil
}

// load returns page id, from the cache if it is there.
func (s *Snapshot) load(id uint64) (*page, *Damage) {
	s.mu.Lock()
	p := s.cache[id]
	s.mu.Unlock()
	if p != nil {
		return p, nil
	}
	p, d := s.read(id)
	if d != nil {
		return nil, d
	}
	if p.damage != nil {
		s.damage.add(p.damage)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.cache) >= cachePages || s.cached > cacheBytes {
		clear(s.cache)
		s.cached = 0
	}
	s.cache[id] = p
	s.cached += int64(len(p.buf) + len(p.elems)*64)
	return p, nil
}

func (s *Snapshot) read(id uint64) (*page, *Damage) {
	ps := int64(s.meta.PageSize)
	base := int64(id) * ps
	if id < 2 || id >= s.meta.HighWater {
		return nil, pageDamage(id, base, "there is no such page; the file has %d", s.meta.HighWater)
	}
	if base+ps > s.size {
		return nil, pageDamage(id, base, "the file ends before it, after %d bytes", s.size)
	}
	buf := make([]byte, ps)
	if err := readFull(s.src, buf, base); err != nil {
		return nil, &Damage{Page: id, Offset: base, What: err.Error(), Err: err}
	}
	h, d := decodeHeader(buf, id, base)
	if d != nil && bits.OnesCount64(h.id^id) != 1 {
		return nil, d
	}
	// A header with one damaged field does not make its elements worthless, if
	// they fit the page and each other.
	p := &page{id: id, base: base, buf: buf, damage: d, size: (int64(h.overflow) + 1) * ps}
	if room := min(int64(s.meta.HighWater-id)*ps, (s.size-base)/ps*ps); p.size > room {
		p.size = room
		p.damage = pageDamage(id, base, "it claims %d further pages, more than the file has", h.overflow)
	}
	if p.size > ps && (p.size <= wholePage || int64(h.count) > p.size/8192) {
		p.buf = make([]byte, p.size)
		copy(p.buf, buf)
		if err := readFull(s.src, p.buf[ps:], base+ps); err != nil {
			return nil, &Damage{Page: id, Offset: base, What: err.Error(), Err: err}
		}
	}
	kinds := []uint16{h.flags}
	if h.flags != leafFlag && h.flags != branchFlag {
		p.damage = pageDamage(id, base, "page flags %#x where a branch or leaf was expected", h.flags)
		kinds = slices.DeleteFunc([]uint16{leafFlag, branchFlag}, func(f uint16) bool { return bits.OnesCount16(f^h.flags) != 1 })
	}
	for _, kind := range kinds {
		q := *p
		d := parsePage(&q, kind, int(h.count), s.meta.HighWater, func(off int64, n int) ([]byte, error) {
			b := make([]byte, n)
			return b, readFull(s.src, b, base+off)
		})
		switch {
		case p.damage == nil:
			return &q, d
		case d == nil && q.damage == p.damage && len(q.elems) > 0:
			return &q, nil
		}
	}
	return nil, p.damage
}

type header struct {
	id           uint64
	flags, count uint16
	overflow     uint32
}

// decodeHeader reads a page header, which may belong to another page than id.
func decodeHeader(b []byte, id uint64, base int64) (header, *Damage) {
	le := binary.LittleEndian
	h := header{id: le.Uint64(b), flags: le.Uint16(b[8:]), count: le.Uint16(b[10:]), overflow: le.Uint32(b[12:])}
	if h.id != id {
		return h, pageDamage(id, base, "it calls itself page %d", h.id)
	}
	return h, nil
}

// value reads the value of e in p.
func (s *Snapshot) value(p *page, e *elem) ([]byte, error) {
	return p.bytes(e.off, e.vsize, func(off int64, n int) ([]byte, error) {
		b := make([]byte, n)
		if err := readFull(s.src, b, p.base+off); err != nil {
			d := &Damage{Page: p.id, Offset: p.base + off, From: e.key, What: err.Error(), Err: err}
			s.damage.add(d)
			return nil, d
		}
		return b, nil
	})
}

// section returns the value of e in p, unread unless it was read with the page.
func (s *Snapshot) section(p *page, e *elem) *io.SectionReader {
	if end := e.off + int64(e.vsize); end <= int64(len(p.buf)) {
		return io.NewSectionReader(bytesSource(p.buf[e.off:end]), 0, int64(e.vsize))
	}
	return io.NewSectionReader(s.src, p.base+e.off, int64(e.vsize))
}

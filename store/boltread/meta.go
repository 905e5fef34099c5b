package boltread

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
)

const (
	magic          = 0xED0CDAED
	version        = 2
	pageHeaderSize = 16
	metaSize       = 64
	minPageSize    = 1024
	maxPageSize    = 1 << 16
	// NoFreelist is the Meta.Freelist of a file without a stored freelist.
	NoFreelist = ^uint64(0)
)

// Meta is one of the two roots of a file.
type Meta struct {
	Page     int // 0 or 1
	PageSize int
	Root     uint64 // page of the root bucket
	Freelist uint64
	// HighWater is the number of pages in use: all page numbers are below it.
	HighWater uint64
	TxID      uint64
	sum       uint64
}

// Bytes returns the length of the part of the file that m describes.
func (m Meta) Bytes() int64 { return int64(m.HighWater) * int64(m.PageSize) }

// decodeMeta reads the meta page in b, which begins at the page's start.
func decodeMeta(b []byte, page int) (*Meta, error) {
	if len(b) < pageHeaderSize+metaSize {
		return nil, fmt.Errorf("meta page %d: the file ends inside it", page)
	}
	b = b[pageHeaderSize : pageHeaderSize+metaSize]
	le := binary.LittleEndian
	if got := le.Uint32(b); got != magic {
		return nil, fmt.Errorf("meta page %d: not a bbolt file (magic %#08x)", page, got)
	}
	h := fnv.New64a()
	h.Write(b[:56])
	sum := le.Uint64(b[56:])
	if h.Sum64() != sum {
		return nil, fmt.Errorf("meta page %d: its checksum does not fit its content", page)
	}
	if got := le.Uint32(b[4:]); got != version {
		return nil, fmt.Errorf("meta page %d: bbolt format version %d, want %d", page, got, version)
	}
	m := &Meta{
		Page:      page,
		PageSize:  int(le.Uint32(b[8:])),
		Root:      le.Uint64(b[16:]),
		Freelist:  le.Uint64(b[32:]),
		HighWater: le.Uint64(b[40:]),
		TxID:      le.Uint64(b[48:]),
		sum:       sum,
	}
	switch {
	case m.PageSize < minPageSize || m.PageSize > maxPageSize || m.PageSize&(m.PageSize-1) != 0:
		return nil, fmt.Errorf("meta page %d: page size %d", page, m.PageSize)
	case m.HighWater > 1<<40:
		return nil, fmt.Errorf("meta page %d: %d pages", page, m.HighWater)
	case m.Root < 2 || m.Root >= m.HighWater:
		return nil, fmt.Errorf("meta page %d: root page %d of %d", page, m.Root, m.HighWater)
	}
	return m, nil
}

// ReadMetas reads both meta pages. An invalid one is nil and has its error. Both have errors
// only if the file is no bbolt file or has lost both.
func ReadMetas(src Source) (metas [2]*Meta, errs [2]error) {
	var buf [2 * 4096]byte
	n, err := src.ReadAt(buf[:], 0)
	if n == 0 && err != nil {
		err = fmt.Errorf("reading the meta pages: %w", err)
		return metas, [2]error{err, err}
	}
	metas[0], errs[0] = decodeMeta(buf[:n], 0)
	if metas[0] != nil {
		metas[1], errs[1] = readMeta1(src, buf[:n], metas[0].PageSize)
		return metas, errs
	}
	// The first meta would have given the place of the second: look in all places where it may
	// be.
	errs[1] = errors.New("meta page 1: not found at any page size")
	for size := minPageSize; size <= maxPageSize; size *= 2 {
		m, err := readMeta1(src, buf[:n], size)
		if err == nil && m.PageSize == size {
			metas[1], errs[1] = m, nil
			break
		}
	}
	return metas, errs
}

func readMeta1(src Source, head []byte, pageSize int) (*Meta, error) {
	if pageSize+pageHeaderSize+metaSize <= len(head) {
		return decodeMeta(head[pageSize:], 1)
	}
	var b [pageHeaderSize + metaSize]byte
	if err := readFull(src, b[:], int64(pageSize)); err != nil {
		return nil, fmt.Errorf("meta page 1: %w", err)
	}
	return decodeMeta(b[:], 1)
}

// newest returns the valid meta with the higher transaction.
func newest(metas [2]*Meta) *Meta {
	a, b := metas[0], metas[1]
	if a == nil || b != nil && b.TxID > a.TxID {
		return b
	}
	return a
}

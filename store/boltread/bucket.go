package boltread

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/bits"
)

const (
	bucketHeaderSize = 16
	// maxNesting bounds buckets in buckets, which a damaged file may make
	// contain themselves.
	maxNesting = 16
	// maxDepth bounds the height of a tree; one of 4 KiB pages with 32 levels
	// could not be stored anywhere.
	maxDepth = 32
)

// Bucket is a set of keys in byte order.
type Bucket struct {
	s        *Snapshot
	root     uint64
	inline   *page // the page of a small bucket, which has no page of its own
	sequence uint64
	nesting  int
}

// Sequence is the bucket's counter.
func (b *Bucket) Sequence() uint64 { return b.sequence }

// Bucket returns the bucket called name in b. It is nil without error if there
// is none, and nil with an error if damage may hide it.
func (b *Bucket) Bucket(name []byte) (*Bucket, error) {
	c := b.Cursor()
	if !c.find(name) {
		return nil, c.Err()
	}
	return c.Bucket()
}

// Get returns the value of key. It is nil without error if there is none, and
// nil with an error if damage may hide it. The value must not be modified.
func (b *Bucket) Get(key []byte) ([]byte, error) {
	c := b.Cursor()
	if !c.find(key) {
		return nil, c.Err()
	}
	if c.IsBucket() {
		return nil, nil
	}
	return c.Value()
}

// Section returns the value of key without reading it. It is nil without error
// if there is none, and nil with an error if damage may hide it.
func (b *Bucket) Section(key []byte) (*io.SectionReader, error) {
	c := b.Cursor()
	if !c.find(key) {
		return nil, c.Err()
	}
	if c.IsBucket() {
		return nil, nil
	}
	return c.Section(), nil
}

// ForEach calls fn for each key and value of b in order, nested buckets left
// out. Damaged parts are skipped and noted in the snapshot's Damage.
func (b *Bucket) ForEach(fn func(key, value []byte) error) error {
	c := b.Cursor()
	for ok := c.First(); ok; ok = c.Next() {
		if c.IsBucket() {
			continue
		}
		v, err := c.Value()
		if err != nil {
			continue
		}
		if err := fn(c.Key(), v); err != nil {
			return err
		}
	}
	return nil
}

// ForEachBucket calls fn for each bucket in b in order of their names.
func (b *Bucket) ForEachBucket(fn func(name []byte, sub *Bucket) error) error {
	c := b.Cursor()
	for ok := c.First(); ok; ok = c.Next() {
		if !c.IsBucket() {
			continue
		}
		sub, err := c.Bucket()
		if err != nil {
			continue
		}
		if err := fn(c.Key(), sub); err != nil {
			return err
		}
	}
	return nil
}

// Cursor returns a cursor without a position yet.
func (b *Bucket) Cursor() *Cursor { return &Cursor{b: b} }

// open decodes the value of a bucket element.
func (b *Bucket) open(p *page, e *elem) (*Bucket, *Damage) {
	bad := func(what string) (*Bucket, *Damage) {
		return nil, &Damage{Page: p.id, Offset: p.base + e.off, From: e.key, What: "bucket " + quote(e.key) + ": " + what}
	}
	if b.nesting+1 > maxNesting {
		return bad("nested too deeply")
	}
	v, err := b.s.value(p, e)
	if err != nil {
		return bad(err.Error())
	}
	if len(v) < bucketHeaderSize {
		return bad("its header is cut short")
	}
	sub := &Bucket{s: b.s, nesting: b.nesting + 1}
	sub.root = binary.LittleEndian.Uint64(v)
	sub.sequence = binary.LittleEndian.Uint64(v[8:])
	if sub.root != 0 {
		if sub.root < 2 || sub.root >= b.s.meta.HighWater {
			return bad("its root page does not exist")
		}
		return sub, nil
	}
	// The page of an inline bucket follows its header.
	in := v[bucketHeaderSize:]
	if len(in) < pageHeaderSize {
		return bad("its inline page is cut short")
	}
	le := binary.LittleEndian
	sub.inline = &page{id: p.id, base: p.base + e.off + bucketHeaderSize, buf: in, size: int64(len(in))}
	d := parsePage(sub.inline, leafFlag, int(le.Uint16(in[10:])), b.s.meta.HighWater, nil)
	if d != nil {
		return nil, d
	}
	if flags := le.Uint16(in[8:]); flags != leafFlag {
		// An inline page is always a leaf, so it is judged by its elements.
		if sub.inline.damage != nil || bits.OnesCount16(flags^leafFlag) != 1 {
			return bad("its inline page is no leaf")
		}
		sub.inline.damage = pageDamage(p.id, p.base, "the inline page of bucket %s has flags %#x", quote(e.key), flags)
	}
	if d := sub.inline.damage; d != nil {
		b.s.damage.add(d)
	}
	return sub, nil
}

// quote formats a key: as text where it is text.
func quote(key []byte) string {
	const hex = "0123456789abcdef"
	printable := !bytes.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' || r == '"' })
	if printable && len(key) <= 64 {
		return `"` + string(key) + `"`
	}
	cut := key[:min(len(key), 32)]
	out := make([]byte, 0, 2+2*len(cut))
	for _, c := range cut {
		out = append(out, hex[c>>4], hex[c&15])
	}
	if len(cut) < len(key) {
		out = append(out, "..."...)
	}
	return string(out)
}

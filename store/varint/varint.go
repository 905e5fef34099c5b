// Package varint reads numbers and texts from bytes that may be damaged or foreign.
package varint

import (
	"encoding/binary"
	"math"
)

// A Reader reads field after field from the front of In. The first field that does not fit
// makes the Reader Bad; from then on it returns zeros.
type Reader struct {
	In  []byte
	Bad bool
}

func (r *Reader) fail() { r.Bad, r.In = true, nil }

// Uvarint reads a number.
func (r *Reader) Uvarint() uint64 {
	v, n := binary.Uvarint(r.In)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.In = r.In[n:]
	return v
}

// Varint reads a number that may be negative.
func (r *Reader) Varint() int64 {
	u := r.Uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// Count reads a number that may be at most limit.
func (r *Reader) Count(limit int) int {
	v := r.Uvarint()
	if limit < 0 || v > uint64(limit) {
		r.fail()
		return 0
	}
	return int(v)
}

// Bytes reads n bytes, which share the memory of In.
func (r *Reader) Bytes(n int) []byte {
	if n < 0 || n > len(r.In) {
		r.fail()
		return nil
	}
	b := r.In[:n:n]
	r.In = r.In[n:]
	return b
}

// Sized reads a length and that many bytes, which share the memory of In.
func (r *Reader) Sized() []byte { return r.Bytes(r.Count(len(r.In))) }

// String returns a copy of what Sized reads.
func (r *Reader) String() string { return string(r.Sized()) }

// Uint32 reads four bytes, the lowest first.
func (r *Reader) Uint32() uint32 {
	if b := r.Bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// Float reads eight bytes of a number, the lowest first.
func (r *Reader) Float() float64 {
	if b := r.Bytes(8); b != nil {
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	return 0
}

// Rounded reads the n highest bytes of a number, the highest first.
func (r *Reader) Rounded(n int) float64 {
	var all [8]byte
	copy(all[:], r.Bytes(n))
	return math.Float64frombits(binary.BigEndian.Uint64(all[:]))
}

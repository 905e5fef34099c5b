package chunk

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
)

// A filter tells from an instance's key that it was not in a chunk, without
// the names. Most that appeared in the course of a chunk have numbers in their
// keys that lie in a narrow range, because they grow: that range is told. The
// others, and those that were there from the start, are in a Bloom filter.

// filterSize is the number of instances from which a filter pays.
const filterSize = 32

const (
	bloomBits   = 8 // per instance
	bloomHashes = 5
)

// rangeShare is the part of those that appeared later, in hundredths, whose
// numbers are left below the range: the few that carry old numbers would make
// it wide.
const rangeShare = 12

func bloomHash(key string) (a, b uint32) {
	h := fnv.New64a()
	h.Write([]byte(key))
	v := h.Sum64()
	return uint32(v), uint32(v>>32) | 1
}

func encodeFilter(out []byte, insts []Instance) []byte {
	if len(insts) < filterSize {
		return out
	}
	var later [][]figure
	frame := ""
	for i := range insts {
		if insts[i].Runs[0].Start == 0 {
			continue
		}
		f, figures := split(insts[i].Key, nil)
		if len(later) == 0 {
			frame = f
		}
		if f == frame {
			later = append(later, figures)
		}
	}
	lo, hi := ranges(later)
	var bloomed []string
	for i := range insts {
		f, figures := split(insts[i].Key, nil)
		if insts[i].Runs[0].Start == 0 || f != frame || !within(figures, lo, hi) {
			bloomed = append(bloomed, insts[i].Key)
		}
	}
	bloom := make([]byte, (len(bloomed)*bloomBits+7)/8)
	for _, key := range bloomed {
		a, b := bloomHash(key)
		for k := range uint32(bloomHashes) {
			bit := (a + k*b) % uint32(len(bloom)*8)
			bloom[bit/8] |= 1 << (bit % 8)
		}
	}
	out = binary.AppendUvarint(out, uint64(len(bloom)))
	out = append(out, bloom...)
	if len(later) == 0 {
		return append(out, 0)
	}
	out = append(out, 1)
	out = binary.AppendUvarint(out, uint64(len(frame)))
	out = append(out, frame...)
	for k := range lo {
		out = binary.AppendUvarint(out, lo[k])
		out = binary.AppendUvarint(out, hi[k]-lo[k])
	}
	return out
}

// ranges are where the figures of most keys lie.
func ranges(keys [][]figure) (lo, hi []uint64) {
	if len(keys) == 0 {
		return nil, nil
	}
	for k := range keys[0] {
		values := make([]uint64, len(keys))
		for i := range keys {
			values[i] = keys[i][k].value
		}
		slices.Sort(values)
		lo = append(lo, values[len(values)*rangeShare/100])
		hi = append(hi, values[len(values)-1])
	}
	return lo, hi
}

func within(figures []figure, lo, hi []uint64) bool {
	for k, f := range figures {
		if f.value < lo[k] || f.value > hi[k] {
			return false
		}
	}
	return true
}

// mayHold reports whether the filter lets key pass.
func mayHold(filter []byte, key string) bool {
	if len(filter) == 0 {
		return true
	}
	r := reader{in: filter}
	bloom := r.bytes(r.count(len(filter)))
	ranged := r.bytes(1)
	if r.bad || inBloom(bloom, key) {
		return true
	}
	if ranged[0] == 0 {
		return false
	}
	want := r.string()
	frame, figures := split(key, nil)
	if frame != want {
		return r.bad
	}
	for _, f := range figures {
		lo := r.uvarint()
		if span := r.uvarint(); !r.bad && (f.value < lo || f.value-lo > span) {
			return false
		}
	}
	return true
}

func inBloom(bloom []byte, key string) bool {
	if len(bloom) == 0 {
		return false
	}
	a, b := bloomHash(key)
	for k := range uint32(bloomHashes) {
		bit := (a + k*b) % uint32(len(bloom)*8)
		if bloom[bit/8]&(1<<(bit%8)) == 0 {
			return false
		}
	}
	return true
}

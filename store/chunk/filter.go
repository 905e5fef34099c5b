package chunk

import (
	"encoding/binary"
	"hash/fnv"
)

// A filter tells from an instance's key that it was not in a chunk, without
// the names. Those that were there in the first block are in a Bloom filter;
// the others, which appeared later, mostly carry numbers that grow, so that the
// smallest and the largest of each number in their keys tell enough.

// filterSize is the number of instances from which a filter pays.
const filterSize = 32

const (
	bloomBits   = 8 // per instance
	bloomHashes = 5
)

// The kinds of what a filter knows of the instances that appeared later.
const (
	laterNone   = iota // there are none
	laterAny           // nothing
	laterFramed        // all keys have one frame; the range of each figure follows
)

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
	first := 0
	for i := range insts {
		if insts[i].Runs[0].Start == 0 {
			first++
		}
	}
	bloom := make([]byte, first*bloomBits/8)
	kind := laterNone
	var frame string
	var lo, hi []uint64
	var figures []figure
	for i := range insts {
		key := insts[i].Key
		if insts[i].Runs[0].Start == 0 {
			a, b := bloomHash(key)
			for k := range uint32(bloomHashes) {
				bit := (a + k*b) % uint32(len(bloom)*8)
				bloom[bit/8] |= 1 << (bit % 8)
			}
			continue
		}
		var f string
		f, figures = split(key, figures)
		switch {
		case kind == laterNone:
			kind, frame = laterFramed, f
			for _, fig := range figures {
				lo, hi = append(lo, fig.value), append(hi, fig.value)
			}
		case f != frame:
			kind = laterAny
		}
		for k := 0; kind == laterFramed && k < len(figures); k++ {
			lo[k], hi[k] = min(lo[k], figures[k].value), max(hi[k], figures[k].value)
		}
	}
	out = binary.AppendUvarint(out, uint64(len(bloom)))
	out = append(out, bloom...)
	out = append(out, byte(kind))
	if kind == laterFramed {
		out = binary.AppendUvarint(out, uint64(len(frame)))
		out = append(out, frame...)
		for k := range lo {
			out = binary.AppendUvarint(out, lo[k])
			out = binary.AppendUvarint(out, hi[k]-lo[k])
		}
	}
	return out
}

// mayHold reports whether the filter lets key pass.
func mayHold(filter []byte, key string) bool {
	if len(filter) == 0 {
		return true
	}
	r := reader{in: filter}
	bloom := r.bytes(r.count(len(filter)))
	kind := r.bytes(1)
	if r.bad {
		return true
	}
	if inBloom(bloom, key) {
		return true
	}
	switch kind[0] {
	case laterNone:
		return false
	case laterFramed:
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

package chunk

import "hash/fnv"

// In chunks of version 1, a filter tells from an instance's key that it was not in a chunk, without
// the names. Most that appeared in the course of a chunk have numbers in their
// keys that lie in a narrow range, because they grow: that range is told. The
// others, and those that were there from the start, are in a Bloom filter.

const bloomHashes = 5

func bloomHash(key string) (a, b uint32) {
	h := fnv.New64a()
	h.Write([]byte(key))
	v := h.Sum64()
	return uint32(v), uint32(v>>32) | 1
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

package chunk

// A Shelf keeps copies of series in few allocations.
type Shelf struct {
	at    []uint32
	bits  []uint64
	items []shelved
	miss  map[int][]missAt
}

type shelved struct {
	from    int
	n, life uint32
}

// Reset empties the shelf and invalidates the series it has returned.
func (h *Shelf) Reset() {
	h.at, h.bits, h.items, h.miss = h.at[:0], h.bits[:0], h.items[:0], nil
}

// Keep copies s; the first copy has number 0, and so on.
func (h *Shelf) Keep(s *Series) {
	if s.miss != nil {
		if h.miss == nil {
			h.miss = make(map[int][]missAt)
		}
		h.miss[len(h.items)] = s.miss
	}
	h.items = append(h.items, shelved{len(h.at), uint32(len(s.At)), s.Life})
	h.at = append(h.at, s.At...)
	h.bits = append(h.bits, s.Bits...)
}

// Series returns copy number i, which is valid until Reset.
func (h *Shelf) Series(i int) Series {
	it := &h.items[i]
	to := it.from + int(it.n)
	return Series{Life: it.life, At: h.at[it.from:to:to], Bits: h.bits[it.from:to:to], miss: h.miss[i]}
}

package chunk

import "tachograph/sample/metric"

// A sieve maps the ordinals of an instance to those at which one of its
// series is present: absent cells have no place in the coded series.
type sieve struct {
	// holes are the absent stretches, each with the number of present
	// ordinals before it.
	holes []hole
	count uint32 // present ordinals
}

type hole struct{ start, end, before uint32 }

func newSieve(ms []missAt, life uint32) sieve {
	var s sieve
	gone := uint32(0)
	for i := 0; i < len(ms); {
		if ms[i].why == metric.Present {
			i++
			continue
		}
		start, end := ms[i].at, life
		for i++; i < len(ms); i++ {
			if ms[i].why == metric.Present {
				end = ms[i].at
				break
			}
		}
		s.holes = append(s.holes, hole{start, end, start - gone})
		gone += end - start
	}
	s.count = life - gone
	return s
}

// squeeze maps present ordinals to their places among the present ones. Those
// that are absent are left out, as is place 0 if asked.
func (s *sieve) squeeze(at []uint32, notFirst bool) []uint32 {
	out := make([]uint32, 0, len(at))
	h, gone := 0, uint32(0)
	for _, t := range at {
		for h < len(s.holes) && s.holes[h].end <= t {
			gone += s.holes[h].end - s.holes[h].start
			h++
		}
		if h < len(s.holes) && s.holes[h].start <= t {
			continue
		}
		if p := t - gone; p > 0 || !notFirst {
			out = append(out, p)
		}
	}
	return out
}

// spread is the inverse of squeeze, in place.
func (s *sieve) spread(at []uint32) {
	h, gone := 0, uint32(0)
	for i, p := range at {
		for h < len(s.holes) && s.holes[h].before <= p {
			gone += s.holes[h].end - s.holes[h].start
			h++
		}
		at[i] = p + gone
	}
}

package chunk

import (
	"slices"

	"tachograph/sample/metric"
)

// absences list the changes between absent and present of the series of a column: numbers
// from[i] to from[i+1] belong to series i. A series begins present. Both lists are empty when
// no cell of the column is absent. (With thousands of processes that lived for a tick most
// columns are absent: a slice for each series would take more than all values do.)
type absences struct {
	from []uint32
	miss []missAt
}

type missAt struct {
	at  uint32
	why metric.Reason
}

// missOf returns the changes of series i; nil where it is always present.
func (a *absences) missOf(i int) []missAt {
	if a.from == nil || a.from[i] == a.from[i+1] {
		return nil
	}
	return a.miss[a.from[i]:a.from[i+1]:a.from[i+1]]
}

// missing collects the absences of a column as they are read.
type missing struct {
	why  []metric.Reason // in force, by series
	list []missAt
	of   []int32 // the series of each in list
}

func newMissing(series int) (m missing) {
	m.reset(series)
	return m
}

// add records that x holds from its ordinal on, if that is a change.
func (m *missing) add(series int32, x missAt) {
	if m.why[series] != x.why {
		m.why[series] = x.why
		m.list, m.of = append(m.list, x), append(m.of, series)
	}
}

// distribute sorts elements by owner. of gives the owner of each element k, and owner i has the
// places from[i] to from[i+1]. distribute calls put with each element and its place, in order.
func distribute(from []uint32, of []int32, put func(k int, at uint32)) {
	for k, i := range of {
		put(k, from[i])
		from[i]++
	}
	copy(from[1:], from) // each place has moved on to where the next owner begins
	from[0] = 0
}

// reset empties m, for a column of that many series.
func (m *missing) reset(series int) {
	m.why = slices.Grow(m.why[:0], series)[:series]
	clear(m.why)
	m.list, m.of = m.list[:0], m.of[:0]
}

// bySeries sorts the collected absences by series.
func (m *missing) bySeries() (a absences) {
	m.sort(&a)
	return a
}

// sort is bySeries, but reuses the memory of a.
func (m *missing) sort(a *absences) {
	if len(m.list) == 0 {
		*a = absences{}
		return
	}
	a.from, a.miss = sized(a.from, len(m.why)+1), sized(a.miss, len(m.list))
	clear(a.from)
	for _, i := range m.of {
		a.from[i+1]++
	}
	for i := range m.why {
		a.from[i+1] += a.from[i]
	}
	distribute(a.from, m.of, func(k int, at uint32) { a.miss[at] = m.list[k] })
}

// A sieve maps the ordinals of an instance to those at which one of its series is present: the
// coded series leaves absent cells out.
type sieve struct {
	// holes are the absent stretches, each with the number of present ordinals before it.
	holes []hole
	count uint32 // present ordinals
}

type hole struct{ start, end, before uint32 }

// set makes s the sieve of a series with life cells.
func (s *sieve) set(ms []missAt, life uint32) {
	s.holes = s.holes[:0]
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
}

// squeeze maps present ordinals to their places among the present ones. It leaves out those
// that are absent, and place 0 if notFirst is set.
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

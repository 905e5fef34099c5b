package remote

import (
	"cmp"
	"slices"
	"strings"

	"tachograph/cmd/replay/internal/naming"
)

// set is the series of one name.
type set struct {
	r          *reading
	start, end int64 // milliseconds
	byLabels   map[string]*series
	nothing    *series
	key        []byte
	err        error
}

func newSet(r *reading, start, end int64) *set {
	return &set{r: r, start: start, end: end, byLabels: make(map[string]*series)}
}

// series is a series with its samples so far.
type series struct {
	set     *set
	labels  []naming.Label
	samples []sample
	ignored bool
	turned  bool // a time was earlier than the one before
	// The last reading, its interval, and the end of its archive.
	wall, step, until int64
	value             float64
	open              bool // its value holds until it ends
}

// series returns the series with these labels. Things with the same labels, one after the other,
// are one series.
func (s *set) series(labels []naming.Label) *series {
	s.key = s.key[:0]
	for _, l := range labels {
		s.key = append(append(append(append(s.key, l.Name...), 0), l.Value...), 0)
	}
	one := s.byLabels[string(s.key)]
	if one == nil {
		one = &series{set: s, labels: labels}
		s.byLabels[string(s.key)] = one
	}
	return one
}

// expect allocates room for the readings at these times that are in the window. Growing little
// by little would take several times as much memory.
func (s *series) expect(walls []int64) {
	n := 0
	for _, wall := range walls {
		if wall >= s.set.start*1e6 && wall < (s.set.end+1)*1e6 {
			n++
		}
	}
	if n = min(n, mostCollected-s.set.r.collected); n > 0 {
		s.samples = slices.Grow(s.samples, n+1)
	}
}

// ignored returns a series for samples that no matcher selects.
func (s *set) ignored() *series {
	if s.nothing == nil {
		s.nothing = &series{set: s, ignored: true}
	}
	return s.nothing
}

// put adds a reading: a value or its absence. A step of 0 means that the value is held until it
// is read again, or its archive ends at until.
func (s *series) put(wall int64, x float64, present bool, step, until int64) {
	if s.ignored {
		return
	}
	s.hold(wall)
	if s.open && wall-s.wall > 2*s.apart()+1e9 {
		s.append(s.wall+s.apart(), stale)
		s.open = false
	}
	switch {
	case present:
		s.append(wall, x)
	case s.open:
		s.append(wall, stale)
	}
	s.wall, s.step, s.until, s.value, s.open = wall, step, until, x, present
}

// apart returns the interval between readings.
func (s *series) apart() int64 {
	if s.step == 0 {
		return heldEvery
	}
	return s.step
}

// hold repeats the last value each minute before a time.
func (s *series) hold(before int64) {
	if !s.open || s.step != 0 {
		return
	}
	last := min(before-1, s.until, s.set.end*1e6)
	from := max(s.wall, s.set.start*1e6-heldEvery)
	for wall := from - from%heldEvery + heldEvery; wall <= last && s.set.err == nil; wall += heldEvery {
		s.append(wall, s.value)
		s.wall = wall
	}
}

// end ends the series at a time.
func (s *series) end(wall int64) {
	s.hold(wall)
	if s.open && !s.ignored {
		s.append(wall, stale)
	}
	s.open = false
}

// append adds a sample if it lies in the window. Of two in the same millisecond the
// first stays.
func (s *series) append(wall int64, x float64) {
	at := wall / 1e6
	if at < s.set.start || at > s.set.end || s.set.err != nil {
		return
	}
	if n := len(s.samples); n > 0 && at <= s.samples[n-1].at {
		if at == s.samples[n-1].at {
			return
		}
		s.turned = true
	}
	s.samples = append(s.samples, sample{at, x})
	s.set.err = s.set.r.spend()
}

// finished returns the series that have samples, sorted by their labels.
func (s *set) finished() []*series {
	var list []*series
	for _, one := range s.byLabels {
		recorded := s.recorded(one)
		one.hold(recorded + 1)
		if one.open && one.wall+2*one.apart()+1e9 < recorded {
			one.append(one.wall+one.apart(), stale)
		}
		if one.turned {
			slices.SortStableFunc(one.samples, func(x, y sample) int { return cmp.Compare(x.at, y.at) })
			one.samples = slices.CompactFunc(one.samples, func(x, y sample) bool { return x.at == y.at })
		}
		if len(one.samples) > 0 {
			list = append(list, one)
		}
	}
	slices.SortFunc(list, func(x, y *series) int {
		return slices.CompareFunc(x.labels, y.labels, func(x, y naming.Label) int {
			return cmp.Or(strings.Compare(x.Name, y.Name), strings.Compare(x.Value, y.Value))
		})
	})
	return list
}

// recorded returns until when the host of a series was recorded, or the window ends. A series
// without a reading by then has ended.
func (s *set) recorded(one *series) int64 {
	host := ""
	for _, l := range one.labels {
		if l.Name == "instance" {
			host = l.Value
		}
	}
	last := int64(0)
	for _, info := range s.r.a.Archives() {
		if h := info.Host; h.Name == host || h.Name+"/"+h.ID == host {
			last = max(last, info.To)
		}
	}
	return min(last, s.r.to)
}

package query

import (
	"cmp"
	"slices"
	"time"

	"tachograph/store"
)

// sightings hold when processes of each name were there, by the readings that were due: around
// both windows, and in what was recorded before them.
type sightings struct {
	every  int64
	spans  map[string][]span // by name, in the order of time; those that touch are joined
	pieces []span            // the times that were searched
	breaks []span            // when nothing was recorded
}

type span struct{ from, to int64 }

const (
	// historyLeast and historyTimes say how far before and after a window names are searched for:
	// at least so long, else so many times its length.
	historyLeast = int64(2 * time.Hour)
	historyTimes = 3
	// historyMost bounds that.
	historyMost = int64(24 * time.Hour)
	// mostNames bounds the names that are kept apart, whatever an archive holds.
	mostNames = 1 << 16
	// missedDue is how many readings in a row must miss a name for it to be away: a reading may
	// come late.
	missedDue = 2
)

// sightings reads when processes were there. That takes long, so it is done only where a name
// came or went.
func (d *differ) sightings() *sightings {
	s := &sightings{every: max(d.every, 1), spans: make(map[string][]span)}
	around := func(w Window) span {
		aside := min(max(historyTimes*(w.To-w.From), historyLeast), historyMost)
		return span{w.From - aside, w.To + aside}
	}
	a, b := around(d.r.A), around(d.r.B)
	b.to = d.r.B.To
	a.to = min(a.to, b.to)
	s.pieces = joined([]span{a, b}, 0)
	whole := Window{Hosts: d.r.B.Hosts, From: a.from, To: b.to}
	for _, gap := range Breaks(d.a, whole) {
		s.breaks = append(s.breaks, span{gap.From, gap.To})
	}
	recorded, _, _ := Covered(d.a, Window{Hosts: d.r.B.Hosts})
	for i := range s.pieces {
		p := &s.pieces[i]
		p.from = max(p.from, recorded)
		for l := range d.a.Lives("process", p.from, p.to) {
			if l.Archive.Host.ID == d.r.Host {
				s.note(l, d.group())
			}
		}
	}
	for name, list := range s.spans {
		s.spans[name] = joined(list, missedDue*s.every)
	}
	return s
}

// length returns how much time before an instant was searched.
func (s *sightings) length(before int64) (total int64) {
	for _, p := range s.pieces {
		total += max(min(p.to, before)-p.from, 0)
	}
	return total
}

// note adds a life, under each of its names.
func (s *sightings) note(l *store.Life, group Grouping) {
	add := func(name string, from, to int64) {
		if name == "" && group != PerName {
			return
		}
		if s.spans[name] != nil || len(s.spans) < mostNames {
			s.spans[name] = append(s.spans[name], span{from, to})
		}
	}
	if len(l.Names) < 2 {
		add(group.key(l.Instance), l.From, l.To)
		return
	}
	for i, n := range l.Names {
		to := l.To
		if i+1 < len(l.Names) {
			to = l.Names[i+1].From
		}
		in := *l.Instance
		in.Name, in.Labels = n.Name, n.Labels
		add(group.key(&in), max(n.From, l.From), to)
	}
}

// joined joins spans that are no farther apart than near.
func joined(list []span, near int64) []span {
	slices.SortFunc(list, func(x, y span) int { return cmp.Compare(x.from, y.from) })
	out := list[:0]
	for _, x := range list {
		if n := len(out); n > 0 && x.from <= out[n-1].to+near {
			out[n-1].to = max(out[n-1].to, x.to)
			continue
		}
		out = append(out, x)
	}
	return out
}

// share returns the part of a window in which a name was there.
func (s *sightings) share(name string, w Window) float64 {
	total := int64(0)
	for _, x := range s.spans[name] {
		if x.to+s.every > w.From && x.from < w.To {
			total += min(x.to+s.every, w.To) - max(x.from, w.From)
		}
	}
	return float64(total) / float64(max(w.To-w.From, 1))
}

// pauses are a name's absences before an instant: how often it was away and came again, how long
// that took in all, and how long it was there.
type pauses struct {
	n           int
	away, there int64
}

// pauses returns the absences of a name before an instant. Time that was not recorded, or not
// searched, is no pause.
func (s *sightings) pauses(name string, before int64) (p pauses) {
	list := s.spans[name]
	for i, x := range list {
		if x.from > before {
			break
		}
		p.there += x.to - x.from + s.every
		if i == 0 {
			continue
		}
		if away := (span{list[i-1].to, x.from}); s.looked(away) {
			p.n++
			p.away += away.to - away.from
		}
	}
	return p
}

// looked reports whether all of a stretch was recorded and searched.
func (s *sightings) looked(x span) bool {
	return slices.ContainsFunc(s.pieces, func(p span) bool { return p.from <= x.from && p.to >= x.to }) &&
		!slices.ContainsFunc(s.breaks, func(b span) bool { return b.from < x.to && b.to > x.from })
}

// byChance returns how likely it is that an absence of that length is one more of the pauses of a
// name, in windows of that length: that a pause begins in them, if pauses begin by chance while
// the name is there, and that the longest of so many makes up so much of the sum (Fisher's test
// of the largest of exponential times).
func (p pauses) byChance(absence, length int64) float64 {
	if p.n == 0 {
		return 0
	}
	begins := min(float64(p.n)*float64(length)/float64(max(p.there, 1)), 1)
	rest := float64(p.away) / float64(p.away+absence)
	longest := float64(p.n + 1)
	for range p.n {
		longest *= rest
	}
	return begins * min(longest, 1)
}

// since reports whether a name was there from the beginning of the searched time to an instant,
// with no more than pauses.
func (s *sightings) since(x span) bool {
	return slices.ContainsFunc(s.pieces, func(p span) bool { return x.from <= p.from+3*s.every && x.to >= p.from })
}

// A turnover is how many names came for the first time, and how many went for good, in a time as
// long as the second window, according to the time before it; and how long the names that went
// had been there. On a machine where new names come all the time, a new name is no news.
type turnover struct {
	came, went float64
	oldest     int64
}

// turnover returns that of windows of the length of w. Times that were searched for too short are
// not counted.
func (s *sightings) turnover(w Window) (t turnover) {
	length := w.To - w.From
	for _, p := range s.pieces {
		// A name that is there at the beginning, or at the end, came or went at another time.
		from, to := p.from+max(length, (min(p.to, w.From)-p.from)/4), min(p.to, w.From)
		if to-from < length {
			continue
		}
		births, ends := 0, 0
		for _, list := range s.spans {
			if first := list[0].from; first > from && first < to {
				births++
			}
			for i, x := range list {
				away := w.From
				if i+1 < len(list) {
					away = list[i+1].from
				}
				if x.to > p.from && x.to < to-length && away-x.to >= length && x.to-x.from >= length/2 {
					ends++
					t.oldest = max(t.oldest, x.to-x.from)
				}
			}
		}
		t.came = max(t.came, float64(births)*float64(length)/float64(to-from))
		t.went = max(t.went, float64(ends)*float64(length)/float64(to-from))
	}
	return t
}

// last returns the span in which a name was there at an instant, or the last one before it.
func (s *sightings) last(name string, at int64) (last span) {
	for _, x := range s.spans[name] {
		if x.from <= at {
			last = x
		}
	}
	return last
}

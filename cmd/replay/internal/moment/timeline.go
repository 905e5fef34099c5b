package moment

import (
	"cmp"
	"math"
	"slices"
	"time"

	"tachograph/store/query"
)

const (
	// longCell is how much time of a part one cell sums up, shortCell the same where no more than
	// some hours were recorded. Columns that are shorter use the values themselves.
	longCell, shortCell = int64(10 * time.Second), int64(time.Second)
	someHours           = 6 * block
	// mostCells bounds the cells that are kept, 24 bytes each: thirty days of eight lanes.
	mostCells = 5 << 19
	// patience is how long a question may search before it returns what is known so far.
	patience = 15 * time.Millisecond
)

// piece is a part of a lane's course whose values have been read.
type piece struct {
	cells []cell
	high  float64
	at    int64 // time of the first value that was so high
}

// cell is what a lane did in some seconds.
type cell struct {
	at    int64 // time of its first value
	count int32
	mean  float32
	high  float32
}

// take reads a part.
func (r *Recording) take(p *segment) (*piece, error) {
	if p.read != nil {
		return p.read, nil
	}
	if r.course != nil && !r.course.Shares(p.course) {
		r.course.Forget()
	}
	r.course = p.course
	got := &piece{high: math.Inf(-1)}
	var now cell
	total, end := 0.0, int64(0)
	flush := func() {
		if now.count > 0 {
			now.mean = float32(total / float64(now.count))
			got.cells = append(got.cells, now)
		}
	}
	err := p.course.Values(p.Part, func(wall int64, x float64) {
		if x > got.high {
			got.high, got.at = x, wall
		}
		if now.count == 0 || wall >= end || wall < now.at {
			flush()
			now, total, end = cell{at: wall, high: float32(x)}, 0, wall+r.cell
		}
		now.count++
		total += x
		now.high = max(now.high, float32(x))
	})
	if err == nil {
		err = r.given()
	}
	if err != nil {
		p.course.Forget() // Some of it may be missing.
		return nil, err
	}
	flush()
	got.cells = slices.Clip(got.cells)
	r.keep(p, got)
	return got, nil
}

// stretch is a track that is being computed.
type stretch struct {
	Track
	from, to int64
	counts   []float64
}

func newStretch(l *lane, from, to int64, columns int) *stretch {
	s := &stretch{Track: Track{Lane: l.Lane, Mean: make([]float64, columns), High: blank(columns), Scale: 1}, from: from, to: to, counts: make([]float64, columns)}
	return s
}

// add adds count values with a mean and a maximum, at an instant.
func (s *stretch) add(wall int64, mean, high, count float64) {
	if wall < s.from || wall > s.to {
		return
	}
	k := column(s.from, s.to, len(s.Mean), wall)
	s.counts[k] += count
	s.Mean[k] += float64(mean * count)
	if !(s.High[k] >= high) {
		s.High[k] = high
	}
}

// spread adds a part that was not read to the columns that it covers.
func (s *stretch) spread(p *query.Part) {
	first, last := column(s.from, s.to, len(s.Mean), max(p.From, s.from)), column(s.from, s.to, len(s.Mean), min(p.To, s.to))
	width := float64(s.to-s.from) / float64(len(s.Mean))
	for k := first; k <= last; k++ {
		lo, hi := float64(s.from)+float64(float64(k)*width), float64(s.from)+float64(float64(k+1)*width)
		both := math.Min(hi, float64(p.To)) - math.Max(lo, float64(p.From))
		if both <= 0 {
			continue
		}
		n := float64(p.Count) * both / float64(max(p.To-p.From, 1))
		s.counts[k] += n
		s.Mean[k] += float64(p.Mean * n)
		if !(s.High[k] >= p.Mean) {
			s.High[k] = p.Mean
		}
	}
}

// finish turns sums into means and finds the scale.
func (s *stretch) finish(of float64) Track {
	top := 0.0
	for k, n := range s.counts {
		if n > 0 {
			s.Mean[k] /= n
			top = max(top, s.High[k])
		} else {
			s.Mean[k] = math.NaN()
		}
	}
	switch {
	case s.Share:
	case of == of:
		s.Scale = of
	case top > 0:
		s.Scale = top
	}
	return s.Track
}

// Timeline returns a stretch in so many columns.
func (r *Recording) Timeline(from, to int64, columns int) (*Timeline, error) {
	columns = min(max(columns, 1), 1<<12)
	if to <= from {
		to = from + 1
	}
	t := &Timeline{From: from, To: to, Columns: columns}
	fine := (to-from)/int64(columns) < r.cell
	if !fine {
		done, err := r.improve(from, to, columns)
		if err != nil {
			return nil, err
		}
		t.Rough = !done
	}
	for i, l := range r.lanes {
		s := newStretch(l, from, to, columns)
		var err error
		if fine {
			err = l.line.Values(r.near(to), r.window(from, to), func(wall int64, x float64) { s.add(wall, x, x, 1) })
		} else {
			r.sumUp(i, s)
		}
		if err != nil {
			return nil, err
		}
		t.Lanes = append(t.Lanes, s.finish(l.of))
	}
	for _, m := range r.marks {
		if m.To >= from && m.From <= to {
			t.Marks = append(t.Marks, m)
		}
	}
	return t, nil
}

// sumUp adds the parts of a lane to s: the cells of those that were read, the summaries of others.
func (r *Recording) sumUp(lane int, s *stretch) {
	middle := r.cell / 2
	if r.cell == shortCell {
		middle = 0 // A cell is one sample.
	}
	for p := range r.parts(lane, s.from, s.to) {
		switch {
		case p.read != nil:
			for _, c := range p.read.cells {
				s.add(min(c.at+middle, p.To), float64(c.mean), float64(c.high), float64(c.count))
			}
		case p.Told:
			s.spread(p.Part)
		}
	}
}

// improve reads the values for a timeline, the latest first, until patience is over: first the
// parts that would be blank or shown too coarsely, then those that summaries describe well
// enough. It reports whether nothing is left to read.
func (r *Recording) improve(from, to int64, columns int) (done bool, err error) {
	until := time.Now().Add(patience)
	late := func() bool { return time.Now().After(until) }
	if !r.survey(from, to, late) {
		return false, r.given()
	}
	var first, rest []*segment
	width := (to - from) / int64(columns)
	for lane := range r.lanes {
		for p := range r.parts(lane, from, to) {
			switch {
			case p.read != nil:
			case !p.Told || p.To-p.From > 2*width:
				first = append(first, p)
			case p.Top > p.Mean:
				rest = append(rest, p)
			}
		}
	}
	for _, list := range [][]*segment{first, rest} {
		slices.SortStableFunc(list, func(x, y *segment) int { return cmp.Compare(y.To, x.To) })
		for _, p := range list {
			if late() || r.given() != nil {
				return false, r.given()
			}
			if _, err := r.take(p); err != nil {
				return false, err
			}
		}
	}
	begin := max(from, r.from)
	for at := min(to, r.to); at >= begin; at = floorDiv(at, r.crashes.length)*r.crashes.length - 1 {
		if late() || r.given() != nil {
			return false, r.given()
		}
		r.crashesIn(at)
	}
	return true, nil
}

// Peak returns where a lane was highest in a stretch: the first instant at which it was. Parts
// that cannot hold the peak are not read.
func (r *Recording) Peak(name string, from, to int64) (at int64, value float64, ok bool, err error) {
	i := slices.IndexFunc(r.lanes, func(l *lane) bool { return l.Name == name })
	if i < 0 {
		return 0, 0, false, nil
	}
	r.progress.set(0, 1)
	if !r.survey(from, to, nil) {
		return 0, 0, false, r.given()
	}
	bound := func(p *segment) float64 {
		if p.read != nil {
			return p.read.high
		}
		if p.Told {
			return p.Top
		}
		return math.Inf(1)
	}
	see := func(wall int64, x float64) {
		if wall >= from && wall <= to && (!ok || x > value || x == value && wall < at) {
			at, value, ok = wall, x, true
		}
	}
	parts := slices.Collect(r.parts(i, from, to))
	slices.SortStableFunc(parts, func(x, y *segment) int { return cmp.Compare(bound(y), bound(x)) })
	for n, p := range parts {
		r.progress.set(int64(n), int64(len(parts)))
		if err := r.given(); err != nil {
			return 0, 0, false, err
		}
		if ok && bound(p) < value {
			continue
		}
		if p.From < from || p.To > to {
			err := p.course.Values(p.Part, see)
			if err == nil {
				err = r.given()
			}
			if err != nil {
				p.course.Forget()
				return 0, 0, false, err
			}
			continue
		}
		got, err := r.take(p)
		if err != nil {
			return 0, 0, false, err
		}
		if len(got.cells) > 0 {
			see(got.at, got.high)
		}
	}
	return at, value, ok, r.given()
}

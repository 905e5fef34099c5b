package demand

import (
	"sync"
	"time"

	"tachograph/sample"
	"tachograph/sample/metric"
)

// source is a sample.Source with its latest readings.
type source struct {
	sample.Source
	name  string
	place int
	// turn is held (by sending) while the source is read or refreshed, and guards frames. It is a
	// channel so that a caller can give up waiting for it.
	turn   chan struct{}
	frames []*sample.Frame // by group; nil until one of its metrics is requested

	mu     sync.Mutex
	groups []*metric.Group
	// recent holds the latest readings of each group, the newest first.
	recent  [][]*reading
	choices []map[string]*sample.Choice // by group, then by columns
	key     []byte                      // scratch space of choice
	since   int64                       // awake clock: busy since; 0: idle
	left    bool                        // busy, and callers have given up waiting
	retryAt int64                       // awake clock: not to be read earlier
	backOff time.Duration
	// repay is how long to share the last reading while the budget is used up.
	repay    time.Duration
	readings uint64
	partly   bool // the last reading covered only some of its instances
	status   Status
}

// Status is the statistics of reading a source.
type Status struct {
	Source                           string
	Reads, Errors, Timeouts, Partial uint64
	Total                            time.Duration // in the source, including readings that were given up
}

const (
	// keep is how many readings of a group are kept. The metrics of one request seldom come from
	// more.
	keep = 4
	// maxChoices limits the remembered choices of columns per group.
	maxChoices = 32

	firstBackOff = 10 * time.Second
	maxBackOff   = 10 * time.Minute
)

func newSource(place int, s sample.Source) *source {
	n := &source{Source: s, name: s.Name(), place: place, turn: make(chan struct{}, 1)}
	n.adopt(s.Groups())
	return n
}

// adopt starts over with other groups. The caller holds turn, or no other goroutine uses s yet.
func (s *source) adopt(groups []*metric.Group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.groups = groups
	s.frames = make([]*sample.Frame, len(groups))
	s.recent = make([][]*reading, len(groups))
	s.choices = make([]map[string]*sample.Choice, len(groups))
}

func (s *source) known() []*metric.Group {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.groups
}

// reads counts the readings of groups so far.
func (s *source) reads() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.readings
}

// has reports whether s still has the group of g. The caller holds mu.
func (s *source) has(g *groupRequest) bool {
	return g.group < len(s.groups) && s.groups[g.group] == g.full
}

// take waits for the turn. It returns false when done was closed before.
func (s *source) take(done <-chan struct{}) bool {
	select {
	case s.turn <- struct{}{}:
		return true
	default:
	}
	select {
	case s.turn <- struct{}{}:
		return true
	case <-done:
		return false
	}
}

// takeWithin is take with a time limit.
func (s *source) takeWithin(limit time.Duration) bool {
	ended := make(chan struct{})
	timer := time.AfterFunc(limit, func() { close(ended) })
	defer timer.Stop()
	return s.take(ended)
}

// shared is how long a value of d may be shared.
func (s *source) shared(d *metric.Desc, broke bool) time.Duration {
	life := lifetime(d)
	if !broke {
		return life
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(life, s.repay)
}

// answers reports whether it is worth waiting for s.
func (s *source) answers(now int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.left && now >= s.retryAt
}

// leave gives s up if its current reading has taken at least the duration least. It reports
// whether it has done so now.
func (s *source) leave(now int64, least time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left || s.since == 0 || time.Duration(now-s.since) < least {
		return false
	}
	s.left = true
	s.status.Timeouts++
	return true
}

// begins records that a reading or a look begins.
func (s *source) begins(now int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = now
}

// free records that s is idle again. If its callers gave up waiting, s is asked again only after
// as long as it took, and after twice as long each time that it is late again.
func (s *source) free(now int64) (inTime bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	inTime = !s.left
	if inTime {
		s.backOff = 0
	} else {
		s.backOff = min(max(2*s.backOff, min(time.Duration(now-s.since), firstBackOff)), maxBackOff)
		s.retryAt = now + int64(s.backOff)
	}
	s.since, s.left = 0, false
	return inTime
}

// count adds a reading to the status; news reports that s has begun to read only some of its
// instances at a time.
func (s *source) count(c *Cost, inTime bool, repay time.Duration) (news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.status
	st.Total += c.Took
	if inTime {
		st.Reads++
	}
	if c.Err != nil {
		st.Errors++
	}
	if c.Of > 0 {
		st.Partial++
	}
	news = c.Of > 0 && !s.partly
	s.repay, s.partly = repay, c.Of > 0
	return news
}

// newest returns the latest reading of a column; nil if that is older than since or its number
// is not above after. The caller holds mu.
func (s *source) newest(group, col int, since int64, after uint64) *reading {
	for _, r := range s.recent[group] {
		if !r.has(col) {
			continue
		}
		if r.at < since || r.number <= after {
			return nil
		}
		return r
	}
	return nil
}

// remember keeps a reading as the latest of its group.
func (s *source) remember(group int, r *reading) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readings++
	r.number = s.readings
	kept := make([]*reading, 0, keep)
	kept = append(kept, r)
	for _, o := range s.recent[group] {
		if len(kept) < keep && !covers(r, o) && time.Duration(r.at-o.at) < settled {
			kept = append(kept, o)
		}
	}
	s.recent[group] = kept
}

// covers reports whether r has every column of o.
func covers(r, o *reading) bool {
	if r.choice == o.choice {
		return true
	}
	for col := range o.choice.Len() {
		if o.has(col) && !r.has(col) {
			return false
		}
	}
	return true
}

// choice returns the choice of those columns of a group. The caller holds mu.
func (s *source) choice(group int, cols set) *sample.Choice {
	s.key = cols.key(s.key[:0])
	if c := s.choices[group][string(s.key)]; c != nil {
		return c
	}
	c := sample.NewChoice(s.groups[group], cols.has)
	if s.choices[group] == nil || len(s.choices[group]) >= maxChoices {
		s.choices[group] = make(map[string]*sample.Choice)
	}
	s.choices[group][string(s.key)] = c
	return c
}

// only returns a part of a reading: the block itself if the request takes all the block's
// columns from it, else a block of those columns. The caller holds mu.
func (s *source) only(g *groupRequest, p subset) *metric.Block {
	r, cols := p.reading, p.cols
	whole := true
	for _, col := range g.cols {
		whole = whole && (cols.has(col) || !r.has(col))
	}
	if whole {
		return r.block
	}
	c := s.choice(g.group, cols)
	b := &metric.Block{Group: c.Group(), At: r.block.At, Rows: r.block.Rows, Cols: make([]metric.Column, cols.len())}
	for _, col := range g.cols {
		if cols.has(col) {
			b.Cols[c.Column(col)] = r.block.Cols[r.choice.Column(col)]
		}
	}
	return b
}

// read reads cols for q and remembers the readings. The caller holds turn.
func (s *source) read(r *Reader, q *request, cols []set) Cost {
	cost := Cost{Source: s.name}
	var frames []*sample.Frame
	var groups []int
	var choices []*sample.Choice
	s.mu.Lock()
	for i, wanted := range cols {
		if wanted == nil || !s.has(&q.groups[i]) {
			continue
		}
		group := q.groups[i].group
		c := s.choice(group, wanted)
		if c == nil {
			continue
		}
		if s.frames[group] == nil {
			s.frames[group] = sample.FrameFor(s.groups[group], c)
		}
		f := s.frames[group]
		f.Choose(c)
		f.Reset(metric.Stamp{})
		frames, groups, choices = append(frames, f), append(groups, group), append(choices, c)
		cost.Metrics += len(c.Group().Metrics)
	}
	s.mu.Unlock()
	if len(frames) == 0 {
		return cost
	}
	ctx := &sample.Context{Now: r.opt.Now, Emit: func(metric.Event) {}, Class: metric.Process, Living: true, Repeated: !r.opt.Anew}
	if !r.opt.Anew {
		ctx.Enough = enough(r.opt.Now)
	}
	began := time.Now()
	cost.Err = sample.Read(s.Source, ctx, frames)
	cost.Took = time.Since(began)
	cost.Part, cost.Of = ctx.Part()
	at := r.opt.Now().Awake
	for i, f := range frames {
		if cost.Err != nil {
			f.Miss(r.opt.Now(), sample.ReasonOf(cost.Err))
		} else {
			f.Freeze()
		}
		// A frame that the source did not stamp was not read.
		if b := f.Block(); b.At != (metric.Stamp{}) {
			cost.Values += len(b.Rows) * len(b.Cols)
			s.remember(groups[i], &reading{block: f.Take(), choice: choices[i], at: at})
		}
	}
	return cost
}

// slice is how long a source with very many instances may work.
const slice = time.Second

// enough returns a function that reports when a source must stop. Time counts from its first
// call, when the source knows how much there is to read.
func enough(now func() metric.Stamp) func() bool {
	asked := int64(0)
	return func() bool {
		at := now().Awake
		if asked == 0 {
			asked = at
		}
		return time.Duration(at-asked) >= slice
	}
}

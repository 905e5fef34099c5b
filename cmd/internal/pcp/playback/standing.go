package playback

import (
	"maps"
	"slices"
	"strings"
	"time"

	"tachograph/cmd/internal/pcp/pcpserve"
	"tachograph/sample/catalog"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
	"tachograph/store/recent"
)

// A standing is the present state: the last reading of each group.
type standing struct {
	places map[placeID]*place
	named  map[string]cell // the cell with the values of a metric
	recent *recent.Archive // inputs of computed metrics
	exprs  map[*metric.Desc]*query.Expr

	info *store.ArchiveInfo
	due  time.Duration // the position of the last tick
	away bool          // the machine sleeps, is off, or was not recorded
	last [metric.NumClasses]struct {
		seen       bool
		due, every time.Duration // its position, and the time since the previous one
	}
}

// placeID identifies the same group in different ticks.
type placeID struct {
	class       metric.Class
	name, indom string
}

// A place keeps the last block of a group.
type place struct {
	class  metric.Class
	source *metric.Group // as in the archive
	block  *metric.Block // a copy with the catalogue's metrics
	due    time.Duration
	own    map[*metric.Instance]*metric.Instance // copies of the instances that were read
}

// A cell is a column of a place.
type cell struct {
	*place
	column int
}

// mostPlaces is far more than any recorder needs; an untrusted archive may have a new group in
// each tick.
const mostPlaces = 2000

// forget clears the state: after another boot no earlier value holds.
func (p *Player) forget() {
	s := &p.standing
	s.places, s.named, s.exprs = make(map[placeID]*place), make(map[string]cell), make(map[*metric.Desc]*query.Expr)
	clear(s.last[:])
	operands := p.operands()
	s.recent = recent.New(recent.Keep{Ticks: 3, NoEvents: true, Metric: func(d *metric.Desc) bool { return operands[d.Name] }})
	for _, d := range p.Catalog().Descs {
		if d.Formula != "" {
			s.recent.Describe(d)
		}
	}
}

// operands returns the metrics that others are computed from, directly or not.
func (p *Player) operands() map[string]bool {
	formulas := make(map[string]string)
	for _, platform := range catalog.Platforms {
		for _, d := range catalog.Select(platform, func(d *metric.Desc) bool { return d.Formula != "" }) {
			formulas[d.Name] += " " + d.Formula
		}
	}
	operands := make(map[string]bool)
	var need func(formula string)
	need = func(formula string) {
		for _, name := range strings.FieldsFunc(formula, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '.'
		}) {
			if !operands[name] {
				operands[name] = true
				need(formulas[name])
			}
		}
	}
	for _, d := range p.Catalog().Descs {
		need(d.Formula)
	}
	return operands
}

// turn notes which archive the next items are from.
func (p *Player) turn(info *store.ArchiveInfo) {
	if p.info != nil && p.info.BootID != info.BootID {
		p.forget()
	}
	p.info = info
}

// tick takes in a tick at a position.
func (p *Player) tick(t *metric.Tick, due time.Duration) {
	if len(p.places) > mostPlaces {
		p.forget()
	}
	l := &p.last[t.Class]
	if l.every = 0; l.seen && !p.away {
		l.every = due - l.due
	}
	l.due, l.seen = due, true
	p.due, p.away = due, false
	p.recent.Tick(p.info, t)
	for _, b := range t.Blocks {
		p.put(t.Class, b, due)
	}
}

// stood takes in the state before the first tick; zero is the wall clock of position zero.
func (p *Player) stood(t *metric.Tick, zero int64) {
	p.recent.Tick(p.info, t)
	for _, b := range t.Blocks {
		p.put(t.Class, b, time.Duration(b.At.Wall-zero))
	}
}

// put keeps a copy of a block.
func (p *Player) put(class metric.Class, b *metric.Block, due time.Duration) {
	id := placeID{class, b.Group.Name, b.Group.Indom}
	pl := p.places[id]
	if pl == nil {
		pl = &place{class: class}
		p.places[id] = pl
	}
	if pl.source != b.Group {
		pl.source = b.Group
		// Metrics that are no longer read with it have no value here.
		maps.DeleteFunc(p.named, func(_ string, c cell) bool { return c.place == pl })
		pl.block = &metric.Block{Group: pcpserve.Described(b.Group, p.byName)}
		for i, d := range pl.block.Group.Metrics {
			if d.Name != "" {
				p.named[d.Name] = cell{pl, i}
			}
		}
	}
	c := b.Clone()
	c.Group = pl.block.Group
	own := make(map[*metric.Instance]*metric.Instance, len(b.Rows))
	for i, in := range c.Rows {
		if in == nil {
			continue
		}
		mine := pl.own[in]
		if mine == nil || mine.Rev != in.Rev {
			copied := *in
			copied.Labels = slices.Clone(in.Labels)
			mine = &copied
		}
		own[in], c.Rows[i] = mine, mine
	}
	pl.block, pl.own, pl.due = c, own, due
}

// fewest is for how many intervals without a reading a value holds, and longest the least time
// for which it holds.
const (
	fewest  = 3
	longest = 10 * time.Second
)

// holds reports whether what a class read at a position still holds at another one.
func (s *standing) holds(class metric.Class, due, now time.Duration) bool {
	every := s.info.Intervals[class]
	if every == 0 || every == metric.Once {
		return true
	}
	// Values that were read less often than planned, to save work, are not gone because of
	// that.
	every = max(every, time.Duration(s.info.Step), s.last[class].every)
	return now-due <= max(longest, fewest*min(every, metric.Once/8))
}

// there reports whether the machine was on and recorded at a position.
func (s *standing) there(now time.Duration) bool {
	if s.info == nil || s.away {
		return false
	}
	fastest := metric.Once
	for c, every := range s.info.Intervals {
		if every > 0 && every < fastest {
			fastest = max(every, time.Duration(s.info.Step), s.last[c].every)
		}
	}
	return now-s.due <= max(longest, fewest*min(fastest, metric.Once/8))
}

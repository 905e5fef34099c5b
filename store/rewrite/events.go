package rewrite

import (
	"time"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/chunk"
	"tachograph/store/layout"
)

// eventsBefore is how long before the window an event that parts rates still matters, because
// the first rate in the window needs values from before it. It is as long as readers look back.
const eventsBefore = int64(time.Hour)

// An eventSource yields the events of a file.
type eventSource struct {
	drain *archive.Drain
	next  *metric.Event // nil at the end
}

// events copies the events of the window, and those in the hour before it that part rates. An
// event that is in several sources is copied once.
func (c *copier) events() error {
	from := c.from
	if from != minWall {
		from -= eventsBefore
	}
	var all []*eventSource
	for i, f := range c.files {
		s := &eventSource{drain: archive.NewDrain(&archive.Draining{
			File: f, Info: &f.Info, Same: new(archive.Sameness),
			After:  func(metric.Class) int64 { return 0 },
			Chunk:  func(*chunk.Info) bool { return false },
			Batch:  func(h *chunk.EventHead) bool { return h.To >= from && h.From <= c.to },
			Churn:  new(uint64),
			Events: new(uint64),
		})}
		c.advance(i, s)
		all = append(all, s)
	}
	var twice onceOnly
	for {
		first := -1
		for i, s := range all {
			if s.next != nil && (first < 0 || s.next.At.Cont < all[first].next.At.Cont) {
				first = i
			}
		}
		if first < 0 {
			return nil
		}
		e := *all[first].next
		c.advance(first, all[first])
		if !c.wanted(&e) {
			continue
		}
		if len(all) > 1 && twice.told(&e, first) {
			if e.Kind != metric.EventRotate { // it ends one archive and begins the next
				c.report.Twice++
			}
			continue
		}
		if c.opt.Mapping != nil {
			var keep bool
			if e, keep = c.opt.Mapping.Event(e); !keep {
				continue
			}
		}
		if err := c.w.Event(&e); err != nil {
			return err
		}
	}
}

func (c *copier) advance(i int, s *eventSource) {
	for {
		next, ok := s.drain.Next()
		if next.Lost != nil {
			c.lost(c.files[i], next.Lost)
			continue
		}
		if s.next = nil; ok {
			s.next = next.Event
		}
		return
	}
}

// wanted reports whether an event is copied.
func (c *copier) wanted(e *metric.Event) bool {
	at := e.At.Wall
	switch {
	case at > c.to:
		return false
	case at < c.from:
		return at >= c.from-eventsBefore && (e.Breaks() || e.Kind == metric.EventDevice)
	case c.opt.NoEvents:
		return false
	case c.opt.Instance != nil && e.Indom != "" && layout.IsChurn(e.Kind):
		if !c.kept[[2]string{e.Indom, e.Key}] && !c.opt.Instance(e.Indom, subject(e)) {
			return false
		}
	}
	c.saw(at, at)
	return true
}

// subject returns the instance that an event is about, as far as the event describes it.
func subject(e *metric.Event) *metric.Instance {
	return &metric.Instance{Key: e.Key, Name: e.Label("pid") + " " + e.Label("name"), Labels: e.Labels}
}

// onceOnly remembers the recent events.
type onceOnly struct {
	known map[string]map[int]int // by encoded event: how often each source had it
	since int64
}

// lately is how far events of several sources may be out of order with each other.
const lately = int64(time.Minute)

// told reports whether another source has had e as often as this one has.
func (o *onceOnly) told(e *metric.Event, source int) bool {
	if o.known == nil || e.At.Cont-o.since > lately {
		// Events of the same instant come together.
		o.known, o.since = make(map[string]map[int]int), e.At.Cont
	}
	key := string(chunk.MarshalEvents([]metric.Event{*e}))
	by := o.known[key]
	if by == nil {
		by = make(map[int]int)
		o.known[key] = by
	}
	by[source]++
	for other, n := range by {
		if other != source && n >= by[source] {
			return true
		}
	}
	return false
}

package archive

import (
	"errors"
	"io"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
	"tachograph/store/fault"
	"tachograph/store/layout"
)

// A Drain yields the content of an archive, one tick and one event at a time. The ticks of each
// class and the two streams of events come in their own order, and among them always the
// earliest by the continuous clock first. In memory it holds one decoded chunk of each class
// and one batch of each stream.
type Drain struct {
	*Draining
	classes [metric.NumClasses]classDrain
	streams [2]eventDrain
	lost    []error // Next returns these first
}

// Draining says what a Drain yields, and how.
type Draining struct {
	File *File
	Info *Info // the archive that descriptions are completed for
	Same *Sameness
	// After returns the continuous clock of each class after which its ticks are wanted; 0 is
	// before all of them. Ticks at or before it are not decoded.
	After func(metric.Class) int64
	// Chunk, if set, says which chunks are wanted.
	Chunk func(*chunk.Info) bool
	// Pass, if set, says which ticks are wanted. It is called for each in order. then is when
	// the following tick was read, and no block of this tick is later than that; nil if the
	// following tick is in another chunk.
	Pass func(c metric.Class, at metric.Stamp, then *metric.Stamp) bool
	// AsDescribed asks for descriptions as recorded, without the moves between classes that the
	// configuration has made.
	AsDescribed bool
	// Metric, if set, says which metrics are wanted.
	Metric func(*metric.Desc) bool
	// Lost, if set, is called for what is missing from a chunk's ticks because of damage. A
	// Drain sets it and returns the errors as items.
	Lost func(error)
	// Batch, if set, says which batches of events are wanted.
	Batch func(*chunk.EventHead) bool
	// Churn and Events count the events that have been taken, of processes coming and going and
	// of all others. A Drain skips that many events of each stream and goes on counting.
	Churn, Events *uint64
}

// A classDrain goes through the chunks of a class.
type classDrain struct {
	refs  []*ChunkRef
	ticks *chunk.Ticks // of the first of refs; nil before it is opened
}

// An eventDrain goes through the events of a stream.
type eventDrain struct {
	churn  bool
	refs   []*EventBatch
	events []metric.Event // of the batch before refs
	at     uint64         // how many events of the stream came before events
	pos    *uint64        // how many have been taken
}

// NewDrain returns a Drain that yields the ticks and events that what asks for.
func NewDrain(what *Draining) *Drain {
	d := &Drain{Draining: what}
	what.Lost = func(err error) { d.lost = append(d.lost, err) }
	for _, r := range what.File.Chunks {
		c := r.Info.Class
		if c >= metric.NumClasses || what.Chunk != nil && !what.Chunk(&r.Info) {
			continue
		}
		if after := what.After(c); after == 0 || r.Info.Last.Cont > after {
			d.classes[c].refs = append(d.classes[c].refs, r)
		}
	}
	for i := range d.streams {
		s := &d.streams[i]
		s.churn, s.pos = i == 1, what.Events
		if s.churn {
			s.pos = what.Churn
		}
		for k := range what.File.Events {
			s.refs = append(s.refs, &what.File.Events[k])
		}
	}
	return d
}

// Next returns the next item; ok is false at the end.
func (d *Drain) Next() (next Item, ok bool) {
	for {
		if len(d.lost) > 0 {
			next.Lost, d.lost = d.lost[0], d.lost[1:]
			return next, true
		}
		var class, stream = -1, -1
		var first int64
		for i := range d.streams {
			e, err := d.peek(&d.streams[i])
			if err != nil {
				return Item{Lost: err}, true
			}
			if e != nil && (stream < 0 || e.At.Cont < first) {
				stream, first = i, e.At.Cont
			}
		}
		for c := range d.classes {
			if at, ok := d.classes[c].peek(); ok && (class < 0 && stream < 0 || at < first) {
				class, first = c, at
			}
		}
		switch {
		case class >= 0:
			t, err := d.tick(metric.Class(class))
			if err != nil {
				return Item{Lost: err}, true
			}
			if t != nil {
				return Item{Tick: t}, true
			}
		case stream >= 0:
			s := &d.streams[stream]
			e := &s.events[0]
			s.events = s.events[1:]
			s.at++
			*s.pos = s.at
			return Item{Event: e}, true
		default:
			return Item{}, false
		}
	}
}

// peek returns the continuous clock of the next tick, or a clock that the tick does not come
// before.
func (c *classDrain) peek() (int64, bool) {
	for len(c.refs) > 0 {
		if c.ticks == nil {
			return c.refs[0].Info.First.Cont, true
		}
		if at, ok := c.ticks.At(); ok {
			return at.Cont, true
		}
		c.drop()
	}
	return 0, false
}

func (c *classDrain) drop() {
	c.refs[0].Opened = nil
	c.refs, c.ticks = c.refs[1:], nil
}

// tick returns the next tick of a class. It returns nil if it had to open a chunk first, or if
// the tick is not wanted.
func (d *Drain) tick(class metric.Class) (t *metric.Tick, err error) {
	c := &d.classes[class]
	ref := c.refs[0]
	err = fault.Contain(func() (err error) {
		if c.ticks == nil {
			c.ticks, err = d.Ticks(ref, d.After(class), nil)
			return err
		}
		at, _ := c.ticks.At()
		if d.Pass != nil {
			var then *metric.Stamp
			if next, ok := c.ticks.Then(); ok {
				then = &next
			}
			if !d.Pass(class, at, then) {
				return c.ticks.Skip()
			}
		}
		t, err = c.ticks.Next()
		return err
	})
	if err == nil {
		return t, nil
	}
	c.drop()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	return nil, ref.Wrong(err)
}

// Ticks returns the ticks of a chunk after a continuous clock; 0 is before all of them.
func (d *Draining) Ticks(ref *ChunkRef, after int64, want func(name, indom string) bool) (*chunk.Ticks, error) {
	c, err := ref.Open()
	if err != nil {
		if wrong := (*ChunkError)(nil); errors.As(err, &wrong) {
			err = wrong.Err
		}
		return nil, err
	}
	stamps, err := c.Stamps()
	if err != nil {
		return nil, err
	}
	n := 0
	for after != 0 && n < len(stamps) && stamps[n].Cont <= after {
		n++
	}
	descs := make(map[uint32]*metric.Desc)
	return c.Ticks(n, chunk.Makings{
		Desc: func(number uint32) *metric.Desc {
			m, ok := descs[number]
			if !ok {
				if m = d.File.Desc(number); m != nil && !d.AsDescribed {
					m = d.File.Effective(number, ref.Info.Class)
				}
				if m != nil {
					m = d.Same.Desc(d.Info, m)
				}
				if m != nil && d.Metric != nil && !d.Metric(m) {
					m = nil
				}
				descs[number] = m
			}
			return m
		},
		Group:  d.Same.Group,
		Intern: d.Same.Intern,
		Want:   want,
		Lost: func(err error) {
			if d.Lost != nil {
				d.Lost(ref.Wrong(err))
			}
		},
	})
}

// Standing returns how things stood in a chunk at a continuous clock: the last tick at or before
// it, with the last earlier block of each group that it lacks; nil if there is none. want, if
// set, says which groups are wanted.
func (d *Draining) Standing(ref *ChunkRef, at int64, want func(name, indom string) bool) (t *metric.Tick, err error) {
	err = fault.Contain(func() error {
		ticks, err := d.Ticks(ref, at, want)
		if err == nil {
			t, err = ticks.Last()
		}
		return err
	})
	ref.Opened = nil
	return t, err
}

// peek returns the next event that was not taken, nil if there is none.
func (d *Drain) peek(s *eventDrain) (*metric.Event, error) {
	for {
		for len(s.events) > 0 && s.at < *s.pos {
			s.events = s.events[1:]
			s.at++
		}
		if len(s.events) > 0 {
			return &s.events[0], nil
		}
		if len(s.refs) == 0 {
			return nil, nil
		}
		ref := s.refs[0]
		s.refs = s.refs[1:]
		churn, others := ref.Count(d.File)
		n := others
		if s.churn {
			n = churn
		}
		if n == 0 || s.at+n <= *s.pos || d.Batch != nil && !d.Batch(&ref.Head) {
			s.at += n
			continue
		}
		events, err := ref.read(d.File)
		if err != nil {
			s.at += n
			return nil, err
		}
		if churn == 0 || others == 0 {
			s.events = events
			continue
		}
		s.events = nil
		for i := range events {
			if layout.IsChurn(events[i].Kind) == s.churn {
				s.events = append(s.events, events[i])
			}
		}
	}
}

// Count returns how many events of the two streams are in a batch. It decodes the batch only if
// it holds both streams or is not from the file.
func (e *EventBatch) Count(a *File) (churn, others uint64) {
	any := false
	for _, k := range e.Head.Kinds {
		any = any || layout.IsChurn(k)
	}
	n := min(e.Head.Count, chunk.MaxEvents)
	switch {
	case e.Head.Kinds != nil && !any:
		return 0, n
	case e.Head.Kinds != nil && e.Churn:
		return n, 0
	}
	events, _ := e.read(a)
	for i := range events {
		if layout.IsChurn(events[i].Kind) {
			churn++
		} else {
			others++
		}
	}
	return churn, others
}

func (e *EventBatch) read(a *File) (events []metric.Event, err error) {
	err = fault.Contain(func() (err error) {
		events, err = e.Events(a)
		return err
	})
	return events, err
}

package demand

import (
	"slices"
	"time"

	"tachograph/sample"
)

// restless is a source that may find out during a reading that its groups should be different.
type restless interface{ Restless() bool }

// calmEvery is how often restless sources are asked.
const calmEvery = time.Hour

// quest schedules the looks of one source for what it did not find yet.
type quest struct {
	sample.Quest
	source *source
	look   func() bool
}

// Start makes sources look again, until Close, for what the machine lacked: a card that is put
// in, a driver that matches late.
func (r *Reader) Start() {
	now := r.opt.Now().Awake
	var quests []*quest
	for _, s := range r.sources {
		if l, ok := s.Source.(sample.Looker); ok {
			q := &quest{source: s, look: l.Look}
			q.Begin(now)
			quests = append(quests, q)
		}
		if l, ok := s.Source.(restless); ok {
			q := &quest{source: s, look: l.Restless}
			q.At = now + int64(calmEvery)
			quests = append(quests, q)
		}
	}
	if len(quests) > 0 {
		go r.seek(quests)
	}
}

func (r *Reader) seek(quests []*quest) {
	timer := time.NewTimer(sample.FirstLook)
	defer timer.Stop()
	for {
		select {
		case <-r.stop:
			return
		case <-timer.C:
		}
		now := r.opt.Now().Awake
		next := now + int64(sample.MostLook)
		for _, q := range quests {
			if q.At <= now {
				r.lookAgain(q)
			}
			next = min(next, q.At)
		}
		timer.Reset(max(time.Duration(next-r.opt.Now().Awake), time.Second))
	}
}

// lookAgain makes a source look, and refreshes it if it saw something. A busy source looks at
// another time.
func (r *Reader) lookAgain(q *quest) {
	s := q.source
	if !s.takeWithin(time.Second) {
		q.Next(r.opt.Now().Awake)
		return
	}
	began := r.opt.Now().Awake
	s.begins(began)
	saw := q.look()
	now := r.opt.Now().Awake
	q.Took(time.Duration(now - began))
	q.Next(now)
	changed := false
	if saw {
		changed = r.refresh(s)
	}
	s.free(r.opt.Now().Awake)
	<-s.turn
	if changed {
		q.Changed(r.opt.Now().Awake)
		r.place()
		r.opt.Log.Info("what this machine has is another now", "source", s.name)
		if r.opt.Changed != nil {
			r.opt.Changed()
		}
	}
}

// refresh makes a source look at the machine anew and reports whether its groups changed. The
// caller holds the source's turn.
func (r *Reader) refresh(s *source) bool {
	if err := s.Refresh(); err != nil {
		r.opt.Log.Warn("a source could not look again for what this machine has", "source", s.name, "error", err)
		return false
	}
	old, now := s.known(), s.Groups()
	if slices.Equal(old, now) {
		return false
	}
	// A source tells its groups apart by their addresses, so groups with equal content count as
	// changed as well.
	s.adopt(slices.Clone(now))
	return true
}

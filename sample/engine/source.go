package engine

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tachograph/sample"
	"tachograph/sample/metric"
)

// source is a sample.Source with everything the engine knows about it.
type source struct {
	sample.Source
	name string
	// turn is held (by sending) while the source is read or refreshed, and
	// guards members. A channel, so that waiting for it can be given up.
	turn    chan struct{}
	members [metric.NumClasses]*member
	groups  []*metric.Group
	alive   atomic.Int64 // awake clock: when a reading asked for it last

	mu    sync.Mutex
	stats sourceStats
}

// sourceStats is guarded by source.mu.
type sourceStats struct {
	Reads, Errors, Timeouts uint64
	Partial                 uint64 // of Reads: only some of the instances
	Total, Last, Max        time.Duration
	ByClass                 [metric.NumClasses]time.Duration

	notice    string
	hungSince int64 // awake clock; 0: answers
	hungIn    metric.Class
	hung      bool  // at some time since the budget looked last
	retryAt   int64 // awake clock: not to be read before
	backOff   time.Duration
}

// member is a source's part in one class.
type member struct {
	frames []*sample.Frame
	had    [][]bool // per frame and column: it has had a value
	blocks []*metric.Block
}

func newSource(s sample.Source) *source {
	return &source{Source: s, name: s.Name(), turn: make(chan struct{}, 1)}
}

// plan makes the frames for every class. The caller holds turn, or is alone.
func (s *source) plan(p *Plan) {
	s.groups = s.Groups()
	for _, c := range read {
		s.members[c] = nil
		if p.Intervals[c] == 0 {
			continue
		}
		m := &member{}
		for _, g := range s.groups {
			f := sample.NewFrame(g, func(d *metric.Desc) bool { return p.Class(d) == c })
			if f != nil {
				m.frames = append(m.frames, f)
			}
		}
		if len(m.frames) > 0 {
			m.had = make([][]bool, len(m.frames))
			s.members[c] = m
		}
	}
}

// regroup refreshes the source and plans again if its groups are others now;
// changed when they also differ in content. The caller holds turn.
func (s *source) regroup(p *Plan) (changed bool, err error) {
	if err := s.Refresh(); err != nil {
		return false, err
	}
	// A source tells its groups apart by their addresses: frames of a group
	// that was replaced by an equal one mean nothing to it.
	old, now := s.groups, s.Groups()
	if slices.Equal(old, now) {
		return false, nil
	}
	s.plan(p)
	return !slices.EqualFunc(old, now, (*metric.Group).Same), nil
}

// read fills the source's frames for class c and returns the blocks that came
// of it, and what could not be read of it. The caller holds turn.
func (s *source) read(ctx *sample.Context, c metric.Class) (blocks []*metric.Block, lapse string, err error) {
	m := s.members[c]
	if m == nil {
		return nil, "", nil
	}
	for _, f := range m.frames {
		f.Reset(metric.Stamp{})
	}
	if err = sample.Read(s.Source, ctx, m.frames); err == nil {
		lapse = m.lapse()
	}
	m.blocks = m.blocks[:0]
	for _, f := range m.frames {
		b := f.Block()
		if err != nil {
			f.Miss(ctx.Now(), sample.ReasonOf(err))
		} else {
			f.Freeze()
		}
		// A frame that the source did not stamp was not read.
		if b.At != (metric.Stamp{}) {
			m.blocks = append(m.blocks, b)
		}
	}
	return m.blocks, lapse, err
}

// noticer is a source that knows something which the user should know, and can
// change; empty when there is nothing.
type noticer interface{ Notice() string }

// heed keeps the source's notice for those who ask; new when it is another one
// than before. The caller holds turn.
func (s *source) heed() (notice string, isNew bool) {
	n, ok := s.Source.(noticer)
	if !ok {
		return "", false
	}
	notice = n.Notice()
	s.mu.Lock()
	defer s.mu.Unlock()
	isNew = notice != "" && notice != s.stats.notice
	s.stats.notice = notice
	return notice, isNew
}

func (s *source) lastNotice() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats.notice
}

const (
	firstBackOff = 10 * time.Second
	maxBackOff   = 10 * time.Minute
)

// ready reports whether the source may be read now: it is not while an earlier
// reading has not come back, nor soon after one that came back late.
func (s *source) ready(now int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats.hungSince == 0 && now >= s.stats.retryAt
}

// hangs notes that a reading did not come back in time.
func (s *source) hangs(in metric.Class, since int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.hungSince, s.stats.hungIn, s.stats.hung = since, in, true
	s.stats.Timeouts++
}

// returned notes that a reading came back after it had been given up. What it
// took is part of what the source took. The engine then leaves the source alone for
// as long as the reading took, at most ten seconds: on a machine that has no time every
// reading is seconds late. Each time that the source is late again, it waits twice as long.
func (s *source) returned(now int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	took := time.Duration(now - s.stats.hungSince)
	s.stats.Last = took
	s.stats.Total += took
	s.stats.Max = max(s.stats.Max, took)
	s.stats.ByClass[s.stats.hungIn] += took
	s.stats.hungSince = 0
	s.stats.backOff = min(max(2*s.stats.backOff, min(took, firstBackOff)), maxBackOff)
	s.stats.retryAt = now + int64(s.stats.backOff)
}

// came notes a reading that came back in time.
func (s *source) came(c metric.Class, took time.Duration, failed, partial bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.stats
	st.Reads++
	st.Last = took
	st.Total += took
	st.Max = max(st.Max, took)
	st.ByClass[c] += took
	st.backOff = 0
	if failed {
		st.Errors++
	}
	if partial {
		st.Partial++
	}
}

// abandoned reports in which class a reading went on after it had been given
// up, since this was asked the last time.
func (s *source) abandoned() (in metric.Class, was bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in, was = s.stats.hungIn, s.stats.hung
	s.stats.hung = s.stats.hungSince != 0
	return in, was
}

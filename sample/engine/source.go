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
	// turn is held (by sending) while the source is read or refreshed, and guards members. It is
	// a channel so that a class can give up waiting for it.
	turn    chan struct{}
	members [metric.NumClasses]*member
	groups  []*metric.Group
	alive   atomic.Int64 // awake clock: when a reading last read the clocks

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
	hung      bool  // at some time since the budget last looked
	retryAt   int64 // awake clock: not to be read earlier
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

// plan makes the frames for every class. The caller holds turn, or no other goroutine uses s
// yet.
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

// regroup refreshes the source and plans again if its groups were replaced; changed reports
// whether they also differ in content. The caller holds turn.
func (s *source) regroup(p *Plan) (changed bool, err error) {
	if err := s.Refresh(); err != nil {
		return false, err
	}
	// A source tells its groups apart by their addresses: it does not recognise the frames of a
	// group that was replaced by an equal one.
	old, now := s.groups, s.Groups()
	if slices.Equal(old, now) {
		return false, nil
	}
	s.plan(p)
	return !slices.EqualFunc(old, now, (*metric.Group).Same), nil
}

// read fills the source's frames for class c. It returns the blocks that were read, and a
// description of what could not be read in them. The caller holds turn.
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

// noticer is a source with a message about something that the user can change; empty for none.
type noticer interface{ Notice() string }

// heed stores the source's notice for the engine's Status; isNew reports whether it differs from
// the last. The caller holds turn.
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

// hangs records that a reading did not come back in time.
func (s *source) hangs(in metric.Class, since int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.hungSince, s.stats.hungIn, s.stats.hung = since, in, true
	s.stats.Timeouts++
}

// returned records that a reading came back after the class had given it up, and adds its time
// to the source's. The engine then leaves the source alone for as long as the reading took, at
// most ten seconds: on a machine that is short of time every reading is seconds late. Each time
// that the source is late again, the pause doubles.
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

// came records a reading that came back in time.
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

// abandoned reports in which class a reading went on after it had been given up, since the last
// call.
func (s *source) abandoned() (in metric.Class, was bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in, was = s.stats.hungIn, s.stats.hung
	s.stats.hung = s.stats.hungSince != 0
	return in, was
}

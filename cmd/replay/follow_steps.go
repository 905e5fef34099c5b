package main

import (
	"slices"
	"time"

	"tachograph/sample/metric"
	"tachograph/store/query"
)

// liveSteps shows each step when it is over: when every class that it is computed from has been
// read beyond its end.
type liveSteps struct {
	*liveSeries
	limit int64 // the end of the window; 0 for none
}

// keptStep is the longest step that is computed from the kept ticks. Longer steps are read from
// the archive, which then happens rarely.
const keptStep = int64(time.Minute)

// lead is the number of earlier steps that are read along with a step.
const lead = 2

// keepFor is how long ticks are kept to compute steps from; 0 if they are not needed for that.
func (l *liveSeries) keepFor() time.Duration {
	if l.request.Step == 0 || l.request.Step > keptStep {
		return 0
	}
	return time.Duration((lead + 2) * l.request.Step)
}

func newLiveSteps(l *liveSeries) (*liveSteps, error) {
	s := &liveSteps{liveSeries: l, limit: l.until}
	if l.request.From != 0 {
		l.request.Origin = l.request.From
	} else {
		// All commands that begin at no given time use the same steps.
		l.request.Origin, _ = l.request.StepAt(l.a.Now().UnixNano())
	}
	return s, s.a.Archive.Refresh()
}

// over reports whether the target's step that ends at edge is over.
func (s *liveSteps) over(t *liveTarget, edge int64) bool {
	repeated := false
	for _, class := range s.recent.Classes(t.names) {
		every := s.every(class)
		if every == 0 {
			continue
		}
		repeated = true
		if _, from, _, ok := s.recent.Last(class); ok && from >= edge {
			continue
		}
		// A class that has not been read for long is not waited for.
		if s.newest() < edge+2*every {
			return false
		}
	}
	return repeated || s.newest() >= edge
}

// newest is the wall clock of the newest reading of any class.
func (s *liveSteps) newest() (wall int64) {
	for class := range metric.NumClasses {
		if _, _, to, ok := s.recent.Last(class); ok {
			wall = max(wall, to)
		}
	}
	return wall
}

// every is how often a class is read; 0 if it is not read repeatedly.
func (s *liveSteps) every(class metric.Class) int64 {
	list := s.recent.Archives()
	if len(list) == 0 {
		return 0
	}
	if d := list[len(list)-1].Intervals[class]; d > 0 && d < 366*24*time.Hour {
		return int64(d)
	}
	return 0
}

// before shows the steps of the window that are over, and finds where each target goes on.
func (s *liveSteps) before() error {
	from := s.request.From
	if from == 0 {
		from = s.newest()
	}
	for _, t := range s.targets {
		s.start(t, from)
		if s.request.From == 0 {
			continue
		}
		last := int64(0) // where the last finished step ends
		for s.over(t, t.next) && (s.limit == 0 || t.next <= s.limit) {
			last = t.next
			_, t.next = s.request.StepAt(t.next + 1)
		}
		if last == 0 {
			continue
		}
		if err := s.steps(s.a.Archive, t, s.request.From, func(wall int64) bool { return wall <= last }); err != nil {
			return err
		}
	}
	return s.present()
}

// start makes the step that contains wall the target's current one. If a step ends exactly at
// wall, that is the next step.
func (s *liveSteps) start(t *liveTarget, wall int64) { _, t.next = s.request.StepAt(wall + 1) }

// steps prints those steps of the target, beginning at from, whose ends wants accepts.
func (s *liveSteps) steps(a query.Archive, t *liveTarget, from int64, wants func(wall int64) bool) error {
	r := s.request
	r.From, r.To, r.Origin = from, s.limit, from
	names := query.NewNames(a, r)
	return s.show(t, func(yield func(*query.Series, error) bool) {
		for one, err := range query.ReadTarget(a, t.Target, r) {
			if err == nil {
				one = only(one, wants)
			}
			if one != nil && len(one.Wall) == 0 {
				continue
			}
			if !yield(one, err) {
				return
			}
		}
	}, names)
}

// only returns s with just the values at the times that wants accepts.
func only(s *query.Series, wants func(wall int64) bool) *query.Series {
	part := *s
	part.Wall, part.Column = nil, metric.Column{Words: s.Words}
	for i, wall := range s.Wall {
		if !wants(wall) {
			continue
		}
		part.Wall = append(part.Wall, wall)
		part.Bits = append(part.Bits, s.Bits[i])
		if s.Miss != nil {
			part.Miss = append(part.Miss, s.Miss[i])
		}
	}
	return &part
}

// tick shows the steps that are over now.
func (s *liveSteps) tick(metric.Class) error {
	if err := s.found(); err != nil {
		return err
	}
	for _, t := range s.targets {
		if t.next == 0 { // The target is new.
			s.start(t, s.newest())
		}
		if s.newest() > t.next+1000*s.request.Step {
			s.start(t, s.newest()) // The machine slept for a long time.
		}
		for s.over(t, t.next) {
			if err := s.step(t); err != nil {
				return err
			}
			_, t.next = s.request.StepAt(t.next + 1)
		}
	}
	return nil
}

// step shows the target's current step.
func (s *liveSteps) step(t *liveTarget) error {
	edge := t.next
	begin, _ := s.request.StepAt(edge)
	from := begin
	for range lead {
		if from > s.request.Origin || s.request.From == 0 {
			from, _ = s.request.StepAt(from)
		}
	}
	a, err := s.archive(t, from)
	if err != nil {
		return err
	}
	return s.steps(a, t, from, func(wall int64) bool { return wall == edge || wall > begin && wall == s.limit })
}

// archive returns the kept ticks if they reach back far enough, or else the archives.
func (s *liveSteps) archive(t *liveTarget, from int64) (query.Archive, error) {
	if s.request.Step <= keptStep && !slices.ContainsFunc(s.recent.Classes(t.names), func(class metric.Class) bool {
		return s.every(class) != 0 && s.recent.Since(class) >= from
	}) {
		return s.recent, nil
	}
	return s.a.Archive, s.a.Archive.Refresh()
}

// end shows each target's current, unfinished step, if it begins before the limit.
func (s *liveSteps) end() error {
	for _, t := range s.targets {
		if begin, _ := s.request.StepAt(t.next); s.limit > begin {
			if err := s.step(t); err != nil {
				return err
			}
		}
	}
	return nil
}

package engine

import (
	"time"

	"tachograph/sample/metric"
)

// Status is the state of an engine, for people and for files.
type Status struct {
	Now, Started   metric.Stamp
	CPU            time.Duration // used since the process began
	CPUShare       float64       // cores, over the last ten seconds
	Resident       int64
	Values, Events uint64
	Errors         uint64
	ErrorsLastHour uint64
	Faults         []string
	Notices        []string
	Classes        []ClassStatus
	Sources        []SourceStatus
}

// ClassStatus is the Status of one class.
type ClassStatus struct {
	Class           string
	Interval        time.Duration // in force
	Planned         time.Duration // before stretching
	Burst           bool
	Sources         int
	Ticks, Overruns uint64
	Values          uint64
	Last            metric.Stamp
	Duration        time.Duration // of the last tick
	Total           time.Duration
	Late, MaxLate   time.Duration
}

// SourceStatus is the Status of one source.
type SourceStatus struct {
	Source                  string
	Reads, Errors, Timeouts uint64
	Partial                 uint64 // of Reads: only some of the instances
	Last, Max, Total        time.Duration
	Hung                    bool
}

// Status collects the engine's state.
func (e *Engine) Status() Status {
	now := e.clock.now()
	st := Status{
		Now: now, Started: e.started, Errors: e.faults.count(),
		ErrorsLastHour: e.faults.lastHour(now), Faults: e.faults.current(),
	}
	if e.opt.Usage != nil {
		u := e.opt.Usage()
		st.CPU, st.Resident = u.User+u.System, u.Resident
	}
	e.budget.mu.Lock()
	st.CPUShare = e.budget.share
	if e.budget.at == 0 && now.Awake > e.started.Awake {
		// Before the first look, the mean since the start.
		st.CPUShare = float64(st.CPU) / float64(now.Awake-e.started.Awake)
	}
	e.budget.mu.Unlock()
	e.storing.Lock()
	st.Values, st.Events = e.values, e.events
	e.storing.Unlock()
	for _, id := range read {
		st.Classes = append(st.Classes, e.classes[id].status())
	}
	for _, s := range e.sources {
		st.Sources = append(st.Sources, s.status())
		if n := s.lastNotice(); n != "" {
			st.Notices = append(st.Notices, n)
		}
	}
	return st
}

func (c *class) status() ClassStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	return ClassStatus{
		Class: c.id.String(), Interval: c.effective(), Planned: c.interval, Burst: c.burst != 0, Sources: len(c.sources),
		Ticks: c.stats.Ticks, Overruns: c.stats.Overruns, Values: c.stats.Values, Last: c.stats.Last,
		Duration: c.stats.Duration, Total: c.stats.TotalDuration, Late: c.stats.Late, MaxLate: c.stats.MaxLate,
	}
}

func (s *source) status() SourceStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return SourceStatus{
		Source: s.name, Reads: s.stats.Reads, Errors: s.stats.Errors, Timeouts: s.stats.Timeouts, Partial: s.stats.Partial,
		Last: s.stats.Last, Max: s.stats.Max, Total: s.stats.Total, Hung: s.stats.hungSince != 0,
	}
}

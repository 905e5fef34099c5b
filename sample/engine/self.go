package engine

import (
	"time"

	"tachograph/sample"
	"tachograph/sample/metric"
)

// self is the source of the recorder's metrics about itself.
type self struct {
	e        *Engine
	groups   []*metric.Group
	classes  []*metric.Instance // parallel to read
	sources  []*metric.Instance // parallel to e.sources
	runtime  *Runtime
	recorder *metric.Group
	class    *metric.Group
	source   *metric.Group
	window   *metric.Group
}

func newSelf(e *Engine) *self {
	s := &self{e: e, runtime: NewRuntime()}
	s.groups = SelfGroups()
	s.recorder, s.class, s.source, s.window = s.groups[0], s.groups[1], s.groups[2], s.groups[3]
	for i, id := range read {
		s.classes = append(s.classes, &metric.Instance{ID: uint64(i + 1), Key: id.String(), Name: id.String()})
	}
	return s
}

func (s *self) Name() string            { return "recorder" }
func (s *self) Groups() []*metric.Group { return s.groups }
func (s *self) Refresh() error          { return nil }
func (s *self) Close() error            { return nil }

func (s *self) Read(ctx *sample.Context, frames []*sample.Frame) error {
	for _, f := range frames {
		f.Reset(ctx.Now())
		switch f.Full() {
		case s.recorder:
			s.readRecorder(f)
		case s.class:
			s.readClasses(f)
		case s.source:
			s.readSources(f)
		case s.window:
			s.readWindow(f)
		}
	}
	return nil
}

func (s *self) readRecorder(f *sample.Frame) {
	row := f.Row(nil)
	s.runtime.Fill(f, row, s.e.opt.Usage)
	s.e.storing.Lock()
	values, events := s.e.values, s.e.events
	s.e.storing.Unlock()
	f.SetUint(row, selfValues, values)
	f.SetUint(row, selfEvents, events)
	FillErrors(f, row, s.e.faults.count())
	if s.e.opt.Written != nil {
		f.SetUint(row, selfBytes, s.e.opt.Written())
	}
	f.MissRow(row, metric.Unsupported)
}

func (s *self) readWindow(f *sample.Frame) {
	c := s.e.classes[metric.Fast]
	c.mu.Lock()
	interval := c.effective()
	c.mu.Unlock()
	row := f.Row(nil)
	if interval != 0 {
		f.SetUint(row, 0, uint64(interval/time.Millisecond))
	}
	f.MissRow(row, metric.Unsupported)
}

func (s *self) readClasses(f *sample.Frame) {
	for i, id := range read {
		c := s.e.classes[id]
		c.mu.Lock()
		st, interval, running := c.stats, c.effective(), len(c.sources) > 0 && c.interval != 0
		c.mu.Unlock()
		if !running {
			continue
		}
		row := f.Row(s.classes[i])
		f.SetUint(row, classTicks, st.Ticks)
		f.SetUint(row, classOverruns, st.Overruns)
		f.SetUint(row, classValues, st.Values)
		f.SetUint(row, classDuration, uint64(st.TotalDuration))
		f.SetUint(row, classLateness, uint64(st.TotalLate))
		f.SetUint(row, classWorst, uint64(st.MaxLate))
		if interval != metric.Once {
			f.SetUint(row, classInterval, uint64(interval/time.Millisecond))
		}
		f.MissRow(row, metric.Unsupported)
	}
}

func (s *self) readSources(f *sample.Frame) {
	for i := len(s.sources); i < len(s.e.sources); i++ {
		name := s.e.sources[i].name
		s.sources = append(s.sources, &metric.Instance{ID: uint64(i + 1), Key: name, Name: name})
	}
	for i, src := range s.e.sources {
		src.mu.Lock()
		st := src.stats
		src.mu.Unlock()
		FillSource(f, f.Row(s.sources[i]), &SourceStatus{
			Reads: st.Reads, Errors: st.Errors, Timeouts: st.Timeouts, Total: st.Total, Partial: st.Partial,
		})
	}
}

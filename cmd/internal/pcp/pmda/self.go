package pmda

import (
	"tachograph/sample"
	"tachograph/sample/demand"
	"tachograph/sample/engine"
	"tachograph/sample/metric"
)

// self has the metrics of this program about itself: those of the recorder, as far as this
// program does what a recorder does.
type self struct {
	groups  []*metric.Group
	runtime *engine.Runtime
	usage   func() engine.Usage
	status  func() []demand.Status
	sources []*metric.Instance
}

// notHere are the recorder's metrics about itself that have no meaning here, with the reason.
var notHere = map[string]string{
	"recorder.values": noArchive, "recorder.bytes": noArchive, "recorder.events": noArchive,
	"sample_window_ms": noClasses,
}

const (
	noArchive = "no archive is written here: values are read when they are asked for"
	noClasses = "nothing is read by the clock here: values are read when they are asked for"
)

func newSelf(usage func() engine.Usage) *self {
	s := &self{groups: engine.SelfGroups(), runtime: engine.NewRuntime(), usage: usage}
	for _, g := range s.groups {
		for _, d := range g.Metrics {
			if d.Unsupported = notHere[d.Name]; g.Indom == "class" {
				d.Unsupported = noClasses
			}
		}
	}
	return s
}

func (s *self) Name() string            { return "recorder" }
func (s *self) Groups() []*metric.Group { return s.groups }
func (s *self) Refresh() error          { return nil }
func (s *self) Close() error            { return nil }

func (s *self) Read(c *sample.Context, frames []*sample.Frame) error {
	status := s.status()
	for _, f := range frames {
		f.Reset(c.Now())
		if f.Full().Indom == "source" {
			s.readSources(f, status)
			continue
		}
		row, errors := f.Row(nil), uint64(0)
		for i := range status {
			errors += status[i].Errors + status[i].Timeouts
		}
		s.runtime.Fill(f, row, s.usage)
		engine.FillErrors(f, row, errors)
		f.MissRow(row, metric.Unsupported)
	}
	return nil
}

func (s *self) readSources(f *sample.Frame, status []demand.Status) {
	for i := range status {
		st := &status[i]
		if i == len(s.sources) {
			s.sources = append(s.sources, &metric.Instance{ID: uint64(i + 1), Key: st.Source, Name: st.Source})
		}
		engine.FillSource(f, f.Row(s.sources[i]), &engine.SourceStatus{
			Reads: st.Reads, Errors: st.Errors, Timeouts: st.Timeouts, Total: st.Total, Partial: st.Partial,
		})
	}
}

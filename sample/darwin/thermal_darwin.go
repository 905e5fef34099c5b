package darwin

import (
	"tachograph/sample"
	"tachograph/sample/catalog"
	"tachograph/sample/darwin/sys"
	"tachograph/sample/metric"
)

const thermalNotification = "com.apple.system.thermalpressurelevel"

const (
	colLevel = iota
	colWord
)

// thermalSource reads the level of thermal pressure, which macOS keeps as the state of a
// notification.
type thermalSource struct {
	group      *metric.Group
	registered bool
	pressure   sys.Notification
}

func newThermalSource() *thermalSource { return &thermalSource{} }

func (s *thermalSource) Name() string            { return "thermal" }
func (s *thermalSource) Groups() []*metric.Group { return []*metric.Group{s.group} }

func (s *thermalSource) Close() error {
	if !s.registered {
		return nil
	}
	s.registered = false
	return s.pressure.Close()
}

func (s *thermalSource) Refresh() error {
	s.group = catalog.Group(catalog.Darwin, "thermal pressure", "thermal.pressure.level", "thermal.pressure.state")
	if s.registered {
		return nil
	}
	n, err := sys.Notify(thermalNotification)
	if err != nil {
		unsupported(s.group, err.Error())
		return nil
	}
	s.pressure, s.registered = n, true
	return nil
}

// unknownLevel is the reason for the missing word of an unknown level.
var unknownLevel = metric.ReasonFor("macOS has no word for this level")

func (s *thermalSource) Read(c *sample.Context, frames []*sample.Frame) error {
	at := c.Now()
	level, err := s.pressure.State()
	if err != nil {
		missAll(frames, at, reasonFor(err))
		return nil
	}
	for _, f := range frames {
		f.Reset(at)
		row := f.Row(nil)
		f.SetUint(row, colLevel, level)
		if level < uint64(len(pressureWords)) {
			f.SetString(row, colWord, pressureWords[level])
		} else {
			f.SetMissing(row, colWord, unknownLevel)
		}
	}
	return nil
}

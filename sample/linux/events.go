package linux

import (
	"tachograph/sample"
	"tachograph/sample/metric"
)

// events reports instances that come and go while the recorder runs. Instances that exist at its
// start give no event.
type events struct {
	kind  metric.EventKind
	indom string
	// at is the instant of the reading that shows what came and went: its values are the first
	// after the event.
	at metric.Stamp
}

func (e events) came(c *sample.Context, started bool, in *metric.Instance, text string) {
	if started {
		e.emit(c, in, text)
	}
}

func (e events) went(c *sample.Context, in *metric.Instance, text string) { e.emit(c, in, text) }

func (e events) emit(c *sample.Context, in *metric.Instance, text string) {
	if c.Emit != nil {
		c.Emit(metric.Event{At: e.at, Kind: e.kind, Text: text, Indom: e.indom, Key: in.Key, Labels: in.Labels})
	}
}

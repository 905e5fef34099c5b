package proc

import "tachograph/sample/metric"

// What one half of the oracle tests tells the other.
type dumpedRound struct {
	At        float64 // scenario time
	Rows      map[string]map[string]string
	Instances map[string]*metric.Instance
	Events    []dumpedEvent
}

type dumpedEvent struct {
	metric.Event
	Time float64 // scenario time
}

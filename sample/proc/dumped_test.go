package proc

import (
	"time"

	"tachograph/sample/metric"
)

// bootedBefore is how long the simulated Mac has been awake at the beginning of
// the scenario, in seconds.
const bootedBefore = 183600

// clockStep is how far apart the moments are that the program lives through.
const clockStep = 100 * time.Millisecond

// What one half of the oracle tests tells the other.
type dumpedRound struct {
	Took      float64 // scenario seconds that the sources took
	Rows      map[string]map[string]string
	Instances map[string]*metric.Instance
	Events    []dumpedEvent
}

type dumpedEvent struct {
	metric.Event
	Time float64 // scenario time
}

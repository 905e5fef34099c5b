package proc

import (
	"time"

	"tachograph/sample/metric"
)

// bootedBefore is how long the simulated Mac has been awake when the scenario begins, in
// seconds.
const bootedBefore = 183600

// clockStep is the time between the moments at which the program reads.
const clockStep = 100 * time.Millisecond

// dumpedRound is the output of the darwin half of the oracle tests for one round.
type dumpedRound struct {
	Took      float64 // scenario seconds that reading took
	Rows      map[string]map[string]string
	Instances map[string]*metric.Instance
	Events    []dumpedEvent
}

type dumpedEvent struct {
	metric.Event
	Time float64 // scenario time
}

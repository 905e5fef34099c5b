package sample

import "tachograph/sample/metric"

// A Sink receives what sources read. Calls to its methods never overlap.
type Sink interface {
	// Append receives a tick. The caller refills the blocks as soon as Append has returned, so a
	// sink that keeps one must Clone it. The instances never change.
	Append(*metric.Tick) error
	// Event receives events in order; the slice is the caller's.
	Event(...metric.Event) error
	// Describe announces new metrics and metrics whose description changed.
	Describe([]*metric.Desc) error
}

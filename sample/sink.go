package sample

import "tachograph/sample/metric"

// A Sink takes what sources gave. Its methods are never called at the same
// time.
type Sink interface {
	// Append takes a tick. Its blocks are filled again as soon as Append has
	// returned: who keeps one keeps a Clone. Its instances never change.
	Append(*metric.Tick) error
	// Event takes events, in their order; the slice is the caller's.
	Event(...metric.Event) error
	// Describe announces metrics that are new, or described differently.
	Describe([]*metric.Desc) error
}

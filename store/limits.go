package store

import (
	"tachograph/sample/metric"
)

// Limits narrow what an Archive shows. The zero Limits narrow nothing.
type Limits struct {
	// Archives are the archives to show; nil: all.
	Archives []*ArchiveInfo
	// Near makes a search for the last value before a window short: it covers two and a half
	// intervals before the window or, where a metric is read rarely, the whole archive.
	// Without it the search goes back to the beginning of the boot.
	Near bool
	// UpTo hides what was recorded after a mark; nil: nothing.
	UpTo *Mark
}

// A Mark is a place in a recording.
type Mark struct {
	// Archive is the ID of the archive. Later archives of its host are after the mark.
	Archive string
	// Read is, for each class, the continuous clock of its last reading before the mark.
	Read [metric.NumClasses]int64
	// Churn and Events are how many events of processes, and how many others, the archive
	// has before the mark.
	Churn, Events uint64
}

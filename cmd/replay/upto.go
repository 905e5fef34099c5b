package main

import (
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

// clocks are continuous clocks by class. The clock of a tick differs from those of the groups
// read for it, because groups are read one after the other.
type clocks [metric.NumClasses]int64

// upTo returns an archive without the ticks and events that the follower delivers.
func (f *following) upTo(a query.Archive) query.Archive {
	mark := &store.Mark{Archive: f.begin.Archive, Churn: f.begin.Churn, Events: f.begin.Events}
	for class := range mark.Read {
		mark.Read[class] = max(f.begin.Ticks[class], f.read[class])
	}
	return a.View(store.Limits{UpTo: mark})
}

package main

import (
	"tachograph/store"
	"tachograph/store/query"
)

// upTo returns an archive without the ticks and events that the follower delivers.
func (f *following) upTo(a query.Archive) query.Archive {
	mark := &store.Mark{Archive: f.begin.Archive, Churn: f.begin.Churn, Events: f.begin.Events}
	for class := range mark.Read {
		mark.Read[class] = max(f.begin.Ticks[class], f.read[class])
	}
	return a.View(store.Limits{UpTo: mark})
}

package archive

import (
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
)

// An EventBatch is a batch of an archive's events, unpacked when needed.
type EventBatch struct {
	n      uint32
	Head   chunk.EventHead
	Churn  bool           // only events of processes coming and going
	batch  []byte         // as stored
	memory []metric.Event // of batches that are not in the file, or are unpacked already
	failed error          // why the batch cannot be unpacked
}

// Has reports whether the batch may hold events of one of the kinds.
func (e *EventBatch) Has(kinds []metric.EventKind) bool {
	if len(kinds) == 0 || e.batch == nil {
		return true
	}
	for _, k := range kinds {
		if slices.Contains(e.Head.Kinds, k) {
			return true
		}
	}
	return false
}

// keepEvents is how many events of an archive stay unpacked: a question may read them several
// times.
const keepEvents = 1 << 15

// Events returns the batch's events.
func (e *EventBatch) Events(a *File) ([]metric.Event, error) {
	if e.memory != nil || e.failed != nil {
		return e.memory, e.failed
	}
	events, err := chunk.ParseEvents(e.batch)
	if e.failed = err; err == nil && a.keptEvents+len(events) <= keepEvents {
		a.keptEvents += len(events)
		e.memory = events
	}
	return events, err
}

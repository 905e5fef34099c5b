package archive

import "tachograph/sample/metric"

// An Item is one thing that a reader finds when it goes through a recording in the order of
// time: a tick, an event, a loss, or the end of what is recorded so far.
type Item struct {
	// Archive is the archive of the item, as it was when the reader came to it. A new
	// pointer says that another archive begins. It never changes, though the recorder renames
	// the file when it finishes the archive. A Drain reads one archive and leaves it out.
	Archive *Info
	// Tick is valid until the next item: Clone what is kept. A group, and the descriptions of
	// its metrics, stay the same pointers as long as they do not change. An instance is the
	// same pointer throughout a boot, as long as it is referenced; its Rev grows when its name
	// changes.
	Tick  *metric.Tick
	Event *metric.Event
	// Lost says that something was recorded and cannot be read.
	Lost error
	// Standing says that Tick has the standing values at the beginning: the last block of each
	// group before it, with the time at which the recorder read that block.
	Standing bool
	// Present says that the follower has delivered everything that was recorded so far. It
	// comes once each time the follower catches up.
	Present bool
}

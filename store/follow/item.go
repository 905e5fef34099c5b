package follow

import (
	"tachograph/sample/metric"
	"tachograph/store/archive"
)

// An Item is what a Follower delivers at a time: a tick, an event, a loss, or
// that there is no more at present.
type Item struct {
	// Archive is what the item belongs to, as it was when the Follower came to it;
	// another pointer than before says that another archive begins. It never changes,
	// though the file is renamed when the archive is finished.
	Archive *archive.Info
	// Tick is valid until the next call of Next: Clone what is kept. A group, and the
	// descriptions of its metrics, stay the same pointers as long as they say the
	// same. An instance is the same pointer throughout a boot, as long as anybody
	// keeps it; its Rev grows when it is called otherwise.
	Tick  *metric.Tick
	Event *metric.Event
	// Lost says that something was recorded and cannot be read.
	Lost error
	// Past says that the item is how things stood at the beginning.
	Past bool
	// Present says that all there is by now has been delivered. It is told once each
	// time that this becomes so.
	Present bool
}

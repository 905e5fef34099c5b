package archive

import "tachograph/sample/metric"

// An Item is what readers of a recording from its beginning to its end, and on, take out
// at a time: a tick, an event, a loss, or that there is no more at present.
type Item struct {
	// Archive is what the item belongs to, as it was when the reader came to it; another
	// pointer than before says that another archive begins. It never changes, though the
	// file is renamed when the archive is finished. A Drain, which is of one archive,
	// leaves it out.
	Archive *Info
	// Tick is valid until the next item: Clone what is kept. A group, and the descriptions
	// of its metrics, stay the same pointers as long as they say the same. An instance is
	// the same pointer throughout a boot, as long as anybody keeps it; its Rev grows when
	// it is called otherwise.
	Tick  *metric.Tick
	Event *metric.Event
	// Lost says that something was recorded and cannot be read.
	Lost error
	// Standing says that Tick is how things stood at the beginning: of each group what was
	// read last before it. Its blocks have the time of that.
	Standing bool
	// Present says that all there is by now has been delivered. It is told once each time
	// that this becomes so.
	Present bool
}

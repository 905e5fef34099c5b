package systemd

import (
	"maps"
	"slices"
)

// Mark is how far a journal was read. It is small, and is kept between runs.
type Mark struct {
	Streams []StreamMark `json:"streams"`
}

// StreamMark is the last entry that was read of files that continue each other.
type StreamMark struct {
	Stream    string `json:"stream"` // "log/system", "run/system", "log/user-1000"
	Sequence  ID     `json:"sequence"`
	Seq       uint64 `json:"seq"`
	Received  uint64 `json:"received"`
	Boot      ID     `json:"boot"`
	Monotonic uint64 `json:"monotonic"`
}

// maxStreams is how many streams are followed: the system's, and those of the users who were
// active last.
const maxStreams = 64

// Mark is how far has been read.
func (d *Directory) Mark() Mark {
	var m Mark
	for _, s := range d.all() {
		if s.begun {
			m.Streams = append(m.Streams, s.mark)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.marks)) {
		if len(m.Streams) < maxStreams {
			m.Streams = append(m.Streams, d.marks[name])
		}
	}
	return m
}

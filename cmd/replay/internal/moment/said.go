package moment

import (
	"fmt"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store"
)

const (
	// sameMark is how far apart what the system said about one thing may be to share a mark.
	sameMark = int64(60e9)
	// mostSaid bounds how many marks there are of each kind of event that the system wrote down,
	// so that a disk that reports errors for days leaves room for others.
	mostSaid = mostMarks / 16
)

// saying makes marks of what the system said: the most telling words about each death, and one mark
// of lines of one kind about one thing within a minute.
type saying struct {
	last map[string]*said
	kind map[metric.EventKind]int
}

type said struct {
	mark int   // its index
	at   int64 // the time of the first event
	more int   // events that have no mark of their own
}

func newSaying() *saying {
	return &saying{last: make(map[string]*said), kind: make(map[metric.EventKind]int)}
}

// add adds the mark of an event to list, unless one that is there says it.
func (s *saying) add(list []Mark, e *store.Event, mark func() Mark) []Mark {
	topic := topicOf(e)
	l := s.last[topic]
	if l != nil && e.At.Wall-l.at <= sameMark && !ofDeath(e) {
		l.more++
		return list
	}
	if s.kind[e.Kind]++; s.kind[e.Kind] > mostSaid {
		return list
	}
	if ofDeath(e) {
		return append(list, mark())
	}
	s.close(list, l)
	s.last[topic] = &said{mark: len(list), at: e.At.Wall}
	return append(list, mark())
}

// count adds to the marks that are still open how many events they are for.
func (s *saying) count(list []Mark) {
	for _, l := range s.last {
		s.close(list, l)
	}
}

func (s *saying) close(list []Mark, l *said) {
	if l != nil && l.more > 0 {
		list[l.mark].Text += fmt.Sprintf(" (and %d more like it)", l.more)
	}
}

// ofDeath reports whether an event is about the end of a process.
func ofDeath(e *store.Event) bool {
	return slices.Contains([]metric.EventKind{metric.EventCrash, metric.EventKill}, e.Kind) && (e.Key != "" || e.Label("pid") != "")
}

// topicOf returns what an event is about.
func topicOf(e *store.Event) string {
	topic := string(e.Kind)
	for _, l := range []string{"source", "rule", "topic", "device", "unit", "name"} {
		topic += "\x00" + e.Label(l)
	}
	return topic
}

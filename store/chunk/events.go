package chunk

import (
	"encoding/binary"
	"errors"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/varint"
)

// A batch of events has the span of their wall clocks, their number and kinds, and then,
// packed, a dictionary of the strings they use and the events in the order they were recorded.

// Limits on a batch of events. A recorder splits larger batches.
const (
	// MaxEvents is the most events that a batch may have.
	MaxEvents  = 1 << 18
	maxLabels  = 1 << 12
	maxKinds   = 1 << 12
	leastEvent = 8 // bytes, unpacked: three clocks, four texts, the number of labels

	// However short a batch is, it may hold eventsFree events, and eventsPerByte more for each
	// of its bytes.
	eventsFree    = 1 << 13
	eventsPerByte = 8
	// The same for the labels of all its events, at most mostLabels.
	labelsFree    = 1 << 17
	labelsPerByte = 16
	mostLabels    = 1 << 22
)

var errEvents = errors.New("a batch of events contradicts itself")

// MarshalEvents encodes events. Later versions may append fields to the batch.
func MarshalEvents(events []metric.Event) []byte {
	var from, to int64
	for i := range events {
		w := events[i].At.Wall
		if i == 0 {
			from, to = w, w
		}
		from, to = min(from, w), max(to, w)
	}
	out := binary.AppendVarint(nil, from)
	out = binary.AppendVarint(out, to-from)
	out = binary.AppendUvarint(out, uint64(len(events)))
	var kinds []metric.EventKind
	for i := range events {
		if !slices.Contains(kinds, events[i].Kind) {
			kinds = append(kinds, events[i].Kind)
		}
	}
	out = binary.AppendUvarint(out, uint64(len(kinds)))
	for _, k := range kinds {
		out = binary.AppendUvarint(out, uint64(len(k)))
		out = append(out, k...)
	}
	var body []byte
	var words []string
	index := make(map[string]uint64)
	str := func(s string) {
		n, ok := index[s]
		if !ok {
			n = uint64(len(words))
			index[s] = n
			words = append(words, s)
		}
		body = binary.AppendUvarint(body, n)
	}
	var prev metric.Stamp
	for i := range events {
		e := &events[i]
		body = binary.AppendVarint(body, e.At.Wall-prev.Wall)
		body = binary.AppendVarint(body, e.At.Cont-prev.Cont-(e.At.Wall-prev.Wall))
		body = binary.AppendVarint(body, e.At.Awake-prev.Awake-(e.At.Cont-prev.Cont))
		prev = e.At
		str(string(e.Kind))
		str(e.Text)
		str(e.Indom)
		str(e.Key)
		body = binary.AppendUvarint(body, uint64(len(e.Labels)))
		for _, l := range e.Labels {
			str(l.Name)
			str(l.Value)
		}
	}
	raw := binary.AppendUvarint(nil, uint64(len(words)))
	for _, w := range words {
		raw = binary.AppendUvarint(raw, uint64(len(w)))
		raw = append(raw, w...)
	}
	return append(out, Pack(append(raw, body...))...)
}

// An EventHead is the part of a batch of events that can be read without unpacking it.
type EventHead struct {
	From, To int64 // span of the wall clocks
	Count    uint64
	Kinds    []metric.EventKind

	packed []byte
}

// ParseEventHead reads the head of a batch.
func ParseEventHead(b []byte) (EventHead, error) {
	r := varint.Reader{In: b}
	var h EventHead
	h.From = r.Varint()
	h.To = h.From + r.Varint()
	h.Count = r.Uvarint()
	for n := r.Count(min(len(r.In), maxKinds)); n > 0 && !r.Bad; n-- {
		h.Kinds = append(h.Kinds, metric.EventKind(r.String()))
	}
	if r.Bad || !sensible(h.From, h.To) {
		return EventHead{}, errEvents
	}
	h.packed = r.In
	return h, nil
}

// ParseEvents is the inverse of MarshalEvents.
func ParseEvents(b []byte) ([]metric.Event, error) {
	h, err := ParseEventHead(b)
	if err != nil {
		return nil, err
	}
	raw, err := Unpack(h.packed, maxEvents)
	if err != nil {
		return nil, err
	}
	r := varint.Reader{In: raw}
	words := make([]string, r.Count(min(len(raw), maxTexts)))
	for i := 0; i < len(words) && !r.Bad; i++ {
		words[i] = r.String()
	}
	str := func() string {
		if i := r.Count(len(words) - 1); !r.Bad {
			return words[i]
		}
		return ""
	}
	if r.Bad || h.Count > uint64(len(r.In)/leastEvent) || h.Count > MaxEvents || h.Count > uint64(eventsFree+len(b)*eventsPerByte) {
		return nil, errEvents
	}
	events := make([]metric.Event, h.Count)
	labels := min(labelsFree+len(b)*labelsPerByte, mostLabels)
	var prev metric.Stamp
	for i := 0; i < len(events) && !r.Bad; i++ {
		e := &events[i]
		wall := r.Varint()
		cont := r.Varint() + wall
		awake := r.Varint() + cont
		e.At = metric.Stamp{Wall: prev.Wall + wall, Cont: prev.Cont + cont, Awake: prev.Awake + awake}
		if e.At.Wall < h.From || e.At.Wall > h.To {
			return nil, errEvents // limits are checked against the head's clocks
		}
		prev = e.At
		e.Kind = metric.EventKind(str())
		e.Text, e.Indom, e.Key = str(), str(), str()
		k := r.Count(min(len(r.In)/2, maxLabels, labels))
		labels -= k
		for ; k > 0 && !r.Bad; k-- {
			e.Labels = append(e.Labels, metric.Label{Name: str(), Value: str()})
		}
	}
	if r.Bad {
		return nil, errEvents
	}
	return events, nil
}

package chunk

import (
	"encoding/binary"
	"errors"

	"tachograph/sample/metric"
)

// A batch of events is the span of their wall clocks and their number, and
// then, packed, a dictionary of the strings they use and the events in the
// order they were recorded.

var errEvents = errors.New("chunk: a batch of events contradicts itself")

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

// EventSpan is the span of wall clocks of a batch, without decoding it.
func EventSpan(b []byte) (from, to int64, err error) {
	r := reader{in: b}
	from = r.varint()
	to = from + r.varint()
	if r.bad {
		return 0, 0, errEvents
	}
	return from, to, nil
}

// ParseEvents is the inverse of MarshalEvents.
func ParseEvents(b []byte) ([]metric.Event, error) {
	r := reader{in: b}
	r.varint()
	r.varint()
	n := r.uvarint()
	if r.bad {
		return nil, errEvents
	}
	raw, err := Unpack(r.in)
	if err != nil {
		return nil, err
	}
	r = reader{in: raw}
	words := make([]string, r.count(len(raw)))
	for i := range words {
		words[i] = r.string()
	}
	str := func() string {
		if i := r.count(len(words) - 1); !r.bad {
			return words[i]
		}
		return ""
	}
	if n > uint64(len(r.in)) {
		return nil, errEvents
	}
	events := make([]metric.Event, n)
	var prev metric.Stamp
	for i := range events {
		e := &events[i]
		wall := r.varint()
		cont := r.varint() + wall
		awake := r.varint() + cont
		e.At = metric.Stamp{Wall: prev.Wall + wall, Cont: prev.Cont + cont, Awake: prev.Awake + awake}
		prev = e.At
		e.Kind = metric.EventKind(str())
		e.Text, e.Indom, e.Key = str(), str(), str()
		for k := r.count(len(r.in)); k > 0 && !r.bad; k-- {
			e.Labels = append(e.Labels, metric.Label{Name: str(), Value: str()})
		}
	}
	if r.bad {
		return nil, errEvents
	}
	return events, nil
}

package gather

import (
	"encoding/binary"
	"errors"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
	"tachograph/store/varint"
)

// A copy of a generation of the journal holds what an archive would: chunks with
// their entries for the index, and batches of events.

// eventsTogether is how many events a batch has.
const eventsTogether = 4096

// However short its batches are, a copy has so many events, and so many for each
// byte: short ones could say very much.
const (
	eventsFree    = 1 << 16
	eventsPerByte = 8
)

// AppendCopy appends the copy of what was recorded between two turns of a
// journal to out.
func AppendCopy(out []byte, chunks []*chunk.Sealed, events *Events) []byte {
	out = binary.AppendUvarint(out, uint64(len(chunks)))
	for _, s := range chunks {
		entry := s.Info.Marshal()
		out = binary.AppendUvarint(out, uint64(len(entry)))
		out = append(out, entry...)
		out = append(out, s.Data...)
	}
	var batch []metric.Event
	put := func() {
		if len(batch) > 0 {
			b := chunk.MarshalEvents(batch)
			out = binary.AppendUvarint(out, uint64(len(b)))
			out = append(out, b...)
		}
		batch = batch[:0]
	}
	for e := range events.All() {
		if batch = append(batch, e); len(batch) == eventsTogether {
			put()
		}
	}
	put()
	return out
}

var errCopy = errors.New("a copy of a part of the journal contradicts itself")

// ParseCopy is the inverse of AppendCopy. The chunks share the memory of b; what
// stands in them is not looked at.
func ParseCopy(b []byte) (chunks []*chunk.Sealed, events []metric.Event, err error) {
	r := varint.Reader{In: b}
	for n := r.Uvarint(); n > 0; n-- {
		in, err := chunk.ParseInfo(r.Sized())
		if err != nil {
			return nil, nil, errCopy
		}
		s := &chunk.Sealed{Info: in, Data: r.Bytes(int(in.Size))}
		if r.Bad || chunk.Checksum(s.Data) != in.Sum {
			return nil, nil, errCopy
		}
		chunks = append(chunks, s)
	}
	if r.Bad {
		return nil, nil, errCopy
	}
	most := eventsFree + len(r.In)*eventsPerByte
	for len(r.In) > 0 {
		more, err := chunk.ParseEvents(r.Sized())
		if events = append(events, more...); err != nil || r.Bad || len(events) > most {
			return nil, nil, errCopy
		}
	}
	return chunks, events, nil
}

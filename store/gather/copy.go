package gather

import (
	"encoding/binary"
	"errors"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
	"tachograph/store/varint"
)

// A copy of a generation of the journal holds what an archive would hold: chunks with their
// index entries, and batches of events.

// eventsTogether is how many events a batch holds.
const eventsTogether = 4096

// A copy may hold at most this many events, plus this many for each byte. The limit is needed
// because even a short batch could expand to very many events.
const (
	eventsFree    = 1 << 16
	eventsPerByte = 8
)

// AppendCopy appends to out the copy of what was recorded between two turns of a journal.
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

// ParseCopy is the inverse of AppendCopy. The chunks share the memory of b. ParseCopy verifies
// their checksums but does not decode them.
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

package gather

import (
	"encoding/binary"
	"errors"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
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
	cut := func(n uint64) (part []byte) {
		if n > uint64(len(b)) {
			err = errCopy
			return nil
		}
		part, b = b[:n], b[n:]
		return part
	}
	number := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			err = errCopy
			return 0
		}
		b = b[n:]
		return v
	}
	for n := number(); n > 0 && err == nil; n-- {
		in, e := chunk.ParseInfo(cut(number()))
		if e != nil {
			return nil, nil, errCopy
		}
		s := &chunk.Sealed{Info: in, Data: cut(uint64(in.Size))}
		if err == nil && chunk.Checksum(s.Data) != in.Sum {
			err = errCopy
		}
		chunks = append(chunks, s)
	}
	most := eventsFree + len(b)*eventsPerByte
	for err == nil && len(b) > 0 {
		more, e := chunk.ParseEvents(cut(number()))
		if events = append(events, more...); e != nil || len(events) > most {
			return nil, nil, errCopy
		}
	}
	if err != nil {
		return nil, nil, err
	}
	return chunks, events, nil
}

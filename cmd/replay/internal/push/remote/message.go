package remote

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/klauspost/compress/s2"
	"google.golang.org/protobuf/encoding/protowire"

	"tachograph/cmd/replay/internal/fields"
	"tachograph/cmd/replay/internal/naming"
)

// The most that a request may hold.
const (
	mostRequest  = 1 << 20 // bytes, unpacked
	mostQueries  = 32
	mostMatchers = 64
	mostText     = 4 << 10 // bytes of a matcher's value
)

// A query selects the series that all matchers accept, over a span of time.
type query struct {
	start, end int64 // milliseconds since 1970, both inclusive
	matchers   []matcher
}

// request is a ReadRequest.
type request struct {
	queries []query
	chunks  bool // the client accepts STREAMED_XOR_CHUNKS, and prefers them
}

// unpack undoes the compression of a request.
func unpack(body []byte) ([]byte, error) {
	n, err := s2.DecodedLen(body)
	if err != nil {
		return nil, errors.New("the request is not compressed with snappy")
	}
	if n > mostRequest {
		return nil, fmt.Errorf("a request of %d bytes is too long", n)
	}
	b, err := s2.Decode(make([]byte, n), body)
	if err != nil {
		return nil, errors.New("the request is not compressed with snappy")
	}
	return b, nil
}

func parseRequest(b []byte) (*request, error) {
	r := &request{}
	first := true
	accept := func(kind uint64) {
		if first {
			r.chunks, first = kind == 1, false
		}
	}
	err := fields.Each(b, func(field protowire.Number, bytes []byte, number uint64) error {
		switch {
		case field == 1 && bytes != nil:
			if len(r.queries) == mostQueries {
				return fmt.Errorf("more than %d queries", mostQueries)
			}
			q, err := parseQuery(bytes)
			r.queries = append(r.queries, q)
			return err
		case field == 2 && bytes != nil: // packed
			for len(bytes) > 0 {
				v, n := protowire.ConsumeVarint(bytes)
				if n < 0 {
					return fields.ErrMalformed
				}
				bytes = bytes[n:]
				accept(v)
			}
		case field == 2:
			accept(number)
		}
		return nil
	})
	if errors.Is(err, fields.ErrMalformed) {
		err = errors.New("the request is no ReadRequest of Prometheus")
	}
	return r, err
}

func parseQuery(b []byte) (query, error) {
	var q query
	err := fields.Each(b, func(field protowire.Number, bytes []byte, number uint64) error {
		switch {
		case field == 1 && bytes == nil:
			q.start = int64(number)
		case field == 2 && bytes == nil:
			q.end = int64(number)
		case field == 3 && bytes != nil:
			if len(q.matchers) == mostMatchers {
				return fmt.Errorf("more than %d matchers", mostMatchers)
			}
			m, err := parseMatcher(bytes)
			q.matchers = append(q.matchers, m)
			return err
		}
		return nil
	})
	return q, err
}

func parseMatcher(b []byte) (matcher, error) {
	var kind uint64
	var name, value string
	err := fields.Each(b, func(field protowire.Number, bytes []byte, number uint64) error {
		switch {
		case field == 1 && bytes == nil:
			kind = number
		case field == 2 && bytes != nil:
			name = string(bytes)
		case field == 3 && bytes != nil:
			value = string(bytes)
		}
		return nil
	})
	if err != nil {
		return matcher{}, err
	}
	return newMatcher(kind, name, value)
}

// sample is a sample of a series; its time is in milliseconds since 1970.
type sample struct {
	at    int64
	value float64
}

// stale is the value of a sample that marks the end of a series.
var stale = math.Float64frombits(0x7ff0000000000002)

func appendLabels(b []byte, labels []naming.Label) []byte {
	for _, l := range labels {
		b = fields.Head(b, 1, protowire.SizeTag(1)+protowire.SizeBytes(len(l.Name))+protowire.SizeTag(2)+protowire.SizeBytes(len(l.Value)))
		b = fields.Bytes(fields.Bytes(b, 1, l.Name), 2, l.Value)
	}
	return b
}

// appendSeries appends a TimeSeries as a field of a QueryResult; scratch is a buffer for its
// labels.
func appendSeries(b, scratch []byte, labels []naming.Label, samples []sample) (result, room []byte) {
	head := appendLabels(scratch[:0], labels)
	size := len(head)
	for _, s := range samples {
		n := sizeOf(s)
		size += 1 + protowire.SizeVarint(uint64(n)) + n
	}
	b = append(fields.Head(b, 1, size), head...)
	for _, s := range samples {
		b = fields.Head(b, 2, sizeOf(s))
		b = fields.Uint(fields.Double(b, 1, s.value), 2, uint64(s.at))
	}
	return b, head
}

func sizeOf(s sample) int { return 1 + 8 + 1 + protowire.SizeVarint(uint64(s.at)) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendFrame appends a ChunkedReadResponse with one series, in the framing of the stream: its
// length, a checksum, the message.
func appendFrame(b []byte, query int, labels []naming.Label, chunks []chunk) []byte {
	series := appendLabels(nil, labels)
	for _, c := range chunks {
		const xor = 1
		m := fields.Uint(fields.Uint(nil, 1, uint64(c.from)), 2, uint64(c.to))
		m = fields.Bytes(fields.Uint(m, 3, xor), 4, c.data)
		series = fields.Bytes(series, 2, m)
	}
	m := fields.Bytes(nil, 1, series)
	if query != 0 {
		m = fields.Uint(m, 2, uint64(query))
	}
	b = binary.AppendUvarint(b, uint64(len(m)))
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(m, castagnoli))
	return append(b, m...)
}

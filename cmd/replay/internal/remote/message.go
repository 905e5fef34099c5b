package remote

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/klauspost/compress/s2"
	"google.golang.org/protobuf/encoding/protowire"

	"tachograph/cmd/replay/internal/naming"
)

// What a request may hold.
const (
	mostRequest  = 1 << 20 // bytes, unpacked
	mostQueries  = 32
	mostMatchers = 64
	mostText     = 4 << 10 // bytes of a matcher's value
)

// A query asks for the series that all matchers match, over a span of time.
type query struct {
	start, end int64 // milliseconds since 1970, both inclusive
	matchers   []matcher
}

// request is a ReadRequest.
type request struct {
	queries []query
	chunks  bool // STREAMED_XOR_CHUNKS are taken, and liked best
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

var errProto = errors.New("the request is no ReadRequest of Prometheus")

// fields calls fn for each field of a message: with its bytes, or its number.
func fields(b []byte, fn func(field protowire.Number, bytes []byte, number uint64) error) error {
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errProto
		}
		b = b[n:]
		var err error
		switch kind {
		case protowire.VarintType:
			v, n := protowire.ConsumeVarint(b)
			if n < 0 {
				return errProto
			}
			b = b[n:]
			err = fn(field, nil, v)
		case protowire.BytesType:
			v, n := protowire.ConsumeBytes(b)
			if n < 0 {
				return errProto
			}
			b = b[n:]
			if v == nil {
				v = []byte{}
			}
			err = fn(field, v, 0)
		default:
			n := protowire.ConsumeFieldValue(field, kind, b)
			if n < 0 {
				return errProto
			}
			b = b[n:]
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func parseRequest(b []byte) (*request, error) {
	r := &request{}
	first := true
	accept := func(kind uint64) {
		if first {
			r.chunks, first = kind == 1, false
		}
	}
	err := fields(b, func(field protowire.Number, bytes []byte, number uint64) error {
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
					return errProto
				}
				bytes = bytes[n:]
				accept(v)
			}
		case field == 2:
			accept(number)
		}
		return nil
	})
	return r, err
}

func parseQuery(b []byte) (query, error) {
	var q query
	err := fields(b, func(field protowire.Number, bytes []byte, number uint64) error {
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
	err := fields(b, func(field protowire.Number, bytes []byte, number uint64) error {
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

// sample is one of a series; its time is in milliseconds since 1970.
type sample struct {
	at    int64
	value float64
}

// stale is the value that says that a series has ended for now.
var stale = math.Float64frombits(0x7ff0000000000002)

func appendLabels(b []byte, labels []naming.Label) []byte {
	for _, l := range labels {
		b = protowire.AppendTag(b, 1, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(protowire.SizeTag(1)+protowire.SizeBytes(len(l.Name))+protowire.SizeTag(2)+protowire.SizeBytes(len(l.Value))))
		b = protowire.AppendTag(b, 1, protowire.BytesType)
		b = protowire.AppendString(b, l.Name)
		b = protowire.AppendTag(b, 2, protowire.BytesType)
		b = protowire.AppendString(b, l.Value)
	}
	return b
}

// appendSeries appends a TimeSeries as a field of a QueryResult; scratch is room for
// its labels.
func appendSeries(b, scratch []byte, labels []naming.Label, samples []sample) (result, room []byte) {
	head := appendLabels(scratch[:0], labels)
	size := len(head)
	for _, s := range samples {
		n := sizeOf(s)
		size += 1 + protowire.SizeVarint(uint64(n)) + n
	}
	b = protowire.AppendTag(b, 1, protowire.BytesType)
	b = append(protowire.AppendVarint(b, uint64(size)), head...)
	for _, s := range samples {
		b = protowire.AppendTag(b, 2, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(sizeOf(s)))
		b = protowire.AppendTag(b, 1, protowire.Fixed64Type)
		b = protowire.AppendFixed64(b, math.Float64bits(s.value))
		b = protowire.AppendTag(b, 2, protowire.VarintType)
		b = protowire.AppendVarint(b, uint64(s.at))
	}
	return b, head
}

func sizeOf(s sample) int { return 1 + 8 + 1 + protowire.SizeVarint(uint64(s.at)) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendFrame appends a ChunkedReadResponse with one series, as the stream has it:
// its length, a checksum, the message.
func appendFrame(b []byte, query int, labels []naming.Label, chunks []chunk) []byte {
	series := appendLabels(nil, labels)
	for _, c := range chunks {
		var m []byte
		m = protowire.AppendTag(m, 1, protowire.VarintType)
		m = protowire.AppendVarint(m, uint64(c.from))
		m = protowire.AppendTag(m, 2, protowire.VarintType)
		m = protowire.AppendVarint(m, uint64(c.to))
		m = protowire.AppendTag(m, 3, protowire.VarintType)
		m = protowire.AppendVarint(m, 1) // XOR
		m = protowire.AppendTag(m, 4, protowire.BytesType)
		m = protowire.AppendBytes(m, c.data)
		series = protowire.AppendTag(series, 2, protowire.BytesType)
		series = protowire.AppendBytes(series, m)
	}
	m := protowire.AppendTag(nil, 1, protowire.BytesType)
	m = protowire.AppendBytes(m, series)
	if query != 0 {
		m = protowire.AppendTag(m, 2, protowire.VarintType)
		m = protowire.AppendVarint(m, uint64(query))
	}
	b = binary.AppendUvarint(b, uint64(len(m)))
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(m, castagnoli))
	return append(b, m...)
}

// Package fields reads and writes fields of protobuf messages whose schemas others define: those
// of Prometheus, OpenTelemetry, Perfetto, pprof and gRPC. It is used for a few fields of each,
// for which generated code would take a thousand lines.
package fields

import (
	"errors"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// ErrMalformed is the error for data that is not a protobuf message.
var ErrMalformed = errors.New("it is not a protobuf message")

// Uint appends a field that is a number: unsigned, an int64 that is not negative, an enum or a bool.
func Uint(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

// Fixed64 appends a field that takes eight bytes.
func Fixed64(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), v)
}

// Double appends a field that is a double.
func Double(b []byte, field protowire.Number, v float64) []byte {
	return Fixed64(b, field, math.Float64bits(v))
}

// Bytes appends a field that is a string, bytes or a message.
func Bytes[T ~string | ~[]byte](b []byte, field protowire.Number, v T) []byte {
	return append(Head(b, field, len(v)), v...)
}

// Head appends what precedes the size bytes of a string, bytes or a message.
func Head(b []byte, field protowire.Number, size int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.BytesType), uint64(size))
}

// Each calls fn for each field of a message, until fn returns an error. A string, bytes or a
// message comes as bytes that are not nil, a number as number. Each skips other fields, whose
// type is fixed or a group.
func Each(message []byte, fn func(field protowire.Number, bytes []byte, number uint64) error) error {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return ErrMalformed
		}
		message = message[n:]
		var bytes []byte
		var number uint64
		switch kind {
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			if bytes, n = protowire.ConsumeBytes(message); bytes == nil {
				bytes = []byte{}
			}
		default:
			n = protowire.ConsumeFieldValue(field, kind, message)
		}
		if n < 0 {
			return ErrMalformed
		}
		message = message[n:]
		if kind == protowire.VarintType || kind == protowire.BytesType {
			if err := fn(field, bytes, number); err != nil {
				return err
			}
		}
	}
	return nil
}

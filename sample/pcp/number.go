package pcp

import (
	"encoding/binary"

	"tachograph/sample/metric"
)

// Null is PCP's number for no instance domain, and for the single value of a metric without
// instances.
const Null = 0xffffffff

// Type is PCP's number for a type of values.
type Type int32

const (
	I32 Type = iota
	U32
	I64
	U64
	Float
	Double
	String
	Aggregate
	AggregateStatic
	EventRecords
	HighresEventRecords
	NoSupport Type = -1
)

var typeNames = [...]string{"32", "u32", "64", "u64", "float", "double", "string", "aggregate", "static aggregate", "event records", "event records"}

// String is PCP's name for t.
func (t Type) String() string {
	if t < 0 || int(t) >= len(typeNames) {
		return "unsupported"
	}
	return typeNames[t]
}

// TypeOf is PCP's type for values of t.
func TypeOf(t metric.Type) Type {
	switch t {
	case metric.I32:
		return I32
	case metric.U32:
		return U32
	case metric.I64:
		return I64
	case metric.U64:
		return U64
	case metric.F32:
		return Float
	case metric.F64:
		return Double
	}
	return String
}

// Metric is this program's type for t's values; ok is false if they are neither numbers nor
// strings.
func (t Type) Metric() (mt metric.Type, ok bool) {
	switch t {
	case I32:
		return metric.I32, true
	case U32:
		return metric.U32, true
	case I64:
		return metric.I64, true
	case U64:
		return metric.U64, true
	case Float:
		return metric.F32, true
	case Double:
		return metric.F64, true
	case String:
		return metric.String, true
	}
	return 0, false
}

// InSitu reports whether values of t are stored beside their instance. All others are in blocks.
func (t Type) InSitu() bool { return t == I32 || t == U32 }

// PCP's numbers for semantics.
const (
	Counter  = 1
	Instant  = 3
	Discrete = 4
)

// SemanticsOf is PCP's number for s.
func SemanticsOf(s metric.Semantics) int32 {
	switch s {
	case metric.Counter:
		return Counter
	case metric.Discrete:
		return Discrete
	}
	return Instant
}

// Semantics is the inverse of SemanticsOf; ok is false for a number that PCP does not have.
func Semantics(n int32) (s metric.Semantics, ok bool) {
	switch n {
	case Counter:
		return metric.Counter, true
	case Instant:
		return metric.Instant, true
	case Discrete:
		return metric.Discrete, true
	}
	return metric.Instant, false
}

// Values of the lowest byte of units. PCP has them since some version after 6.0; earlier
// versions print such a metric as one without units.
const (
	celsius   = 1<<3 | 1
	millivolt = 2<<3 | 2
	milliamp  = 3<<3 | 2
)

// UnitsOf encodes u as PCP does. It leaves out units for which PCP has no dimension; ok is then
// false.
func UnitsOf(u metric.Units) (n uint32, ok bool) {
	nibble := func(v int8) uint32 { return uint32(v) & 0xf }
	scale := func(dim, s int8) uint32 {
		if dim == 0 {
			return 0 // pmlogcheck complains about a scale without dimension
		}
		return nibble(s)
	}
	n = nibble(u.Space)<<28 | nibble(u.Time)<<24 | nibble(u.Count)<<20 |
		scale(u.Space, u.SpaceScale)<<16 | scale(u.Time, u.TimeScale)<<12 | scale(u.Count, u.CountScale)<<8
	switch u.Other {
	case "":
	case "C":
		n |= celsius
	case "mV":
		n |= millivolt
	case "mA":
		n |= milliamp
	default:
		return n, false
	}
	return n, true
}

// Units is the inverse of UnitsOf.
func Units(n uint32) metric.Units {
	signed := func(shift uint) int8 { return int8(n>>shift<<4) >> 4 }
	u := metric.Units{
		Space: signed(28), Time: signed(24), Count: signed(20),
		SpaceScale: int8(n >> 16 & 0xf), TimeScale: int8(n >> 12 & 0xf), CountScale: signed(8),
	}
	switch n & 0xff {
	case celsius:
		u.Other = "C"
	case millivolt:
		u.Other = "mV"
	case milliamp:
		u.Other = "mA"
	}
	return u
}

// AppendBlock appends the block of a number of type t, whose bits are as in a Column.
func AppendBlock(dst []byte, t Type, bits uint64) []byte {
	switch t {
	case I64, U64, Double:
		dst = binary.BigEndian.AppendUint32(dst, uint32(t)<<24|12)
		return binary.BigEndian.AppendUint64(dst, bits)
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(t)<<24|8)
	return binary.BigEndian.AppendUint32(dst, uint32(bits))
}

// MaxString is the greatest length of a string in a block: the block's length has 24 bits.
const MaxString = 1<<24 - 6

// AppendString appends the block of a string, padded to four bytes. A string ends at its first
// NUL.
func AppendString(dst []byte, s string) []byte {
	s = Cut(s)
	dst = binary.BigEndian.AppendUint32(dst, uint32(String)<<24|uint32(len(s)+5))
	dst = append(append(dst, s...), 0)
	for n := len(s) + 1; n%4 != 0; n++ {
		dst = append(dst, '~')
	}
	return dst
}

// StringBlock is the length of a string's block with its padding.
func StringBlock(s string) int { return (len(Cut(s)) + 8) &^ 3 }

// Cut returns as much of s as a block can hold.
func Cut(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] == 0 {
			s = s[:i]
			break
		}
	}
	return s[:min(len(s), MaxString)]
}

// Bits converts a 32-bit number stored in situ to the bits of a Column: signed ones are widened.
func Bits(t Type, v uint32) uint64 {
	if t == I32 {
		return uint64(int64(int32(v)))
	}
	return uint64(v)
}

// Block parses a block into its type and the bytes of its value. ok is false if b does not hold
// a complete block.
func Block(b []byte) (t Type, value []byte, ok bool) {
	if len(b) < 4 {
		return 0, nil, false
	}
	head := binary.BigEndian.Uint32(b)
	n := int(head & 0xffffff)
	if n < 4 || n > len(b) {
		return 0, nil, false
	}
	return Type(int8(head >> 24)), b[4:n], true
}

// Number parses a block's value as a number of type t, with the bits as in a Column.
func Number(t Type, value []byte) (bits uint64, ok bool) {
	switch {
	case (t == I64 || t == U64 || t == Double) && len(value) == 8:
		return binary.BigEndian.Uint64(value), true
	case (t == Float || t == I32 || t == U32) && len(value) == 4:
		return Bits(t, binary.BigEndian.Uint32(value)), true
	}
	return 0, false
}

package metric

import "fmt"

// Type is the machine type of a metric's values, as PCP names them.
type Type uint8

// The numbers are stored in archives: append, never renumber.
const (
	I32 Type = iota
	U32
	I64
	U64
	F32
	F64
	String
	numTypes
)

var typeNames = [numTypes]string{"i32", "u32", "i64", "u64", "f32", "f64", "string"}

func (t Type) String() string {
	if t < numTypes {
		return typeNames[t]
	}
	return fmt.Sprintf("type(%d)", uint8(t))
}

// Valid reports whether t is a type this version knows.
func (t Type) Valid() bool { return t < numTypes }

// Float reports whether values of t are floating point.
func (t Type) Float() bool { return t == F32 || t == F64 }

// Signed reports whether values of t are signed integers.
func (t Type) Signed() bool { return t == I32 || t == I64 }

// Semantics says how successive values of a metric relate to each other.
type Semantics uint8

// The numbers are stored in archives: append, never renumber.
const (
	// Counter values only grow, until their source is reset or wraps.
	Counter Semantics = iota
	// Instant values are true at the moment they were read and say nothing
	// about the time between two readings.
	Instant
	// Discrete values hold until the next reading replaces them.
	Discrete
	numSemantics
)

var semanticsNames = [numSemantics]string{"counter", "instant", "discrete"}

func (s Semantics) String() string {
	if s < numSemantics {
		return semanticsNames[s]
	}
	return fmt.Sprintf("semantics(%d)", uint8(s))
}

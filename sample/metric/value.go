package metric

import (
	"math"
	"strconv"
)

// Value is a single cell, for printing and comparing. The sampling path works on columns
// instead.
type Value struct {
	Type Type
	Bits uint64
	Str  string
	Miss Reason
}

// At returns the cell of row i.
func (c *Column) At(t Type, i int) Value {
	v := Value{Type: t}
	if c.Miss != nil && c.Miss[i] != Present {
		v.Miss = c.Miss[i]
		return v
	}
	if t == String {
		v.Str = c.Word(i)
	} else {
		v.Bits = c.Bits[i]
	}
	return v
}

// Word is the string of row i; "" if the row's number refers to no word.
func (c *Column) Word(i int) string {
	if n := c.Bits[i]; n < uint64(len(c.Words)) {
		return c.Words[n]
	}
	return ""
}

// Push appends a cell, which must have the column's type.
func (c *Column) Push(v Value) {
	if v.Type == String {
		v.Bits = uint64(len(c.Words))
		c.Words = append(c.Words, v.Str)
	}
	c.Bits, c.Miss = append(c.Bits, v.Bits), append(c.Miss, v.Miss)
}

// Set gives a value to a cell that is absent.
func (c *Column) Set(i int, v Value) {
	if v.Type == String {
		v.Bits = uint64(len(c.Words))
		c.Words = append(c.Words, v.Str)
	}
	c.Bits[i], c.Miss[i] = v.Bits, v.Miss
}

// Number is the value as a float; NaN for strings and absent values.
func (v Value) Number() float64 {
	if v.Miss != Present {
		return math.NaN()
	}
	return Number(v.Type, v.Bits)
}

// String prints the value exactly: reading it back gives the same bits. An
// absent value prints as nothing.
func (v Value) String() string {
	if v.Miss != Present {
		return ""
	}
	switch v.Type {
	case String:
		return v.Str
	case I32, I64:
		return strconv.FormatInt(int64(v.Bits), 10)
	case F32:
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(v.Bits))), 'g', -1, 32)
	case F64:
		return strconv.FormatFloat(math.Float64frombits(v.Bits), 'g', -1, 64)
	default:
		return strconv.FormatUint(v.Bits, 10)
	}
}

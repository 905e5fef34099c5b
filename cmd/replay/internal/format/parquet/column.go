package parquet

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// kind is the type of a column's values.
type kind uint8

const (
	text     kind = iota
	instant       // nanoseconds since 1970, UTC
	double        // as IEEE bits
	signed        // 64 bits
	unsigned      // 64 bits
)

// A column collects its values for one row group. A value that is the same for many rows is
// kept, and written, once.
type column struct {
	name     string
	kind     kind
	required bool

	rows    int
	nulls   int
	present []run // 1 where there is a value, 0 where there is none
	// ints are the present values of all kinds but texts: doubles as their bits.
	ints []int64
	// For texts: the distinct words, and which word each row has.
	words  map[string]uint32
	list   []string
	size   int // bytes of list
	picked []run
}

// A run is a value that is repeated n times.
type run struct {
	what uint32
	n    int
}

// again appends n times the same value to runs.
func again(runs []run, what uint32, n int) []run {
	if last := len(runs) - 1; last >= 0 && runs[last].what == what {
		runs[last].n += n
		return runs
	}
	return append(runs, run{what, n})
}

// null adds rows without a value.
func (c *column) null(n int) {
	if n == 0 {
		return
	}
	c.rows += n
	c.nulls += n
	c.present = again(c.present, 0, n)
}

// room adds n rows, and returns the slice for their values, which the caller must fill.
func (c *column) room(n int) []int64 {
	if n == 0 {
		return nil
	}
	c.rows += n
	c.present = again(c.present, 1, n)
	at := len(c.ints)
	c.ints = slices.Grow(c.ints, n)[:at+n]
	return c.ints[at:]
}

// same adds rows with the same text.
func (c *column) same(s string, n int) {
	if n == 0 {
		return
	}
	c.rows += n
	c.present = again(c.present, 1, n)
	if last := len(c.picked) - 1; last >= 0 && c.list[c.picked[last].what] == s {
		c.picked[last].n += n
		return
	}
	w, ok := c.words[s]
	if !ok {
		if c.words == nil {
			c.words = make(map[string]uint32)
		}
		w = uint32(len(c.list))
		c.words[s] = w
		s = strings.ToValidUTF8(s, "\ufffd") // Readers refuse invalid UTF-8.
		c.list = append(c.list, s)
		c.size += len(s)
	}
	c.picked = append(c.picked, run{w, n})
}

// reset begins the next row group.
func (c *column) reset() {
	c.rows, c.nulls, c.size = 0, 0, 0
	c.present, c.ints, c.list, c.picked = c.present[:0], c.ints[:0], c.list[:0], c.picked[:0]
	clear(c.words)
}

// schema describes the column.
func (c *column) schema() format.SchemaElement {
	e := format.SchemaElement{Name: c.name, Type: thrift.New(c.physical()), RepetitionType: thrift.New(format.Optional)}
	if c.required {
		e.RepetitionType = thrift.New(format.Required)
	}
	switch c.kind {
	case text:
		e.ConvertedType = thrift.New(deprecated.UTF8)
		e.LogicalType = format.LogicalType{Value: &format.StringType{}}
	case instant:
		e.LogicalType = format.LogicalType{Value: &format.TimestampType{IsAdjustedToUTC: true, Unit: format.TimeUnit{Value: &format.NanoSeconds{}}}}
	case unsigned:
		e.ConvertedType = thrift.New(deprecated.Uint64)
		e.LogicalType = format.LogicalType{Value: &format.IntType{BitWidth: 64}}
	case signed:
		e.ConvertedType = thrift.New(deprecated.Int64)
		e.LogicalType = format.LogicalType{Value: &format.IntType{BitWidth: 64, IsSigned: true}}
	}
	return e
}

func (c *column) physical() format.Type {
	switch c.kind {
	case text:
		return format.ByteArray
	case double:
		return format.Double
	}
	return format.Int64
}

func (c *column) encoding() format.Encoding {
	if c.kind == text {
		return format.RLEDictionary
	}
	return format.Plain
}

// statistics returns the statistics by which readers skip row groups. A column of doubles with a
// NaN has none.
func (c *column) statistics() format.Statistics {
	s := format.Statistics{NullCount: int64(c.nulls)}
	if c.rows == c.nulls {
		return s
	}
	if c.kind == text {
		s.MinValue, s.MaxValue = []byte(slices.Min(c.list)), []byte(slices.Max(c.list))
		return s
	}
	least, most := c.ints[0], c.ints[0]
	switch c.kind {
	case double:
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, b := range c.ints {
			x := math.Float64frombits(uint64(b))
			if x != x {
				return s
			}
			if x < lo {
				lo = x
			}
			if x > hi {
				hi = x
			}
		}
		if lo == 0 {
			lo = math.Copysign(0, -1) // Readers may distinguish the zeros.
		}
		if hi == 0 {
			hi = 0
		}
		least, most = int64(math.Float64bits(lo)), int64(math.Float64bits(hi))
	case unsigned:
		for _, b := range c.ints {
			least, most = int64(min(uint64(least), uint64(b))), int64(max(uint64(most), uint64(b)))
		}
	default:
		for _, b := range c.ints {
			least, most = min(least, b), max(most, b)
		}
	}
	s.MinValue = binary.LittleEndian.AppendUint64(nil, uint64(least))
	s.MaxValue = binary.LittleEndian.AppendUint64(nil, uint64(most))
	return s
}

// dictionary appends the page of the words.
func (c *column) dictionary(b []byte) []byte {
	for _, w := range c.list {
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(w))), w...)
	}
	return b
}

// page appends the values before compression, after the list of rows that have one.
func (c *column) page(b []byte) []byte {
	if !c.required {
		at := len(b)
		b = runsOf(append(b, 0, 0, 0, 0), c.present, 1)
		binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	}
	if c.kind == text {
		width := max(1, bits.Len(uint(max(len(c.list)-1, 0))))
		return runsOf(append(b, byte(width)), c.picked, width)
	}
	at := len(b)
	b = slices.Grow(b, 8*len(c.ints))[:at+8*len(c.ints)]
	for i, x := range c.ints {
		binary.LittleEndian.PutUint64(b[at+8*i:], uint64(x))
	}
	return b
}

// runsOf appends runs of numbers with this many bits.
func runsOf(b []byte, runs []run, width int) []byte {
	for _, r := range runs {
		b = binary.AppendUvarint(b, uint64(r.n)<<1)
		for w := range (width + 7) / 8 {
			b = append(b, byte(r.what>>(8*w)))
		}
	}
	return b
}

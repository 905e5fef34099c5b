package decode

import (
	"encoding/binary"
	"strings"

	"tachograph/sample/metric"
)

// Kind is the first word of a sysctl's format answer.
type Kind uint32

// The types of nodes, and the flag of writable ones.
const (
	ctlNode     = 1
	ctlInt      = 2
	ctlString   = 3
	ctlQuad     = 4
	ctlWritable = 0x40000000
)

// Writable reports whether the node is a tunable.
func (k Kind) Writable() bool { return k&ctlWritable != 0 }

// Node reports whether the node only contains others.
func (k Kind) Node() bool { return k&0xf == ctlNode }

// SysctlFormat splits the kernel's answer to a format query: the kind, and a
// text such as "I", "LU" or "S,timeval". The text aliases b.
func SysctlFormat(b []byte) (k Kind, format []byte, ok bool) {
	if len(b) < 4 {
		return 0, nil, false
	}
	return Kind(binary.LittleEndian.Uint32(b)), untilNUL(b[4:]), true
}

// Type returns the type for a node of kind k and a format whose value has size bytes; false for
// structs and other things that are not a single value. The length of the value decides between
// 32 and 64 bits: some nodes are wider when asked for by name than their format says.
func (k Kind) Type(format string, size int) (metric.Type, bool) {
	if k&0xf == ctlString || format == "A" {
		return metric.String, true
	}
	unsigned := strings.HasSuffix(format, "U")
	switch strings.TrimSuffix(format, "U") {
	case "I", "L", "Q", "C":
	default:
		// Old nodes have no format text; their kind is enough.
		if format != "" && format != "-" || k&0xf != ctlInt && k&0xf != ctlQuad {
			return 0, false
		}
	}
	switch size {
	case 1, 2, 4:
		if unsigned {
			return metric.U32, true
		}
		return metric.I32, true
	case 8:
		if unsigned {
			return metric.U64, true
		}
		return metric.I64, true
	}
	return 0, false
}

// SysctlBits returns the value of a numeric sysctl as the bits of a metric of type t, whatever
// the width of the kernel's answer; false for a width that no number has.
func SysctlBits(b []byte, t metric.Type) (uint64, bool) {
	return number(b, t.Signed())
}

// Micros decodes a struct timeval into microseconds since 1970.
func Micros(b []byte) (uint64, bool) {
	sec, ok := TimevalSec.Uint(b)
	usec, ok2 := TimevalUsec.Uint(b)
	return sec*1e6 + usec, ok && ok2
}

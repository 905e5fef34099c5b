package metric

import "time"

// NoIndom is the instance domain of metrics that have exactly one value.
const NoIndom = ""

// Desc describes a metric. It is a row of a table, and the only place for what recorder, archive
// and replay know about a metric.
type Desc struct {
	Name  string
	PMID  PMID
	Type  Type
	Sem   Semantics
	Units Units
	// Indom names the instance domain ("cpu", "disk", "process", ...), or is
	// NoIndom.
	Indom string
	// Class is the class the metric belongs to by nature; the configuration
	// may move it to a slower one.
	Class Class
	// Source says where the value comes from, in words that an administrator
	// can check by hand: "sysctl vm.loadavg", "/proc/meminfo MemFree".
	Source string
	// Help is one line, LongHelp the rest (may be empty). Differences from
	// PCP's metric of the same name belong into LongHelp.
	Help, LongHelp string
	// Width is the true width in bits of a counter in its kernel, where that is less than its
	// Type's: a 32-bit counter stored as U64 wraps at 2^32. Zero means the width of Type.
	Width uint8
	// Clamped counters stop at the largest value of Width bits instead of
	// wrapping.
	Clamped bool
	// Falls says what it can mean when a counter shows less than before.
	Falls Falls
	// Formula, if set, computes the metric from others when it is read back;
	// such a metric is never sampled.
	Formula string
	// Fastest is the shortest interval at which reading again can give something new. Zero means
	// that Class decides.
	Fastest time.Duration
	// Unsupported says why this machine cannot supply the metric; empty when
	// it can.
	Unsupported string
}

// Bits is the width in bits at which a counter of d wraps or clamps.
func (d *Desc) Bits() int {
	if d.Width != 0 {
		return min(max(int(d.Width), 2), 64) // An archive from another program may hold anything.
	}
	switch d.Type {
	case U32, I32:
		return 32
	default:
		return 64
	}
}

// MinInterval is the monotonic rule: the shortest interval at which reading d again can give anything new.
func (d *Desc) MinInterval() time.Duration {
	if d.Fastest != 0 {
		return d.Fastest
	}
	switch d.Class {
	case Static:
		return Once
	case Constrained:
		return 10 * time.Second
	case Polled, Costly:
		return time.Second
	default:
		return 100 * time.Millisecond
	}
}

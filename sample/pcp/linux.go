package pcp

import (
	"fmt"
	"math"
	"strings"
	"sync"

	"tachograph/sample/metric"
)

// Imported begins the recorder name in archives that were imported from PCP's.
const Imported = "pmlogger, imported by "

// On sets the platform of the metrics that are added from here on. A metric that PCP's Linux
// agents have under the same name gets their number, type, semantics and units, so that an
// archive of a Linux machine can be merged with one that PCP itself has recorded there: PCP
// never lets these change, and where the platforms differ the catalog has Darwin's.
func (s *Space) On(platform string) { s.linux = platform == "linux" && s.layout.Plain() }

// native returns d as PCP's agents have it; ok is false if they have no metric of its name.
func (s *Space) native(d *metric.Desc) (of native, ok bool) {
	if !s.linux {
		return of, false
	}
	of, ok = natives()[d.Name]
	return of, ok
}

// A native is a metric of PCP's agents.
type native struct {
	pmid      metric.PMID
	typ       Type
	semantics int32
	units     uint32
	instances bool
}

// scales are the bits of units that scale a value, and timed the bits of the dimension of time.
const (
	scales = 0x000fff00
	timed  = 0x0f000000
)

// takes reports whether values of d mean the same as the native's.
func (n *native) takes(d *metric.Desc) bool {
	whole := func(t Type) bool { return t == I32 || t == U32 || t == I64 || t == U64 }
	units, _ := UnitsOf(d.Units)
	t := TypeOf(d.Type)
	return (t == n.typ || whole(t) && whole(n.typ)) && n.instances == (d.Indom != metric.NoIndom) && (units^n.units)&(scales|timed) == 0
}

// Narrower reports whether the metric has values that its type in PCP does not hold.
func (m *Metric) Narrower() bool {
	return m.Desc.Sem != metric.Counter && m.Type != TypeOf(m.Desc.Type)
}

// TooWide is the reason for a value that its type in PCP cannot hold.
var TooWide = metric.ReasonFor("PCP has fewer bits for it than it takes")

// Fits reports whether the metric's type in PCP holds a value. A counter may wrap there, and
// 64-bit numbers are the same with and without a sign, as in PCP's own agents.
func (m *Metric) Fits(bits uint64) bool {
	negative := (m.Desc.Type == metric.I32 || m.Desc.Type == metric.I64) && int64(bits) < 0
	switch {
	case !m.Narrower():
		return true
	case m.Type == U32:
		return !negative && bits <= math.MaxUint32
	case m.Type == I32:
		return negative && int64(bits) >= math.MinInt32 || !negative && bits <= math.MaxInt32
	}
	return true
}

// natives returns PCP's metrics by name. They are made on first use: that takes as long as all other
// preparations of this program together, and few commands need them.
var natives = sync.OnceValue(func() map[string]native {
	types := map[string]Type{"i32": I32, "u32": U32, "i64": I64, "u64": U64, "float": Float, "double": Double, "string": String}
	semantics := map[string]int32{"counter": Counter, "instant": Instant, "discrete": Discrete}
	all := make(map[string]native)
	for line := range strings.Lines(linuxAgents) {
		var n native
		var name, typ, sem, indom string
		var domain, cluster, item uint32
		if k, err := fmt.Sscanf(line, "%s %d.%d.%d %s %s %x %s", &name, &domain, &cluster, &item, &typ, &sem, &n.units, &indom); k != 8 {
			panic(fmt.Sprintf("%q: %v", line, err))
		}
		n.pmid, n.typ, n.semantics, n.instances = metric.NewPMID(domain, cluster, item), types[typ], semantics[sem], indom != "-"
		all[name] = n
	}
	return all
})

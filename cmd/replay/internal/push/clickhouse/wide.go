package clickhouse

import (
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"tachograph/sample/catalog"
	"tachograph/sample/metric"
)

// processDomain is the instance domain whose metrics have columns of their own.
const processDomain = "process"

// A field is a metric of processes that has a column.
type field struct {
	column string
	metric string
	kind   string // UInt64, Int64, Float64 or String
	units  metric.Units
}

// fields returns the metrics of processes on any system, by name. If systems keep a metric in
// different units, the column has the finer one, which is exact.
var fields = sync.OnceValue(func() []field {
	byName := make(map[string]field)
	for _, p := range catalog.Platforms {
		for _, d := range catalog.Select(p, func(d *metric.Desc) bool { return d.Indom == processDomain && d.Formula == "" }) {
			f := field{strings.ReplaceAll(d.Name, ".", "_"), d.Name, kindOf(d.Type), d.Units}
			if had, ok := byName[d.Name]; ok {
				if x, err := f.units.Factor(had.units); err == nil && x >= 1 {
					f.units = had.units
				}
				if had.kind != f.kind {
					f.kind = had.kind // values of the other type are samples
				}
			}
			byName[d.Name] = f
		}
	}
	all := make([]field, 0, len(byName))
	for _, f := range byName {
		all = append(all, f)
	}
	slices.SortFunc(all, func(x, y field) int { return strings.Compare(x.column, y.column) })
	return all
})

func kindOf(t metric.Type) string {
	switch t {
	case metric.String:
		return "String"
	case metric.F32, metric.F64:
		return "Float64"
	case metric.I32, metric.I64:
		return "Int64"
	}
	return "UInt64"
}

func processColumns() []column {
	var all []column
	for _, f := range fields() {
		c := column{name: f.column, kind: "Nullable(" + f.kind + ")", codec: plain, comment: f.units.String()}
		switch f.kind {
		case "String":
			c.kind = "LowCardinality(Nullable(String))"
		case "UInt64", "Int64":
			c.codec = counted
		}
		all = append(all, c)
	}
	return all
}

// A cell says which column of a read group has the value for a column of the processes table, if
// any.
type cell struct {
	col    int // of the block; -1: the group has no such metric
	factor uint64
	typ    metric.Type
}

// A plan says how the blocks of a group become rows.
type plan struct {
	// cells are those of the process columns, in their order; nil for a group that has no
	// processes.
	cells []cell
	// loose are the columns of the block that become rows of the samples table.
	loose []int
	// For each column of the block, what its samples begin and end with: the name, and the bits
	// of the factors that convert values to base units.
	names    [][]byte
	mul, div []uint32
}

// factor returns the factor from the units of d to those of the column of f; 0 if that would not
// be exact.
func (f *field) factor(d *metric.Desc) uint64 {
	if kindOf(d.Type) != f.kind {
		return 0
	}
	if f.kind == "String" || d.Units == f.units {
		return 1
	}
	x, err := d.Units.Factor(f.units)
	if err != nil || f.kind != "UInt64" || x < 1 || x > 1<<32 || x != math.Trunc(x) {
		return 0
	}
	return uint64(x)
}

// fits reports whether a value times the factor fits into 64 bits.
func fits(x, factor uint64) bool {
	over, _ := bits.Mul64(x, factor)
	return over == 0
}

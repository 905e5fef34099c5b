// Package catalog contains the tables of all metrics: what each one is, and where each
// platform reads it. To add a metric, add a row: most sources find a metric by the text in
// its row, which sample/darwin/rows explains for macOS and sample/linux for Linux. A new
// member of a Darwin struct may also need a line in sample/darwin/decode.
//
// A metric that a platform can never supply keeps its row, with the reason. A source finds
// out at run time what one machine cannot supply.
package catalog

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"tachograph/sample/metric"
)

// An index finds the rows of a platform. It makes descriptions only on request: replay needs
// few, and making all of them takes longer than some answers.
type index struct {
	names []string
	rows  map[string]bound
}

// bound is a row with one platform's binding.
type bound struct {
	row *row
	on  *binding
}

func (b bound) describe(d *metric.Desc) { b.row.describe(d, b.on) }

// indexes are made when they are needed, each for itself.
var indexes = [numPlatforms]func() *index{Darwin: indexOf(Darwin), Linux: indexOf(Linux)}

func indexOf(p Platform) func() *index {
	return sync.OnceValue(func() *index {
		x := &index{rows: make(map[string]bound, 2048)}
		for b := range rowsOf(p) {
			if _, twice := x.rows[b.row.name]; twice {
				panic(fmt.Sprintf("catalog: %s stands twice in the %s tables", b.row.name, p))
			}
			x.rows[b.row.name] = b
			x.names = append(x.names, b.row.name)
		}
		slices.Sort(x.names)
		return x
	})
}

// rowsOf yields the rows of a platform.
func rowsOf(p Platform) iter.Seq[bound] {
	return func(yield func(bound) bool) {
		for _, table := range tables {
			for i := range table {
				row := &table[i]
				for k := range row.on {
					if row.on[k].platform == p && !yield(bound{row, &row.on[k]}) {
						return
					}
				}
			}
		}
	}
}

// scanned counts the rows that were looked for in the tables. Many questions ask for one or two:
// for these an index takes longer to make than it saves.
var scanned atomic.Int32

const mostScanned = 4

// row returns the row of a metric.
func (p Platform) row(name string) (b bound, ok bool) {
	if scanned.Add(1) > mostScanned {
		scanned.Store(mostScanned)
		b, ok = indexes[p]().rows[name]
		return b, ok
	}
	for b := range rowsOf(p) {
		if b.row.name == name {
			return b, true
		}
	}
	return bound{}, false
}

// For returns all metrics of p, sorted by name. The rows are copies.
func For(p Platform) []*metric.Desc { return Prefix(p, "") }

// Prefix returns the metrics of p whose names begin with prefix, sorted by
// name. The rows are copies.
func Prefix(p Platform, prefix string) []*metric.Desc {
	return Select(p, func(d *metric.Desc) bool { return strings.HasPrefix(d.Name, prefix) })
}

// Select returns the metrics of p that want accepts, sorted by name. want must not change them.
// The rows are copies.
func Select(p Platform, want func(*metric.Desc) bool) []*metric.Desc {
	return SelectFrom(p, "", want)
}

// SelectFrom is Select for the metrics whose source begins with a prefix. It describes no others:
// a recorder asks this for each source again and again, and few rows belong to one.
func SelectFrom(p Platform, source string, want func(*metric.Desc) bool) []*metric.Desc {
	x := indexes[p]()
	var ds []*metric.Desc
	var d metric.Desc
	for _, name := range x.names {
		b := x.rows[name]
		if !strings.HasPrefix(b.on.source, source) {
			continue
		}
		if b.describe(&d); want(&d) {
			wanted := d
			ds = append(ds, &wanted)
		}
	}
	return ds
}

// Find returns a copy of the row of one metric, or nil.
func Find(p Platform, name string) *metric.Desc {
	b, ok := p.row(name)
	if !ok {
		return nil
	}
	d := new(metric.Desc)
	b.describe(d)
	return d
}

// Group makes a group of the named metrics, which must have the same instance domain. The rows
// are copies, because a source marks in its own group what this machine lacks. A name that is
// not in the tables is a mistake in the program and panics.
func Group(p Platform, group string, names ...string) *metric.Group {
	g := &metric.Group{Name: group, Metrics: make([]*metric.Desc, len(names))}
	for i, name := range names {
		d := Find(p, name)
		if d == nil {
			panic(fmt.Sprintf("catalog: group %s: there is no metric %s on %s", group, name, p))
		}
		if i == 0 {
			g.Indom = d.Indom
		}
		if d.Indom != g.Indom {
			panic(fmt.Sprintf("catalog: group %s: %s has instance domain %q, %s has %q",
				group, names[0], g.Indom, name, d.Indom))
		}
		g.Metrics[i] = d
	}
	return g
}

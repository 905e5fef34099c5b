// Package probe reads everything once: for a first look at a machine, and to measure what a plan
// will cost.
package probe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tachograph/sample"
	"tachograph/sample/demand"
	"tachograph/sample/metric"
)

// Cost is the cost of reading one source.
type Cost = demand.Cost

// A Value is one value of a metric and instance.
type Value struct {
	Desc     *metric.Desc
	Instance *metric.Instance // nil where the metric has none
	Value    metric.Value
	At       metric.Stamp
}

// Key is the key of v's instance; "" without instance.
func (v *Value) Key() string {
	if v.Instance == nil {
		return ""
	}
	return v.Instance.Key
}

// AppendValues appends the values of a column of a block.
func AppendValues(list []Value, b *metric.Block, col int) []Value {
	d := b.Group.Metrics[col]
	for row, in := range b.Rows {
		list = append(list, Value{Desc: d, Instance: in, Value: b.Cols[col].At(d.Type, row), At: b.At})
	}
	return list
}

// Snapshot is one reading of all sources, sorted by metric name.
type Snapshot struct {
	Readings []Value
	Costs    []Cost
}

// Only returns s without the metrics that want rejects.
func (s Snapshot) Only(want func(*metric.Desc) bool) Snapshot {
	var kept []Value
	for _, r := range s.Readings {
		if want(r.Desc) {
			kept = append(kept, r)
		}
	}
	s.Readings = kept
	return s
}

// Patience is how long one source may take before it is given up.
const Patience = 5 * time.Second

// Prober reads sources repeatedly. A source that hangs is not read again.
type Prober struct {
	reader  *demand.Reader
	members []member
}

// member is a source with its metrics to read.
type member struct {
	name string
	want []*metric.Desc
}

// New prepares to read the metrics of sources that want accepts.
func New(sources []sample.Source, now func() metric.Stamp, want func(*metric.Desc) bool) *Prober {
	p := &Prober{reader: demand.New(sources, demand.Options{Now: now, Within: Patience, Anew: true})}
	for _, s := range sources {
		m := member{name: s.Name()}
		for _, g := range s.Groups() {
			for _, d := range g.Metrics {
				if d.Unsupported == "" && d.Formula == "" && want(d) {
					m.want = append(m.want, d)
				}
			}
		}
		if len(m.want) > 0 {
			p.members = append(p.members, m)
		}
	}
	return p
}

// Take reads everything once, source after source.
func (p *Prober) Take() Snapshot {
	var snap Snapshot
	for _, m := range p.members {
		r := p.reader.Read(context.Background(), m.want)
		cost := Cost{Source: m.name, Metrics: len(m.want), Took: r.Took, Err: errHung}
		if len(r.Costs) > 0 {
			cost = r.Costs[0]
		}
		snap.Costs = append(snap.Costs, cost)
		if cost.Err == nil {
			for _, b := range r.Blocks {
				for col := range b.Group.Metrics {
					snap.Readings = AppendValues(snap.Readings, b, col)
				}
			}
		}
	}
	slices.SortStableFunc(snap.Readings, func(a, b Value) int { return strings.Compare(a.Desc.Name, b.Desc.Name) })
	return snap
}

var errHung = fmt.Errorf("it did not answer within %s", Patience)

// Line is the comparison of two snapshots for one metric and instance.
type Line struct {
	Metric, Instance, Units string
	Semantics               metric.Semantics
	Value                   metric.Value
	// Rate is a counter's increase per second, in RateUnits; only counters
	// that were present both times have one.
	Rate      float64
	HasRate   bool
	RateUnits string
}

// Pair compares two snapshots. The values are those of the second, sorted by metric and instance
// name.
func Pair(first, second Snapshot) []Line {
	type series struct{ metric, key string }
	before := make(map[series]Value)
	for _, r := range first.Readings {
		before[series{r.Desc.Name, r.Key()}] = r
	}
	var lines []Line
	for _, r := range second.Readings {
		l := Line{Metric: r.Desc.Name, Units: r.Desc.Units.String(), Semantics: r.Desc.Sem, Value: r.Value}
		if r.Instance != nil {
			l.Instance = r.Instance.Name
		}
		b, ok := before[series{r.Desc.Name, r.Key()}]
		elapsed := float64(r.At.Cont-b.At.Cont) / 1e9
		if ok && r.Desc.Sem == metric.Counter && elapsed > 0 && b.Value.Miss == metric.Present && r.Value.Miss == metric.Present {
			gained, _ := metric.Increase(r.Desc, b.Value.Bits, r.Value.Bits, elapsed)
			l.Rate, l.HasRate, l.RateUnits = max(0, gained)/elapsed, true, rateUnits(r.Desc.Units)
		}
		lines = append(lines, l)
	}
	return Sort(lines)
}

// Sort sorts lines by metric and instance name.
func Sort(lines []Line) []Line {
	slices.SortStableFunc(lines, func(a, b Line) int {
		if c := strings.Compare(a.Metric, b.Metric); c != 0 {
			return c
		}
		return compareNames(a.Instance, b.Instance)
	})
	return lines
}

// rateUnits keeps the unit of the number: milliseconds per second are not scaled to a share.
func rateUnits(u metric.Units) string {
	if u.Time == 0 {
		return u.PerSec().String()
	}
	return u.String() + " / sec"
}

// compareNames puts cpu2 before cpu10: where two names differ in a number, the one with fewer
// digits comes first.
func compareNames(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	da, db := digits(a[i:]), digits(b[i:])
	if da != db && (da > 0 || i > 0 && isDigit(a[i-1])) && (db > 0 || i > 0 && isDigit(b[i-1])) {
		return da - db
	}
	return strings.Compare(a, b)
}

func digits(s string) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

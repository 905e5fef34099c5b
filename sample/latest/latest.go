// Package latest keeps the last reading of each metric, for callers that want the present
// state of the machine.
//
// It stores whole blocks. An instance that ended is missing from the next block, and a
// stored block never changes. So a reader holds the lock only while it lists the blocks,
// and never delays the goroutines that read the machine.
package latest

import (
	"iter"
	"maps"
	"slices"
	"sync"

	"tachograph/sample/metric"
)

// Value is what was read last of one metric and instance.
type Value struct {
	Desc     *metric.Desc
	Instance *metric.Instance // nil where the metric has none
	Value    metric.Value
	At       metric.Stamp
}

// Key is the key of v's instance, "" where it has none.
func (v *Value) Key() string {
	if v.Instance == nil {
		return ""
	}
	return v.Instance.Key
}

// Sink holds the present values. Reading may go on while it is written.
type Sink struct {
	mu      sync.RWMutex
	columns map[string]column // by the name of the metric
}

// column is where the values of a metric stand. It is per metric that the last
// block counts, because a metric may go over to another class or group.
type column struct {
	block *metric.Block
	n     int
}

// New makes a Sink that holds nothing yet.
func New() *Sink { return &Sink{columns: make(map[string]column)} }

// Append puts what was read in the place of what was read before.
func (s *Sink) Append(t *metric.Tick) error {
	for _, b := range t.Blocks {
		b = b.Clone()
		s.mu.Lock()
		for n, d := range b.Group.Metrics {
			s.columns[d.Name] = column{b, n}
		}
		s.mu.Unlock()
	}
	return nil
}

// All gives the present values in the order of the metrics' names; the instances
// of one metric are of one instant.
func (s *Sink) All() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		s.mu.RLock()
		columns := maps.Clone(s.columns)
		s.mu.RUnlock()
		for _, name := range slices.Sorted(maps.Keys(columns)) {
			b, n := columns[name].block, columns[name].n
			d := b.Group.Metrics[n]
			for row, in := range b.Rows {
				if !yield(Value{Desc: d, Instance: in, Value: b.Cols[n].At(d.Type, row), At: b.At}) {
					return
				}
			}
		}
	}
}

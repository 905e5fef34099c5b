// Package computed evaluates the metrics that are computed and not recorded, from two
// readings of the machine. recorder probe shows them. It evaluates the same expressions
// as replay does, so that both show the same values.
package computed

import (
	"iter"
	"strings"
	"time"

	"tachograph/sample/metric"
	"tachograph/sample/probe"
	"tachograph/store"
	"tachograph/store/query"
	"tachograph/store/recent"
)

// Set is the computed metrics that were selected.
type Set struct {
	catalog  map[string]*metric.Desc
	formulas []Formula
	inputs   map[string]bool
}

// Formula is one of them.
type Formula struct {
	Desc *metric.Desc
	// Inputs are the metrics that it is computed from.
	Inputs []*metric.Desc
	// Twice says that it needs two readings.
	Twice bool
	set   *Set
	expr  *query.Expr
}

// New makes a Set of the computed metrics of catalog that want accepts. It returns an error for
// a formula that cannot be compiled, which is a mistake in catalog.
func New(catalog []*metric.Desc, want func(*metric.Desc) bool) (*Set, error) {
	s := &Set{catalog: make(map[string]*metric.Desc), inputs: make(map[string]bool)}
	for _, d := range catalog {
		s.catalog[d.Name] = d
	}
	known := recent.New(recent.Keep{})
	known.Describe(catalog...)
	for _, d := range catalog {
		if d.Formula == "" || !want(d) {
			continue
		}
		e, err := query.Compile(known, nil, d.Name)
		if err != nil {
			return nil, err
		}
		f := Formula{Desc: d, set: s, expr: e, Twice: e.IsRate() || strings.Contains(d.Formula, "delta(") || strings.Contains(d.Formula, "rate(")}
		for _, name := range e.Metrics() {
			s.inputs[name] = true
			f.Inputs = append(f.Inputs, s.catalog[name])
		}
		s.formulas = append(s.formulas, f)
	}
	return s, nil
}

// Formulas returns the formulas of the set.
func (s *Set) Formulas() []Formula { return s.formulas }

// Needs reports whether d is an input of one of the set's formulas.
func (s *Set) Needs(d *metric.Desc) bool { return s.inputs[d.Name] }

// Lines returns the values of the set at the second reading.
func (s *Set) Lines(first, second probe.Snapshot) ([]probe.Line, error) {
	a := s.archive(first.Readings, second.Readings)
	var lines []probe.Line
	for _, f := range s.formulas {
		for v, err := range f.values(a) {
			if err != nil {
				return nil, err
			}
			l := probe.Line{Metric: f.Desc.Name, Units: f.Desc.Units.String(), Semantics: f.Desc.Sem, Value: v.Value}
			if v.Instance != nil {
				l.Instance = v.Instance.Name
			}
			lines = append(lines, l)
		}
	}
	return lines, nil
}

// Values returns the values of f at the second reading of its inputs.
func (f *Formula) Values(first, second []probe.Value) iter.Seq2[probe.Value, error] {
	return f.values(f.set.archive(first, second))
}

func (f *Formula) values(a *recent.Archive) iter.Seq2[probe.Value, error] {
	return func(yield func(probe.Value, error) bool) {
		for series, err := range query.Evaluate(a, f.expr, query.Request{Mode: query.Shown}) {
			if err != nil {
				yield(probe.Value{}, err)
				return
			}
			last := len(series.Wall) - 1
			if last < 0 || series.Wall[last] != secondLook {
				continue
			}
			if !yield(probe.Value{Desc: f.Desc, Instance: series.Instance, Value: whole(f.Desc, series.Value(last))}, nil) {
				return
			}
		}
	}
}

// whole cuts off the fraction of a value if its metric is a whole number.
func whole(d *metric.Desc, v metric.Value) metric.Value {
	if v.Miss != metric.Present || d.Type.Float() {
		return v
	}
	return metric.Value{Type: d.Type, Bits: uint64(int64(v.Number()))}
}

// The wall clocks of the two readings: all values of a reading count as read at the same
// instant. The time between the readings is measured by the clock of each metric.
const firstLook, secondLook = 1e9, 2e9

// archive returns two readings of the set's inputs as an archive of two ticks.
func (s *Set) archive(first, second []probe.Value) *recent.Archive {
	a := recent.New(recent.Keep{})
	for name := range s.inputs {
		a.Describe(s.catalog[name])
	}
	looks := [...]*metric.Tick{s.tick(first, firstLook), s.tick(second, secondLook)}
	// The time between the readings is no gap, however long it was.
	every, info := int64(secondLook-firstLook), &store.ArchiveInfo{ID: "probe", Host: metric.Host{ID: "probe"}}
	for _, early := range looks[0].Blocks {
		for _, late := range looks[1].Blocks {
			every = max(every, late.At.Cont-early.At.Cont)
		}
	}
	for c := range info.Intervals {
		info.Intervals[c] = time.Duration(every)
	}
	for _, t := range looks {
		a.Tick(info, t)
	}
	return a
}

// tick returns one reading of the set's inputs. Each block has one metric, read at one instant.
func (s *Set) tick(values []probe.Value, wall int64) *metric.Tick {
	t := &metric.Tick{At: metric.Stamp{Wall: wall}}
	var b *metric.Block
	for i := range values {
		v := &values[i]
		if !s.inputs[v.Desc.Name] {
			continue
		}
		if b == nil || b.Group.Metrics[0] != v.Desc || b.At.Cont != v.At.Cont {
			b = &metric.Block{Group: &metric.Group{Name: v.Desc.Name, Indom: v.Desc.Indom, Metrics: []*metric.Desc{v.Desc}},
				At: metric.Stamp{Wall: wall, Cont: v.At.Cont}, Cols: make([]metric.Column, 1)}
			t.Blocks = append(t.Blocks, b)
		}
		b.Rows = append(b.Rows, v.Instance)
		b.Cols[0].Push(v.Value)
	}
	return t
}

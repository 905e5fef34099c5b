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
	"tachograph/store/derive"
	"tachograph/store/query"
)

// Set are the computed metrics that are wanted.
type Set struct {
	catalog  map[string]*metric.Desc
	formulas []Formula
	inputs   map[string]bool
}

// Formula is one of them.
type Formula struct {
	Desc *metric.Desc
	// Inputs are what it is computed from.
	Inputs []*metric.Desc
	// Twice says that it takes two readings.
	Twice bool
	set   *Set
	expr  *query.Expr
}

// New takes the computed metrics of catalog that want accepts. A formula that
// cannot be compiled is an error: catalog is at fault.
func New(catalog []*metric.Desc, want func(*metric.Desc) bool) (*Set, error) {
	s := &Set{catalog: make(map[string]*metric.Desc), inputs: make(map[string]bool)}
	for _, d := range catalog {
		s.catalog[d.Name] = d
	}
	for _, d := range catalog {
		if d.Formula == "" || !want(d) {
			continue
		}
		e, err := query.Compile(&looks{set: s}, nil, d.Name)
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

// Formulas are those of the set.
func (s *Set) Formulas() []Formula { return s.formulas }

// Needs reports whether d is an input of one of the set's formulas.
func (s *Set) Needs(d *metric.Desc) bool { return s.inputs[d.Name] }

// Lines are the values of the set at the second reading.
func (s *Set) Lines(first, second probe.Snapshot) ([]probe.Line, error) {
	a := newLooks(s, first.Readings, second.Readings)
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

// Values are those of f at the second reading of its inputs.
func (f *Formula) Values(first, second []probe.Value) iter.Seq2[probe.Value, error] {
	return f.values(newLooks(f.set, first, second))
}

func (f *Formula) values(a *looks) iter.Seq2[probe.Value, error] {
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

// whole cuts the fraction off a value whose metric has none.
func whole(d *metric.Desc, v metric.Value) metric.Value {
	if v.Miss != metric.Present || d.Type.Float() {
		return v
	}
	return metric.Value{Type: d.Type, Bits: uint64(int64(v.Number()))}
}

// The wall clocks of the two readings: within one, everything counts as read
// at the same instant. What has passed between them is measured by the clock
// of each metric.
const firstLook, secondLook = 1e9, 2e9

// looks shows two readings as an archive of two ticks.
type looks struct {
	derive.Answers
	set  *Set
	info *store.ArchiveInfo
	runs map[string][]*store.Run // by metric
}

func newLooks(s *Set, first, second []probe.Value) *looks {
	a := &looks{set: s, runs: make(map[string][]*store.Run), info: &store.ArchiveInfo{
		ID: "probe", Host: metric.Host{ID: "probe"}, From: firstLook, To: secondLook,
	}}
	a.Answers = derive.Answers{From: a}
	type series struct{ metric, key string }
	runs := make(map[series]*store.Run)
	for i, values := range [][]probe.Value{first, second} {
		wall := []int64{firstLook, secondLook}[i]
		for _, r := range values {
			if !s.inputs[r.Desc.Name] {
				continue
			}
			id := series{r.Desc.Name, r.Key()}
			run := runs[id]
			if run == nil {
				run = &store.Run{Archive: a.info, Metric: r.Desc, Instance: r.Instance}
				runs[id] = run
				a.runs[id.metric] = append(a.runs[id.metric], run)
			}
			run.Wall = append(run.Wall, wall)
			run.Cont = append(run.Cont, r.At.Cont)
			run.Push(r.Value)
		}
	}
	// What has passed between the readings is no gap, however long it was.
	every := int64(secondLook - firstLook)
	for _, run := range runs {
		every = max(every, run.Cont[len(run.Cont)-1]-run.Cont[0])
	}
	for c := range a.info.Intervals {
		a.info.Intervals[c] = time.Duration(every)
	}
	return a
}

func (a *looks) Hosts() []metric.Host           { return []metric.Host{a.info.Host} }
func (a *looks) Archives() []*store.ArchiveInfo { return []*store.ArchiveInfo{a.info} }

func (a *looks) Metrics() []*metric.Desc {
	ds := make([]*metric.Desc, 0, len(a.set.catalog))
	for _, d := range a.set.catalog {
		ds = append(ds, d)
	}
	return ds
}

func (a *looks) Lookup(name string) *metric.Desc { return a.set.catalog[name] }

func (a *looks) LookupIn(_ *store.ArchiveInfo, name string) *metric.Desc { return a.Lookup(name) }

func (a *looks) View(store.Limits) store.Archive { return a }

func (a *looks) Select(sel store.Selection) iter.Seq[*store.Run] {
	return func(yield func(*store.Run) bool) {
		for _, name := range sel.Metrics {
			for _, run := range a.runs[name] {
				if run.Instance != nil && sel.Instance != nil && !sel.Instance(run.Metric.Indom, run.Instance) {
					continue
				}
				if !yield(run) {
					return
				}
			}
		}
	}
}

// Lives and Events have nothing to tell of two readings.
func (a *looks) Lives(string, int64, int64, ...string) iter.Seq[*store.Life] {
	return func(func(*store.Life) bool) {}
}

func (a *looks) Events(int64, int64, ...metric.EventKind) iter.Seq[*store.Event] {
	return func(func(*store.Event) bool) {}
}

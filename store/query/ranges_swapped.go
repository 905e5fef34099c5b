package query

import (
	"slices"

	"tachograph/sample/metric"
	"tachograph/store"
)

// regain recomputes the gains of counters whose instance came or went in the window: summaries do
// not show that an instance with the same key may be another thing from then on. What one thing
// had counted before is no gain of another.
func regain(a Archive, r RangeRequest, order []*tally, byID map[seriesID]*tally) {
	if !slices.ContainsFunc(order, func(t *tally) bool {
		return t.Instance != nil && t.Metric.Sem == metric.Counter && !metric.PerBoot(t.Metric.Indom)
	}) {
		return
	}
	breaks := readBreaks(a, r.Window)
	swapped := make(map[*tally]bool)
	keys := make(map[string]bool)
	var names []string
	for _, t := range order {
		if t.Instance == nil || t.Metric.Sem != metric.Counter || !breaks.anyOf(t.Archive.Host.ID, t.Metric.Indom, t.Instance.Key) {
			continue
		}
		t.Increase, t.Steady, t.Resets, t.Wraps = 0, 0, 0, 0
		swapped[t], keys[t.Instance.Key] = true, true
		if !slices.Contains(names, t.Name) {
			names = append(names, t.Name)
		}
	}
	if len(names) == 0 {
		return
	}
	sel := r.selection()
	sel.Metrics = names
	sel.Instance = func(indom string, in *metric.Instance) bool {
		return keys[in.Key] && (r.Instance == nil || r.Instance(indom, in))
	}
	last := make(map[*tally]*lastReading)
	for run := range a.Select(sel) {
		t := byID[idOf(run.Archive, run.Metric, run.Instance)]
		if !swapped[t] {
			continue
		}
		if last[t] == nil {
			last[t] = &lastReading{}
		}
		t.regain(run, breaks, last[t])
	}
}

// regain adds what a run of values gained since the last reading.
func (t *tally) regain(run *store.Run, b breaks, last *lastReading) {
	machine, own := b.of(run.Archive), b.ofInstance(run.Archive, run.Metric.Indom, run.Instance)
	for i, wall := range run.Wall {
		if run.Miss != nil && run.Miss[i] != metric.Present {
			continue
		}
		prev := *last
		*last = lastReading{Point: store.Point{Wall: wall, Cont: run.Cont[i], Bits: run.Bits[i]}, archive: run.Archive}
		if prev.archive == nil || prev.archive.BootID != run.Archive.BootID {
			continue
		}
		if _, other := between(own, prev.Cont, last.Cont); other {
			continue
		}
		gain, step := metric.Increase(t.Metric, prev.Bits, last.Bits, float64(last.Cont-prev.Cont)/1e9)
		t.count(step)
		t.Increase += gain
		if _, broken := between(machine, prev.Cont, last.Cont); !broken {
			t.Steady += gain
		}
	}
}

package derive

import (
	"slices"

	"tachograph/sample/metric"
	"tachograph/store"
)

// A Part holds all values of an archive as runs, in the order of Select.
type Part struct {
	Info *store.ArchiveInfo
	Runs []*store.Run
}

func (p *Part) Describe() *store.ArchiveInfo { return p.Info }

func (p *Part) Contain(fn func() bool) bool { return fn() }

// Within plans the values in the window of sel.
func (p *Part) Within(sel *store.Selection) store.Plan {
	var runs plan
	for _, run := range p.Runs {
		if sel.Wants(run.Metric.Name) && sel.Accepts(run.Metric.Indom, run.Instance) {
			if in := clip(run, sel); len(in.Wall) > 0 {
				runs = append(runs, in)
			}
		}
	}
	return runs
}

// Before plans the last value of each series that is before the window of sel, and before the
// first value of the series in the window.
func (p *Part) Before(sel *store.Selection, later store.Plan) store.Plan {
	type series struct {
		metric string
		in     *metric.Instance
	}
	begun, place := make(map[series]bool), make(map[series]int)
	var runs plan
	for _, run := range p.Runs {
		of := series{run.Metric.Name, run.Instance}
		if begun[of] || later != nil && later.Has(of.metric) || !sel.Wants(of.metric) || !sel.Accepts(run.Metric.Indom, of.in) {
			continue
		}
		n := slices.IndexFunc(run.Wall, sel.Holds)
		if begun[of] = n >= 0; n < 0 {
			n = len(run.Wall)
		}
		for n--; n >= 0 && run.Wall[n] >= sel.From; n-- {
		}
		if n < 0 {
			continue
		}
		at, known := place[of]
		if !known {
			at = len(runs)
			place[of], runs = at, append(runs, store.Run{})
		}
		runs[at] = Cut(run, n, n+1)
	}
	return runs
}

// A plan is the selected runs.
type plan []store.Run

func (p plan) Has(metric string) bool {
	return slices.ContainsFunc(p, func(run store.Run) bool { return run.Metric.Name == metric })
}

func (p plan) Runs(yield func(*store.Run) bool) bool {
	for i := range p {
		if !yield(&p[i]) {
			return false
		}
	}
	return true
}

// clip returns the values of a run that are in the window.
func clip(run *store.Run, sel *store.Selection) store.Run {
	lo := slices.IndexFunc(run.Wall, sel.Holds)
	if lo < 0 {
		return store.Run{}
	}
	hi := lo
	for hi < len(run.Wall) && sel.Holds(run.Wall[hi]) {
		hi++
	}
	if !slices.ContainsFunc(run.Wall[hi:], sel.Holds) {
		return Cut(run, lo, hi)
	}
	part := *run
	part.Wall, part.Cont, part.Column = nil, nil, metric.Column{}
	for i, wall := range run.Wall {
		if sel.Holds(wall) { // The clock was set back.
			part.Wall, part.Cont = append(part.Wall, wall), append(part.Cont, run.Cont[i])
			part.Push(run.At(i))
		}
	}
	return Cut(&part, 0, len(part.Wall))
}

// Cut returns the values lo to hi of a run.
func Cut(run *store.Run, lo, hi int) store.Run {
	part := *run
	part.Wall, part.Cont, part.Bits = run.Wall[lo:hi], run.Cont[lo:hi], run.Bits[lo:hi]
	if part.Miss = nil; run.Miss != nil && slices.ContainsFunc(run.Miss[lo:hi], absent) {
		part.Miss = run.Miss[lo:hi]
	}
	return part
}

func absent(why metric.Reason) bool { return why != metric.Present }

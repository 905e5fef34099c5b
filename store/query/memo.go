package query

import (
	"iter"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store"
)

// memo is an Archive that remembers the values of metrics from an instant on. Where readings are
// not as far apart as they should be, each slice of an expression holds few of a chunk's values,
// and each slice would decode the whole chunk: hundreds of times for a chunk whose times are
// spread over centuries.
type memo struct {
	Archive
	from int64
	of   map[string][]*store.Run // nil for metrics with too many values
	left int                     // how many more values are kept
}

// mostRemembered is how many values a memo keeps, 24 bytes each.
const mostRemembered = 1 << 20

func newMemo(a Archive, from int64) *memo {
	return &memo{Archive: a, from: from, of: make(map[string][]*store.Run), left: mostRemembered}
}

// Select is the Archive's Select, but decodes each metric only once where it can.
func (m *memo) Select(sel store.Selection) iter.Seq[*store.Run] {
	if len(sel.Metrics) != 1 || sel.From < m.from {
		return m.Archive.Select(sel)
	}
	name := sel.Metrics[0]
	runs, known := m.of[name]
	if !known {
		runs = m.read(sel.Hosts, name)
		m.of[name] = runs
	}
	if runs == nil {
		return m.Archive.Select(sel)
	}
	return func(yield func(*store.Run) bool) {
		wanted := func(run *store.Run) bool {
			in := run.Instance
			return in == nil || (sel.Instance == nil || sel.Instance(run.Metric.Indom, in)) && (sel.Keys == nil || slices.Contains(sel.Keys, in.Key))
		}
		if sel.Prior && !priors(runs, sel, wanted, yield) {
			return
		}
		var part store.Run
		for _, run := range runs {
			if part = clip(run, sel); len(part.Wall) > 0 && wanted(run) && !yield(&part) {
				return
			}
		}
	}
}

// read reads a metric from m.from to the end; nil if it has too many values.
func (m *memo) read(hosts []string, name string) []*store.Run {
	runs, left := []*store.Run{}, m.left
	for run := range m.Archive.Select(store.Selection{Hosts: hosts, Metrics: []string{name}, From: m.from, Prior: true}) {
		if left -= len(run.Wall); left < 0 || run.Words != nil {
			return nil
		}
		runs = append(runs, copied(run))
	}
	m.left = left
	return runs
}

// holds reports whether a wall clock time is in the window of sel.
func holds(sel store.Selection, wall int64) bool {
	return wall >= sel.From && (sel.To == 0 || wall <= sel.To)
}

// clip returns the part of a run that is in the window.
func clip(run *store.Run, sel store.Selection) store.Run {
	part := *run
	lo := slices.IndexFunc(run.Wall, func(wall int64) bool { return holds(sel, wall) })
	if lo < 0 {
		part.Wall = nil
		return part
	}
	hi := lo
	for hi < len(run.Wall) && holds(sel, run.Wall[hi]) {
		hi++
	}
	if !slices.ContainsFunc(run.Wall[hi:], func(wall int64) bool { return holds(sel, wall) }) {
		return cutRun(run, lo, hi)
	}
	part.Wall, part.Cont, part.Column = nil, nil, metric.Column{}
	for i, wall := range run.Wall {
		if holds(sel, wall) { // The clock was set back.
			part.Wall, part.Cont = append(part.Wall, wall), append(part.Cont, run.Cont[i])
			part.Push(run.At(i))
		}
	}
	return part
}

// cutRun returns the values lo to hi of a run.
func cutRun(run *store.Run, lo, hi int) store.Run {
	part := *run
	part.Wall, part.Cont, part.Bits = run.Wall[lo:hi], run.Cont[lo:hi], run.Bits[lo:hi]
	if run.Miss != nil {
		part.Miss = run.Miss[lo:hi]
	}
	return part
}

// priors yields the last value of each series before its first one in the window.
func priors(runs []*store.Run, sel store.Selection, wanted func(*store.Run) bool, yield func(*store.Run) bool) bool {
	type series struct {
		boot string
		id   seriesID
	}
	type place struct {
		run *store.Run
		i   int
	}
	last, begun := make(map[series]place), make(map[series]bool)
	var order []series
	for _, run := range runs {
		of := series{run.Archive.BootID, idOf(run.Archive, run.Metric, run.Instance)}
		if begun[of] || !wanted(run) {
			continue
		}
		n := slices.IndexFunc(run.Wall, func(wall int64) bool { return holds(sel, wall) })
		begun[of] = n >= 0
		if n < 0 {
			n = len(run.Wall)
		}
		for n--; n >= 0 && run.Wall[n] >= sel.From; n-- {
		}
		if n >= 0 {
			if _, known := last[of]; !known {
				order = append(order, of)
			}
			last[of] = place{run, n}
		}
	}
	for _, of := range order {
		at := last[of]
		if part := cutRun(at.run, at.i, at.i+1); !yield(&part) {
			return false
		}
	}
	return true
}

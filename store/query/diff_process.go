package query

import (
	"math"
	"slices"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
)

// aspects of processes that are compared, each with the unit amount that is
// worth a line and the one that is a lot.
var aspects = []struct {
	name  string
	of    func(*Consumer, float64) float64
	units metric.Units
	rate  bool
}{
	{"cpu", func(c *Consumer, sec float64) float64 { return c.CPUTime() / sec }, metric.NoUnits, true},
	{"memory", func(c *Consumer, _ float64) float64 { return c.Mean }, metric.Bytes, false},
	{"read", func(c *Consumer, sec float64) float64 { return c.Gains[ReadBytes] / sec }, metric.Units{Space: 1, Time: -1, TimeScale: metric.Sec}, true},
	{"write", func(c *Consumer, sec float64) float64 { return c.Gains[WrittenBytes] / sec }, metric.Units{Space: 1, Time: -1, TimeScale: metric.Sec}, true},
}

// usage is what processes of each name used in a window.
type usage struct {
	byName  map[string]*Consumer
	seconds float64
	from    int64
	to      int64
	every   int64 // interval of the process class
}

// usage is that of all processes, or of those called by the names.
func (d *differ) usage(w Window, names map[string]bool) (*usage, error) {
	t := &topper{a: d.a, group: PerName, digested: true, names: names}
	if err := t.bounds(w); err != nil {
		return nil, err
	}
	fields := mapFields(d.a, []ProcessCounter{UserTime, SystemTime, ReadBytes, WrittenBytes}, []ProcessLevel{Footprint, Resident})
	u := &usage{byName: make(map[string]*Consumer), seconds: math.Max(float64(t.w.To-t.w.From)/1e9, 1e-9), from: t.w.From, to: t.w.To, every: t.every}
	t.add(fields, nil)
	for _, c := range t.groups {
		u.byName[c.Name] = c
	}
	return u, nil
}

// amount is what processes called name used; nothing if there were none.
func (u *usage) amount(name string, of func(*Consumer, float64) float64) float64 {
	c := u.byName[name]
	if c == nil {
		return 0
	}
	x := of(c, u.seconds)
	if x != x {
		return 0
	}
	return x
}

// processImpact is how much of the machine a difference in an aspect is.
func (d *differ) processImpact(aspect string, diff float64) float64 {
	switch aspect {
	case "cpu":
		return math.Min(diff/d.cores, 1)
	case "memory":
		if d.memory > 0 {
			return math.Min(diff/d.memory, 1)
		}
		return math.Min(diff/16e9, 1)
	}
	return math.Min(decades(1+diff/1e5)/3, 1) * 0.8
}

// A processPair is what processes used in both windows, and in the usual ones those
// that are in question.
type processPair struct {
	a, b  *usage
	usual []*usage
}

// changedNames are those of processes that changed, be it usual or not.
func (d *differ) changedNames(p *processPair) map[string]bool {
	names := make(map[string]bool)
	for _, c := range d.compareUsage(p.a, p.b, nil, func(*Change) bool { return true }) {
		names[c.Subject] = true
	}
	p.usual = make([]*usage, len(d.usual)) // unlike nil: it is known
	return names
}

// usually is the question what processes of the names use in a usual window.
func (p *processPair) usually(d *differ, n int, names map[string]bool) func(Archive) error {
	return func(a Archive) (err error) {
		p.usual[n], err = d.asking(a).usage(d.usual[n], names)
		return err
	}
}

// processes are the changes of those of the names.
func (d *differ) processes(p *processPair, names map[string]bool) []*Change {
	if len(names) == 0 {
		return nil
	}
	out := d.compareUsage(p.a, p.b, p.usual, d.steady)
	d.describe(out)
	return out
}

// compareUsage lists what changed from a to b and is not usual, if keep says so of
// what went on before and after.
func (d *differ) compareUsage(a, b *usage, usual []*usage, keep func(*Change) bool) []*Change {
	var out []*Change
	for name, c := range b.byName {
		_, before := a.byName[name]
		known := slices.ContainsFunc(usual, func(u *usage) bool { return u.byName[name] != nil })
		if before || known || usual == nil {
			if change := d.processChange(name, a, b, usual, keep); change != nil {
				out = append(out, change)
			}
		}
		if before || known {
			continue
		}
		if change := d.processNew(c, b); change != nil {
			out = append(out, change)
		}
	}
	for name, c := range a.byName {
		if left := b.byName[name]; left == nil || left.To < b.to-3*d.every {
			if change := d.processGone(c, left, a, usual); change != nil {
				out = append(out, change)
			}
		}
	}
	return out
}

// processChange compares what processes of one name used; the aspect that
// changed most leads, the others are told with it.
func (d *differ) processChange(name string, a, b *usage, usual []*usage, keep func(*Change) bool) *Change {
	var found []*Change
	for _, as := range aspects {
		before, after := a.amount(name, as.of), b.amount(name, as.of)
		diff := math.Abs(after - before)
		impact := d.processImpact(as.name, diff)
		if impact < leastImpact || relative(before, after) < leastRelative {
			continue
		}
		if as.name == "cpu" && diff < 0.05 || (as.name == "read" || as.name == "write") && diff < 2e5 {
			continue
		}
		var others []float64
		for _, u := range usual {
			others = append(others, u.amount(name, as.of))
		}
		if !unusual(before, after, others) {
			continue
		}
		spread := together(append(sample(others), before).deviation(), 0.1*math.Max(before, 0.2*after))
		c := &Change{Kind: ProcessChange, Archive: b.byName[name].Archive, Subject: name, Aspect: as.name, Before: before, After: after,
			Units: as.units, Rate: as.rate, Impact: impact, Process: b.byName[name]}
		c.Effect = math.Min(diff/spread, 50)
		if c.Effect < leastEffect/2 {
			continue
		}
		c.Score = score(c)
		if keep(c) {
			found = append(found, c)
		}
	}
	if len(found) == 0 {
		return nil
	}
	sortChanges(found)
	found[0].Also = found[1:]
	return found[0]
}

// steady reports whether a process's difference is there in most of its slots
// and not a burst that falls into one of the windows.
func (d *differ) steady(c *Change) bool {
	fields := mapFields(d.a, []ProcessCounter{UserTime, SystemTime, ReadBytes, WrittenBytes}, []ProcessLevel{Footprint, Resident})
	var names []string
	want := map[string][]ProcessCounter{"cpu": {UserTime, SystemTime}, "read": {ReadBytes}, "write": {WrittenBytes}}[c.Aspect]
	for _, name := range fields.names {
		if f, ok := fields.counts(name); ok && slices.Contains(want, f) {
			names = append(names, name)
		}
	}
	if c.Aspect == "memory" {
		return true // Memory does not come in bursts; its mean is over time already.
	}
	keep := func(_ string, in *metric.Instance) bool { return ProcessName(in) == c.Subject }
	var parts [2]map[int64]float64
	for i, w := range []Window{d.r.A, d.r.B} {
		parts[i] = make(map[int64]float64)
		r := Request{Window: w, Metrics: names, Instance: keep, Mode: Shown, Step: max((w.To-w.From)/slots, 1), Origin: w.From}
		for s, err := range Read(d.a, r) {
			if err != nil {
				return true
			}
			for k, wall := range s.Wall {
				if x := s.Value(k).Number(); x == x {
					parts[i][(wall-w.From-1)/r.Step] += x
				}
			}
		}
	}
	fill := func(m map[int64]float64) sample {
		out := make(sample, slots)
		for k := range out {
			out[k] = m[int64(k)]
		}
		return out
	}
	return separation(fill(parts[0]), fill(parts[1])) >= leastOverlap
}

// processNew is a process that neither the first window nor the usual ones
// know, if it stayed or used much.
func (d *differ) processNew(c *Consumer, b *usage) *Change {
	impact := 0.0
	for _, as := range aspects {
		if x := as.of(c, b.seconds); x == x {
			impact = max(impact, d.processImpact(as.name, x))
		}
	}
	stayed := float64(c.To-c.From)/1e9 > b.seconds/2 && c.To >= b.to-3*d.every
	if impact < leastImpact && !stayed {
		return nil
	}
	ch := &Change{Kind: ProcessNew, Archive: c.Archive, Subject: c.Name, Process: c, Before: 0, After: c.CPUTime() / b.seconds,
		Units: metric.NoUnits, Rate: true, Impact: impact, Effect: leastEffect, At: c.From}
	ch.Score = 0.1 + float64(math.Sqrt(impact)*0.9)
	if !stayed {
		ch.Score /= 2
	}
	return ch
}

// settled is how many of the latest usual windows must know a process before
// it counts as one that is always there.
const settled = 3

// processGone is a process that was there all the time, and is no more; left
// is what the second window saw of it.
func (d *differ) processGone(c, left *Consumer, a *usage, usual []*usage) *Change {
	if float64(c.To-c.From)/1e9 < a.seconds*0.6 {
		return nil
	}
	for _, u := range usual[:min(settled, len(usual))] {
		if u.byName[c.Name] == nil {
			return nil
		}
	}
	if left != nil {
		c.To = left.To
	}
	impact := 0.0
	for _, as := range aspects {
		if x := as.of(c, a.seconds); x == x {
			impact = max(impact, d.processImpact(as.name, x))
		}
	}
	ch := &Change{Kind: ProcessVanished, Archive: c.Archive, Subject: c.Name, Process: c, Before: c.CPUTime() / a.seconds,
		Units: metric.NoUnits, Rate: true, Impact: impact, Effect: leastEffect, At: c.To}
	ch.Score = 0.12 + float64(math.Sqrt(impact)*0.8)
	return ch
}

// describe finds users, starts and ends of the processes that lines are about.
func (d *differ) describe(list []*Change) {
	byKey := make(map[string]*Change)
	for _, c := range list {
		if c.Process != nil {
			byKey[c.Process.Instance.Key] = c
		}
	}
	if len(byKey) == 0 {
		return
	}
	w := Window{Hosts: []string{d.r.Host}, From: d.r.A.From, To: d.r.B.To}
	sel := w.Selection(userMetric)
	sel.Instance = func(_ string, in *metric.Instance) bool { return byKey[in.Key] != nil }
	for run := range d.a.Select(sel) {
		if c := byKey[run.Instance.Key]; c != nil && len(run.Wall) > 0 {
			c.Process.User = run.Word(len(run.Wall) - 1)
		}
	}
	gone := false
	for _, c := range list {
		gone = gone || c.Kind == ProcessVanished
	}
	if !gone {
		return
	}
	for e := range d.a.Events(w.From, w.To+int64(time.Minute), metric.EventProcessExit) {
		if c := byKey[e.Key]; c != nil && c.Kind == ProcessVanished && e.Archive.Host.ID == d.r.Host {
			copied := store.Event{Event: e.Event, Archive: e.Archive}
			c.Exit = &copied
		}
	}
}

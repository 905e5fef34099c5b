package query

import (
	"maps"
	"math"
	"slices"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
)

// aspects are what is compared of processes: each with its amount, given the seconds of a window,
// its units, whether it is a rate, and what it is computed from.
var aspects = []struct {
	name     string
	of       func(*Consumer, float64) float64
	units    metric.Units
	rate     bool
	counters []ProcessCounter
	levels   []ProcessLevel
}{
	{"cpu", func(c *Consumer, sec float64) float64 { return c.CPUTime() / sec }, metric.NoUnits, true, []ProcessCounter{UserTime, SystemTime}, nil},
	{"memory", func(c *Consumer, _ float64) float64 { return c.Mean }, metric.Bytes, false, nil, []ProcessLevel{Footprint, Resident}},
	{"read", func(c *Consumer, sec float64) float64 { return c.Gains[ReadBytes] / sec }, bytesPerSecond, true, []ProcessCounter{ReadBytes}, nil},
	{"write", func(c *Consumer, sec float64) float64 { return c.Gains[WrittenBytes] / sec }, bytesPerSecond, true, []ProcessCounter{WrittenBytes}, nil},
	{"receive", func(c *Consumer, sec float64) float64 { return c.Gains[NetIn] / sec }, bytesPerSecond, true, []ProcessCounter{NetIn}, nil},
	{"send", func(c *Consumer, sec float64) float64 { return c.Gains[NetOut] / sec }, bytesPerSecond, true, []ProcessCounter{NetOut}, nil},
}

var bytesPerSecond = metric.Units{Space: 1, Time: -1, TimeScale: metric.Sec}

// aspectSet has a bit for each of some aspects, by their places in aspects.
type aspectSet uint

const (
	noAspects  aspectSet = 0
	allAspects aspectSet = 1<<6 - 1
)

func (s aspectSet) has(i int) bool { return s>>i&1 != 0 }

// fields returns what the aspects are computed from.
func (s aspectSet) fields(a Archive) *fieldMap {
	var counters []ProcessCounter
	var levels []ProcessLevel
	for i, as := range aspects {
		if s.has(i) {
			counters, levels = append(counters, as.counters...), append(levels, as.levels...)
		}
	}
	return mapFields(a, counters, levels)
}

// usage is what processes of each name used in a window.
type usage struct {
	byName  map[string]*Consumer
	seconds float64
	from    int64
	to      int64
	every   int64 // interval of the process class
}

// usage returns what all processes used, or those with the names: of these at least the given
// aspects, and whether there were any.
func (d *differ) usage(w Window, names map[string]aspectSet) (*usage, error) {
	t := &topper{a: d.a, group: d.group(), digested: true}
	if err := t.bounds(w); err != nil {
		return nil, err
	}
	u := &usage{byName: make(map[string]*Consumer), seconds: d.seconds(t.w), from: t.w.From, every: t.every}
	if names == nil || d.group() != PerName {
		u.add(t, allAspects.fields(d.a))
		return u, nil
	}
	of := noAspects
	for _, s := range names {
		of |= s
	}
	if of == noAspects {
		of = 1 // Any will do to see whether they were there.
	}
	unseen := make(map[string]bool)
	t.silent = func(name string) {
		if _, asked := names[name]; asked {
			unseen[name] = true
		}
	}
	t.names = func(name string) bool {
		t.silent(name)
		return unseen[name]
	}
	u.add(t, of.fields(d.a))
	maps.DeleteFunc(unseen, func(name string, _ bool) bool { return u.byName[name] != nil })
	if len(unseen) > 0 && of != allAspects {
		// Something else of them may have been read.
		t.silent, t.names = nil, func(name string) bool { return unseen[name] }
		u.add(t, allAspects.fields(d.a))
	}
	return u, nil
}

// add adds what the processes that t accepts used.
func (u *usage) add(t *topper, fields *fieldMap) {
	t.add(fields, nil)
	// The mean memory is computed over wall clock time; the other values use seconds.
	walls, every := t.own[t.w.Hosts[0]], float64(t.every)/1e9
	for _, c := range t.groups {
		if t.group != PerName && c.Name == "" {
			continue // They belong to no such owner.
		}
		c.Mean *= (walls + every) / (u.seconds + every)
		u.byName[c.Name] = c
		u.to = max(u.to, min(c.To+t.every, t.w.To)) // Nothing after t.w.To was seen.
	}
}

// amount returns what processes called name used; 0 if there were none.
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

// processImpact returns how much of the machine a difference in an aspect is.
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

// A processPair holds what processes used in both windows, and what the processes in question
// used in the usual windows.
type processPair struct {
	a, b  *usage
	usual []*usage
	gone  bool // some name may be gone
}

// leastReadings is how many times processes must have been read in a window.
const leastReadings = 3

// changedNames returns the names of processes that changed, whether that is usual or not, with the
// aspects in which they did.
func (d *differ) changedNames(p *processPair) map[string]aspectSet {
	names := make(map[string]aspectSet)
	if least := float64(leastReadings*p.b.every) / 1e9; p.a.seconds < least || p.b.seconds < least {
		return nil // Processes were not read often enough.
	}
	for _, c := range d.compareUsage(p.a, p.b, nil, func(*Change) bool { return true }) {
		names[c.Subject] = d.sizeableAspects(c.Subject, p)
		p.gone = p.gone || c.Kind == ProcessVanished
	}
	p.usual = []*usage{} // not nil: what is usual will be known
	return names
}

// sizeableAspects returns the aspects of a name whose differences are large enough for a line.
func (d *differ) sizeableAspects(name string, p *processPair) (s aspectSet) {
	for i, as := range aspects {
		if _, large := d.sizeable(as.name, p.a.amount(name, as.of), p.b.amount(name, as.of)); large {
			s |= 1 << i
		}
	}
	return s
}

// processes returns the changes of the processes with the names.
func (d *differ) processes(p *processPair, names map[string]aspectSet) []*Change {
	if len(names) == 0 {
		return nil
	}
	out := d.compareUsage(p.a, p.b, p.usual, d.steady)
	d.describe(out)
	return slices.DeleteFunc(out, d.finished)
}

// compareUsage lists what changed from a to b and is not usual, as far as keep accepts it by what
// went on before and after.
func (d *differ) compareUsage(a, b *usage, usual []*usage, keep func(*Change) bool) []*Change {
	var out []*Change
	var away []*Change // names that may have come or gone
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
			away = append(away, change)
		}
	}
	for name, c := range a.byName {
		if left := b.byName[name]; left == nil || b.to-left.To >= d.absence(b) {
			if change := d.processGone(c, left, a); change != nil {
				away = append(away, change)
			}
		}
	}
	if usual == nil {
		return append(out, away...)
	}
	if d.elsewhere() || len(away) == 0 {
		return append(out, away...)
	}
	return append(out, d.cameOrWent(away, a, b, usual, keep)...)
}

// absence is how long before the end of the second window a name must have been last seen to
// count as gone.
func (d *differ) absence(b *usage) int64 { return max((missedDue+1)*d.every, (b.to-b.from)/10) }

// usualTurnover is how many names may usually come, or go, in a window of this length: with more,
// it is no news that a name came or went that hardly used anything.
const usualTurnover = 0.2

// knownLength is how many times the length of the second window must have been recorded before it
// for what comes and goes in it to count as new: with less, it may be something that comes now
// and then.
const knownLength = 19

// knowsLong reports whether so much of the time before the second window was recorded.
func (d *differ) knowsLong(seen *sightings) bool {
	length := d.r.B.To - d.r.B.From
	return max(seen.length(d.r.B.From), int64(len(d.usual))*length) >= knownLength*length
}

// leastChance is the largest chance of a mere pause with which a name still counts as gone.
const leastChance = 0.003

// cameOrWent keeps the changes of names that had never been there, or that stayed away longer
// than ever before. For a name that was known before, what it used is compared instead.
func (d *differ) cameOrWent(list []*Change, a, b *usage, usual []*usage, keep func(*Change) bool) []*Change {
	seen := d.seen
	if seen == nil {
		seen = d.sightings()
	}
	usually := seen.turnover(d.r.B)
	var out []*Change
	for _, c := range list {
		spans := seen.spans[c.Subject]
		switch {
		case c.Kind == ProcessVanished:
			last := seen.last(c.Subject, b.to)
			c.At = max(c.At, last.to)
			c.Process.To = c.At
			length := d.r.B.To - d.r.B.From
			chance := seen.pauses(c.Subject, c.At).byChance(b.to-c.At, length)
			old := last.to - last.from
			switch ordinary := usually.went > usualTurnover && 2*old < 3*usually.oldest; {
			case seen.share(c.Subject, d.r.A) < mostlyThere, b.to-c.At < d.absence(b), chance > leastChance, c.Impact < seldomImpact && ordinary:
				continue
			case c.Impact < leastImpact && !seen.since(last) && old < max(historyTimes*length, int64(time.Hour)):
				continue // It might not have stayed longer anyway.
			}
		case len(spans) > 0 && spans[0].from < min(c.At, d.r.B.From)-seen.every:
			// It came again after a pause: only what it uses can be news.
			if change := d.processChange(c.Subject, a, b, usual, keep); change != nil {
				out = append(out, change)
			}
			continue
		case c.Impact < seldomImpact && !c.Stayed:
			continue // That something ran for a while means nothing if it used little.
		case c.Impact < leastImpact && usually.came > usualTurnover:
			continue
		case d.r.Usual == nil && (c.Impact < leastImpact || !c.Stayed && !d.moved[c.most]) && !d.knowsLong(seen):
			continue // It may come every hour.
		}
		out = append(out, c)
	}
	return out
}

// sizeable returns how much of the machine a difference in an aspect is, and whether that is large
// enough for a line.
func (d *differ) sizeable(aspect string, before, after float64) (impact float64, ok bool) {
	diff := math.Abs(after - before)
	impact = d.processImpact(aspect, diff)
	if impact < leastImpact || relative(before, after) < leastRelative {
		return impact, false
	}
	return impact, !(aspect == "cpu" && diff < 0.05 || aspect != "cpu" && aspect != "memory" && diff < 2e5)
}

// processChange compares what processes of one name used. It returns the aspect that changed
// most, with the others in Also.
func (d *differ) processChange(name string, a, b *usage, usual []*usage, keep func(*Change) bool) *Change {
	var found []*Change
	for _, as := range aspects {
		before, after := a.amount(name, as.of), b.amount(name, as.of)
		diff := math.Abs(after - before)
		impact, large := d.sizeable(as.name, before, after)
		if !large {
			continue
		}
		var others []float64
		known := 0
		for _, u := range usual {
			others = append(others, u.amount(name, as.of))
			if u.byName[name] != nil {
				known++
			}
		}
		if 4*known < 3*len(usual) && impact < seldomImpact || !unusual(before, after, others, extreme+seldom/float64(known+1)) {
			continue
		}
		spread := together(append(sample(others), before).deviation(), 0.1*math.Max(before, 0.2*after))
		c := &Change{Kind: ProcessChange, Archive: b.byName[name].Archive, Subject: name, Aspect: as.name, Before: before, After: after,
			Units: as.units, Rate: as.rate, Impact: impact, Process: b.byName[name]}
		// Sums of parts differ in their last digit from the sum of the whole.
		c.Effect = math.Min(math.Round(diff/spread*1e3)/1e3, 50)
		if c.Effect < leastEffect/2 {
			continue
		}
		c.Score = score(c)
		if after < before {
			c.Score *= lessScore // Less use is more often a consequence.
		}
		if ofKernel(b.byName[name]) {
			c.Score *= kernelScore
		}
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

const (
	// lessScore is the factor for processes that use less, against those that use more.
	lessScore = 0.6
	// kernelScore is the factor for threads of the kernel, against the processes that cause their
	// work.
	kernelScore = 0.5
)

// fewUsual is a number of other windows too small to show what is usual for a process.
const fewUsual = 6

// large is the part of the larger amount that a difference must be to be reported even so.
const large = 0.75

// steady reports whether a process's difference is there in most slots of the windows, and is not
// a burst that falls into one of them.
func (d *differ) steady(c *Change) bool {
	var names []string
	for i, as := range aspects {
		if as.name == c.Aspect {
			names = aspectSet(1 << i).fields(d.a).names
		}
	}
	if c.Aspect == "memory" {
		names = names[:min(1, len(names))] // Footprints come before resident memory.
	}
	keep := func(_ string, in *metric.Instance) bool { return d.called(in) == c.Subject }
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
	a, b := fill(parts[0]), fill(parts[1])
	if len(d.usual) < fewUsual && relative(a.mean(), b.mean()) < large && effect(a, a.mean(), b.mean(), 0.1*math.Min(a.mean(), b.mean())) < leastEffect {
		return false // Only the window itself shows how much it varies.
	}
	return separation(a, b) >= leastOverlap && math.Abs(b.mean()-a.mean()) >= leastErrors*meanError(a, b)
}

// processNew returns the change of a process that is in neither the first window nor the usual
// ones, if it stayed or used much.
func (d *differ) processNew(c *Consumer, b *usage) *Change {
	impact, aspect := d.used(c, b)
	stayed := float64(c.To-c.From)/1e9 > b.seconds/2 && c.To >= b.to-(missedDue+1)*d.every
	if impact < leastImpact && !stayed || impact < seldomImpact && ofKernel(c) {
		return nil
	}
	ch := &Change{Kind: ProcessNew, Archive: c.Archive, Subject: c.Name, most: aspect, Process: c, Before: 0, After: c.CPUTime() / b.seconds,
		Units: metric.NoUnits, Rate: true, Impact: impact, Effect: leastEffect, At: c.From, Stayed: stayed}
	ch.Score = 0.1 + float64(math.Sqrt(impact)*0.9)
	if !stayed {
		ch.Score /= 2
	}
	return ch
}

// used returns how much of the machine a name's processes used, and the aspect of which they used
// most.
func (d *differ) used(c *Consumer, u *usage) (impact float64, aspect string) {
	for _, as := range aspects {
		if x := as.of(c, u.seconds); x == x && d.processImpact(as.name, x) > impact {
			impact, aspect = d.processImpact(as.name, x), as.name
		}
	}
	return impact, aspect
}

// ofKernel reports whether processes hold no memory of their own: threads of the kernel, which it
// starts, ends and names as its work comes.
func ofKernel(c *Consumer) bool { return !(c.Peak > 0) }

// mostlyThere is the part of the first window in which a name must have been there for its
// absence in the second to be reported.
const mostlyThere = 0.6

// processGone returns the change of a process that was mostly there and is gone; left is what the
// second window saw of it.
func (d *differ) processGone(c, left *Consumer, a *usage) *Change {
	// Several processes at once may add up to it; sightings decide.
	there := c.seconds
	if there == 0 || d.elsewhere() {
		there = float64(c.To-c.From) / 1e9
	}
	if there+float64(d.every)/1e9 < a.seconds*mostlyThere {
		return nil
	}
	impact, _ := d.used(c, a)
	if impact < seldomImpact && ofKernel(c) {
		return nil
	}
	gone := *c
	if left != nil {
		gone.To = left.To
	}
	ch := &Change{Kind: ProcessVanished, Archive: c.Archive, Subject: c.Name, Process: &gone, Before: c.CPUTime() / a.seconds,
		Units: metric.NoUnits, Rate: true, Impact: impact, Effect: leastEffect, At: gone.To}
	ch.Score = 0.12 + float64(math.Sqrt(impact)*0.8)
	return ch
}

// finished reports whether what is gone is work that was done: it had begun recently (less
// recently will do if it used little), and ended with exit status 0.
func (d *differ) finished(c *Change) bool {
	if c.Kind != ProcessVanished || c.Exit == nil || c.Exit.Label("how") != "exit 0" {
		return false
	}
	long := 2 * (d.r.B.To - d.r.B.From)
	if c.Impact < leastImpact {
		long = max(historyTimes*(d.r.B.To-d.r.B.From), int64(time.Hour))
	}
	return c.Process.Start != 0 && c.At-c.Process.Start < long
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

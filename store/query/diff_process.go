package query

import (
	"math"
	"slices"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
)

// aspects are what is compared of processes: each with its amount, given the seconds of a window,
// its units and whether it is a rate.
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

// usage returns what all processes used, or those with the names.
func (d *differ) usage(w Window, names map[string]bool) (*usage, error) {
	t := &topper{a: d.a, group: PerName, digested: true, names: names}
	if err := t.bounds(w); err != nil {
		return nil, err
	}
	fields := mapFields(d.a, []ProcessCounter{UserTime, SystemTime, ReadBytes, WrittenBytes}, []ProcessLevel{Footprint, Resident})
	u := &usage{byName: make(map[string]*Consumer), seconds: d.seconds(t.w), from: t.w.From, every: t.every}
	t.add(fields, nil)
	// The mean memory is computed over wall clock time; the other values use seconds.
	walls, every := t.own[t.w.Hosts[0]], float64(t.every)/1e9
	for _, c := range t.groups {
		c.Mean *= (walls + every) / (u.seconds + every)
		u.byName[c.Name] = c
		u.to = max(u.to, min(c.To+t.every, t.w.To)) // Nothing after t.w.To was seen.
	}
	return u, nil
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
}

// leastReadings is how many times processes must have been read in a window.
const leastReadings = 3

// changedNames returns the names of processes that changed, whether that is usual or not.
func (d *differ) changedNames(p *processPair) map[string]bool {
	names := make(map[string]bool)
	if least := float64(leastReadings*p.b.every) / 1e9; p.a.seconds < least || p.b.seconds < least {
		return nil // Processes were not read often enough.
	}
	for _, c := range d.compareUsage(p.a, p.b, nil, func(*Change) bool { return true }) {
		names[c.Subject] = true
	}
	p.usual = []*usage{} // not nil: what is usual will be known
	return names
}

// processes returns the changes of the processes with the names.
func (d *differ) processes(p *processPair, names map[string]bool) []*Change {
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
	seen := d.sightings()
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
	return impact, !(aspect == "cpu" && diff < 0.05 || (aspect == "read" || aspect == "write") && diff < 2e5)
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
	fields := mapFields(d.a, []ProcessCounter{UserTime, SystemTime, ReadBytes, WrittenBytes}, []ProcessLevel{Footprint, Resident})
	var names []string
	want := map[string][]ProcessCounter{"cpu": {UserTime, SystemTime}, "read": {ReadBytes}, "write": {WrittenBytes}}[c.Aspect]
	for _, name := range fields.names {
		if f, ok := fields.counts(name); ok && slices.Contains(want, f) || !ok && c.Aspect == "memory" {
			names = append(names, name)
		}
	}
	if c.Aspect == "memory" {
		names = names[:min(1, len(names))] // Footprints come before resident memory.
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

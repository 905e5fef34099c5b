package query

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store"
)

// Range summarizes a series over a window or a step.
type Range struct {
	Archive  *store.ArchiveInfo
	Name     string
	Metric   *metric.Desc
	Instance *metric.Instance
	Units    metric.Units
	Type     metric.Type // the type of First, Last, Min and Max
	Rate     bool
	// From and To are the instants of the first and the last value.
	From, To    int64
	Count       uint64
	Missing     uint64
	First, Last metric.Value
	Min, Max    metric.Value
	// Mean weighs each value with the time since the one before it.
	Mean float64
	// P50, P95 and P99 are NaN where they were not asked for, and where only steps of a reduced
	// archive are known. Each differs from the exact one by at most Within, a part of it.
	P50, P95, P99 float64
	Within        float64
	// Increase is what a counter gained; NaN for other metrics.
	Increase float64
	// Seconds is the time that the mean is taken over; Steady is what a counter gained in that
	// time, without what it gained across breaks.
	Seconds, Steady float64
	Resets, Wraps   uint32
}

// RangeRequest asks for ranges.
type RangeRequest struct {
	Request
	// Percentiles asks for quantiles, which need values decoded.
	Percentiles bool
	// Exact asks for the quantiles of the values themselves, however long that takes.
	Exact bool
}

// tally adds up one series.
type tally struct {
	Range
	boot     string
	last     store.Point
	weighted float64
	beside   float64 // seconds that weighted covers besides Seconds
	dist     *distribution
	scatter  *scatter
	settled  bool // the quantiles have been computed
	span     int  // the span of the window that the last summary belonged to
	same     bool // every value so far was the same
	stepped  bool // some values are of steps, whose spread is not known
	min, max float64
}

// Ranges sums up each series over the window. Values are as recorded, or rates of counters where
// the request's mode is Shown. Whole chunks are not decoded where their stored summaries suffice.
func Ranges(a Archive, r RangeRequest) iter.Seq2[*Range, error] {
	return func(yield func(*Range, error) bool) {
		if r.Step > 0 {
			rangeSteps(a, r, yield)
			return
		}
		for _, names := range readTogether(a, r) {
			part := r
			part.Metrics = names
			for part.Request = range cohorts(a, part.Request, cohortSize) {
				var list []*tally
				if d := a.Lookup(names[0]); r.Mode == Shown && d.Sem == metric.Counter {
					list = tallyValues(a, part, names[0])
				} else {
					list = tallySummaries(a, part, names)
				}
				for i, t := range list {
					if !yield(t.finish(), nil) {
						return
					}
					list[i] = nil
				}
			}
		}
	}
}

// readTogether groups the numeric metrics into passes: all metrics with few instances in one pass
// over the archive, those of processes one by one, and rates one by one.
func readTogether(a Archive, r RangeRequest) [][]string {
	var out [][]string
	open := false
	for _, name := range r.Metrics {
		d := a.Lookup(name)
		if d == nil || d.Type == metric.String || d.Formula != "" {
			continue
		}
		if metric.PerBoot(d.Indom) || r.Mode == Shown && d.Sem == metric.Counter {
			out, open = append(out, []string{name}), false
			continue
		}
		if !open {
			out, open = append(out, nil), true
		}
		out[len(out)-1] = append(out[len(out)-1], name)
	}
	return out
}

// tallySummaries adds up the stored summaries; quantiles of series that changed are decoded
// afterwards.
func tallySummaries(a Archive, r RangeRequest, names []string) []*tally {
	byID := make(map[seriesID]*tally)
	var order []*tally
	sel := r.Window.Selection(names...)
	sel.Instance, sel.Sought, sel.Cohort = r.Instance, r.Sought, r.Cohort
	sel.Spread, sel.Means, sel.Whole = r.Percentiles, true, true
	for n, span := range unbroken(a, r.Window) {
		sel.From, sel.To = span.From, span.To
		for s := range a.Summarize(sel) {
			if s.Count+s.Missing == 0 {
				continue
			}
			id := idOf(s.Archive, s.Metric, s.Instance)
			t := byID[id]
			if t == nil {
				t = newTally(s.Archive, s.Metric, s.Instance)
				byID[id] = t
				order = append(order, t)
			}
			t.summary(s, n)
			if sel.Spread && s.Count > 0 {
				if t.scatter == nil {
					t.scatter = &scatter{exactly: r.Exact}
				}
				t.scatter.add(s)
			}
		}
	}
	place := make(map[string]int, len(names))
	for i, name := range names {
		place[name] = i
	}
	slices.SortStableFunc(order, func(x, y *tally) int { return cmp.Compare(place[x.Name], place[y.Name]) })
	regain(a, r, order, byID)
	if r.Percentiles {
		tellPercentiles(a, slices.DeleteFunc(slices.Clone(order), func(t *tally) bool { return t.scatter == nil }))
	}
	return order
}

// settle computes the quantiles from the distribution and drops it.
func (t *tally) settle() {
	if t.dist == nil {
		return
	}
	q := t.dist.quantiles(0.5, 0.95, 0.99)
	t.P50, t.P95, t.P99 = q[0], q[1], q[2]
	if !t.dist.exact() {
		t.Within = coarseError
	}
	t.dist, t.settled = nil, true
}

// unbroken divides a window at the breaks of its hosts, so that no summary weighs a value with
// time in which nothing was recorded. Breaks within one second of each other count as one; a
// window with very many is one span.
func unbroken(a Archive, w Window) []Window {
	const most = 256
	var at []int64
	for e := range a.Events(w.From, w.To, metric.EventSleep, metric.EventWake, metric.EventGap) {
		if e != nil && w.Wants(e.Archive.Host.ID) {
			at = append(at, e.At.Wall)
		}
	}
	if len(at) == 0 || len(at) > most {
		return []Window{w}
	}
	out := []Window{}
	from := w.From
	for _, wall := range at {
		if wall-from < 1e9 || wall <= w.From {
			continue
		}
		out = append(out, Window{Hosts: w.Hosts, From: from, To: wall})
		from = wall + 1
	}
	return append(out, Window{Hosts: w.Hosts, From: from, To: w.To})
}

func newTally(info *store.ArchiveInfo, d *metric.Desc, in *metric.Instance) *tally {
	t := &tally{same: true}
	t.Archive, t.Metric, t.Instance, t.Name, t.Units, t.Type = info, d, in, d.Name, d.Units, d.Type
	t.Increase = math.NaN()
	if d.Sem == metric.Counter {
		t.Increase = 0
	}
	return t
}

func (t *tally) value(bits uint64) metric.Value { return metric.Value{Type: t.Type, Bits: bits} }

// summary adds a stored summary from the n-th span of the window. A counter's gain between spans
// of a boot counts as its gain; the time between them weighs nothing.
func (t *tally) summary(s *store.Summary, n int) {
	t.Missing += s.Missing
	if s.Count == 0 {
		return
	}
	t.stepped = t.stepped || s.Archive.Step != 0
	lo, hi := metric.Number(t.Type, s.Min), metric.Number(t.Type, s.Max)
	first := metric.Number(t.Type, s.First.Bits)
	if t.Count == 0 {
		t.From, t.First = s.First.Wall, t.value(s.First.Bits)
		t.Min, t.Max, t.min, t.max = t.value(s.Min), t.value(s.Max), lo, hi
		if gain, told := began(s, first); told {
			t.climb(s, gain, false)
		}
	} else {
		if t.boot == s.Archive.BootID {
			inc, step := 0.0, metric.Advanced
			if t.Metric.Sem == metric.Counter {
				inc, step = metric.Increase(t.Metric, t.last.Bits, s.First.Bits, float64(s.First.Cont-t.last.Cont)/1e9)
				t.Increase += inc
				t.count(step)
			}
			if t.span == n {
				gap := float64(s.First.Cont-t.last.Cont) / 1e9
				t.weighted += float64(first * gap)
				t.Seconds += gap
				t.Steady += inc
			}
			t.climb(s, inc, t.span == n)
		}
		if lo < t.min || t.min != t.min {
			t.Min, t.min = t.value(s.Min), lo
		}
		if hi > t.max || t.max != t.max {
			t.Max, t.max = t.value(s.Max), hi
		}
	}
	t.span = n
	t.same = t.same && s.Min == s.Max && first == first && t.First.Bits == s.First.Bits
	t.weighted += s.Weighted
	t.Seconds += float64(s.Last.Cont-s.First.Cont) / 1e9
	if t.Metric.Sem == metric.Counter {
		t.Increase += s.Increase
		t.Steady += s.Increase
	}
	t.Resets += s.Resets
	t.Wraps += s.Wraps
	t.Count += s.Count
	t.Last, t.To, t.last, t.boot = t.value(s.Last.Bits), s.Last.Wall, s.Last, s.Archive.BootID
	if t.Metric.Sem == metric.Counter && s.Until > 0 { // It ended before the step did.
		t.last.Cont -= s.Until
		t.beside -= float64(s.Until) / 1e9
		t.weighted -= float64(metric.Number(t.Type, s.Last.Bits) * float64(s.Until) / 1e9)
	}
}

// rising returns for how many seconds a counter was read in the step that s begins with.
func rising(s *store.Summary) float64 {
	if s.First.Cont == s.Last.Cont { // It may have ended in the same.
		return float64(max(0, s.Since-s.Until)) / 1e9
	}
	return float64(s.Since) / 1e9
}

// began estimates what a counter that first shows at the end of a step had gained in that step:
// as much as it gained later in such a time. If there is no later reading, it is taken to have
// been zero before it came.
func began(s *store.Summary, first float64) (gain float64, told bool) {
	since, every := rising(s), float64(s.Every)/1e9
	if later := float64(s.Last.Cont-s.First.Cont) / 1e9; later > 0 {
		return min(first, s.Increase/later*since), true
	}
	return first * since / max(since+every, 1e-9), s.Came
}

// climb lets a counter of a process in a reduced archive rise evenly, by gain, from reading to
// reading of the step that s begins with. weighed says that the mean already includes the step,
// as if the counter had risen before the first of these readings; else the mean does not include
// the step yet.
func (t *tally) climb(s *store.Summary, gain float64, weighed bool) {
	if t.Metric.Sem != metric.Counter || s.Since == 0 {
		return
	}
	lower := rising(s)
	if !weighed {
		since := float64(s.Since) / 1e9
		t.weighted += float64(metric.Number(t.Type, s.First.Bits) * since)
		t.beside += since
		lower = max(0, lower-float64(s.Every)/1e9)
	}
	t.weighted -= float64(gain * lower / 2)
	t.same = t.same && gain == 0
}

func (t *tally) count(step metric.Step) {
	switch step {
	case metric.Restarted:
		t.Resets++
	case metric.Wrapped:
		t.Wraps++
	}
}

// add counts one value, which counts for the seconds before it.
func (t *tally) add(wall int64, v metric.Value, seconds float64) {
	x := v.Number()
	if t.Count == 0 {
		t.From, t.First, t.Min, t.Max, t.min, t.max = wall, v, v, v, x, x
	}
	if x < t.min || t.min != t.min {
		t.Min, t.min = v, x
	}
	if x > t.max || t.max != t.max {
		t.Max, t.max = v, x
	}
	t.Last, t.To = v, wall
	t.Count++
	t.weighted += float64(x * seconds)
	t.Seconds += seconds
	t.same = t.same && v.Bits == t.First.Bits
	if t.dist != nil && x == x {
		t.dist.add(x)
	}
}

// finish computes the rest and returns the range.
func (t *tally) finish() *Range {
	r := &t.Range
	t.settle()
	r.Increase, r.Steady = max(0, r.Increase), max(0, r.Steady) // A counter may end in a dip.
	if !t.settled || t.stepped {
		t.settled, r.Within = false, 0
		r.P50, r.P95, r.P99 = math.NaN(), math.NaN(), math.NaN()
	}
	r.Mean = math.NaN()
	if t.Count == 0 {
		why := metric.NotRead
		r.First.Miss, r.Last.Miss, r.Min.Miss, r.Max.Miss = why, why, why, why
		return r
	}
	switch {
	case t.same:
		r.Mean = t.First.Number()
	case t.Seconds+t.beside > 0:
		r.Mean = t.weighted / (t.Seconds + t.beside)
	default:
		r.Mean = t.Last.Number()
	}
	if t.same && !t.settled {
		x := t.First.Number()
		r.P50, r.P95, r.P99 = x, x, x
	}
	return r
}

// tallyValues adds up decoded values: rates of counters.
func tallyValues(a Archive, r RangeRequest, name string) []*tally {
	breaks := readBreaks(a, r.Window)
	g := newGainer(breaks, r.Note)
	byID := make(map[seriesID]*tally)
	var order []*tally
	sel := r.selection()
	sel.Metrics, sel.Prior = []string{name}, true
	var t *tally
	for run := range a.Select(sel) {
		if t == nil || t.Archive != run.Archive || t.Instance != run.Instance {
			id := idOf(run.Archive, run.Metric, run.Instance)
			if t = byID[id]; t == nil {
				t = newTally(run.Archive, run.Metric, run.Instance)
				t.Units, _ = RateUnits(run.Metric.Units)
				t.Type, t.Rate = metric.F64, true
				if r.Percentiles {
					t.dist = &distribution{most: exactRates}
					if r.Exact {
						t.dist.most = exactValues
					}
				}
				byID[id] = t
				order = append(order, t)
			}
			g.turn(run.Archive, run.Metric, run.Instance)
		}
		t.gains(run, g, r.From)
	}
	return order
}

func (t *tally) gains(run *store.Run, g *gainer, from int64) {
	_, factor := RateUnits(run.Metric.Units)
	t.stepped = t.stepped || run.Archive.Step != 0
	for i, wall := range run.Wall {
		if run.Miss != nil && run.Miss[i] != metric.Present {
			g.absent()
			if wall >= from {
				t.Missing++
			}
			continue
		}
		inc, sec, why := g.gain(store.Point{Wall: wall, Cont: run.Cont[i], Bits: run.Bits[i]})
		if wall < from {
			continue
		}
		if why != metric.Present {
			t.Missing++
			continue
		}
		t.Increase += inc
		t.Steady += inc
		t.add(wall, metric.Value{Type: metric.F64, Bits: math.Float64bits(inc / sec * factor)}, sec)
	}
}

// rangeSteps answers for each step of the window separately.
func rangeSteps(a Archive, r RangeRequest, yield func(*Range, error) bool) {
	first, last, list := Covered(a, r.Window)
	if len(list) == 0 {
		return
	}
	if err := checkSteps(a, r.Request, maxParts); err != nil {
		yield(nil, err)
		return
	}
	steps := r.division(max(first, r.From))
	to := last
	if r.To != 0 {
		to = min(to, r.To)
	}
	end := steps.number(to) + 1
	empty := false // the step before was empty
	for n := int64(1); steps.edge(n-1) <= to; n++ {
		if empty {
			var err error
			if n, err = firstPart(a, r, steps, n, end); err != nil {
				yield(nil, err)
				return
			}
			if n > end || steps.edge(n-1) > to {
				return
			}
		}
		empty = true
		part := r
		part.Step = 0
		part.From, part.To = steps.edge(n-1), steps.edge(n)-1
		if r.To != 0 {
			part.To = min(part.To, r.To)
		}
		part.From = max(part.From, r.From)
		for s, err := range Ranges(a, part) {
			if err == nil {
				s.From, s.To = part.From, part.To
			}
			empty = false
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
}

package query

import (
	"math"
	"slices"
	"sort"

	"tachograph/sample/metric"
	"tachograph/store"
)

// fewSeams is how many chunks must end in a window for its slots to end where chunks end.
const fewSeams = 5

// edges returns where the slots of a window end, except for the last: a tenth of the window
// apart, or, where it holds many chunks or archives, at the ends of those that are nearest.
func (d *differ) edges(w Window) (out []int64) {
	seams := d.archiveEnds(w)
	if len(seams) < slots-1 {
		seams = d.a.Seams(w.Hosts, w.From, w.To)
	}
	if len(seams) < fewSeams {
		seams = nil
	}
	step := max((w.To-w.From)/slots, 1)
	for k := int64(1); k < slots; k++ {
		edge := w.From + k*step
		i := sort.Search(len(seams), func(i int) bool { return seams[i] >= edge })
		for _, j := range []int{i - 1, i} {
			if j >= 0 && j < len(seams) && max(seams[j]-edge, edge-seams[j]) <= step/2 {
				edge = seams[j]
				break
			}
		}
		out = append(out, edge)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// archiveEnds returns where archives end in a window.
func (d *differ) archiveEnds(w Window) (out []int64) {
	for _, info := range d.a.Archives() {
		if w.Wants(info.Host.ID) && info.To > w.From && info.To < w.To {
			out = append(out, info.To)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// course is what a series did in a window: its values in slots of the window, which show how much
// it varies, and its exact mean over the whole window. The mean of a counter is its gain divided
// by the time that took, as if the gain from one reading to the next had come evenly; the mean of
// a level is the mean of its readings.
type course struct {
	slots       sample
	sum, weight float64
}

func (c *course) mean() float64 { return c.sum / c.weight }

func (c *course) add(o course) {
	c.slots = append(c.slots, o.slots...)
	c.sum += o.sum
	c.weight += o.weight
}

// apart reports whether two windows are read separately: reading what lies between them would
// take longer than reading twice.
func apart(w []Window) bool {
	return !slices.Equal(w[0].Hosts, w[1].Hosts) || w[1].From < w[0].To || w[1].From-w[0].To > w[0].To-w[0].From
}

// courses passes take, for each metric and window, what each series did, from summaries. Where
// these do not suffice, because something fell or broke off, it reads the values. n is the number
// of the window. Windows that lie apart are asked for one by one.
func (d *differ) courses(windows []Window, names []string, take func(n int, s *Series, c course)) error {
	all := Window{Hosts: windows[0].Hosts, From: windows[0].From, To: windows[len(windows)-1].To}
	l := &leveller{windows: windows, breaks: readBreaks(d.a, all), of: make(map[seriesID]*levelled)}
	var cuts []int64
	lead := int64(0)
	for _, w := range windows {
		edges := d.edges(w)
		l.edges = append(l.edges, edges)
		lead = max(lead, min((w.To-w.From)/slots, mostLead))
		cuts = append(append(append(cuts, w.From-1), edges...), w.To)
	}
	for _, span := range unbroken(d.a, all) {
		cuts = append(cuts, span.To)
	}
	sel := store.Selection{Hosts: all.Hosts, From: all.From - lead, To: all.To, Whole: true}
	slices.Sort(cuts)
	sel.Cuts = slices.Compact(cuts)
	var slow []string
	_, _, archives := Covered(d.a, all)
	for _, name := range names {
		if l.rare(archives, d.a.Lookup(name)) {
			slow = append(slow, name)
		} else {
			sel.Metrics = append(sel.Metrics, name)
		}
	}
	if len(sel.Metrics) > 0 {
		for s := range d.a.Summarize(sel) {
			l.add(s)
		}
	}
	l.values(d.a, sel)
	for _, id := range l.order {
		v := l.of[id]
		for n := range windows {
			if c := v.course(n); c.weight > 0 {
				take(n, &v.series, c)
			}
		}
	}
	for n, w := range windows {
		if err := d.slots(w, slow, func(s *Series, c course) { take(n, s, c) }); err != nil {
			return err
		}
	}
	return nil
}

// mostLead is how far before a window the last value before it is searched for, at most.
const mostLead = int64(60e9)

// A leveller adds up the summaries of series by window and slot.
type leveller struct {
	windows []Window
	edges   [][]int64 // by window
	breaks  breaks
	of      map[seriesID]*levelled
	order   []seriesID
}

// levelled is one series.
type levelled struct {
	series      Series
	way         way
	factor      float64
	sum, weight [][]float64 // by window and slot
	archive     *store.ArchiveInfo
	last        store.Point
	odd         bool // its summaries do not suffice
}

// rare reports whether a metric is read so seldom that a slot may have no reading.
func (l *leveller) rare(archives []*store.ArchiveInfo, m *metric.Desc) bool {
	return m == nil || slices.ContainsFunc(archives, func(info *store.ArchiveInfo) bool {
		every := interval(info, m.Class)
		return every == 0 || slices.ContainsFunc(l.windows, func(w Window) bool { return every > (w.To-w.From)/slots/4 })
	})
}

func (l *leveller) add(s *store.Summary) {
	if s.Count == 0 {
		return
	}
	v := l.series(s.Archive, s.Metric, s.Instance)
	if v.odd {
		return
	}
	sum, weight, from := l.slot(v, s.First.Wall)
	switch {
	case v.way == spread:
		l.gain(v, s, sum, weight, from)
	case sum == nil:
	case math.IsNaN(s.Sum) || math.IsInf(s.Sum, 0):
		v.odd = true
	case v.way == mean:
		*sum += s.Sum
		*weight += float64(s.Count)
	case v.way == hold:
		*sum, *weight = metric.Number(s.Metric.Type, s.Last.Bits), 1
	}
	v.archive, v.last = s.Archive, s.Last
}

// series finds or makes a series.
func (l *leveller) series(info *store.ArchiveInfo, m *metric.Desc, in *metric.Instance) *levelled {
	id := idOf(info, m, in)
	v := l.of[id]
	if v != nil {
		return v
	}
	v = &levelled{series: Series{Archive: info, Name: m.Name, Metric: m, Instance: in, Units: m.Units, Type: metric.F64}, factor: 1}
	switch m.Sem {
	case metric.Counter:
		v.way, v.series.Rate = spread, true
		v.series.Units, v.factor = RateUnits(m.Units)
	case metric.Discrete:
		v.way = hold
	default:
		v.way = mean
	}
	v.clear(l.edges)
	l.of[id] = v
	l.order = append(l.order, id)
	return v
}

// clear makes v a series without any values.
func (v *levelled) clear(edges [][]int64) {
	v.sum, v.weight = nil, nil
	for _, e := range edges {
		v.sum, v.weight = append(v.sum, make([]float64, len(e)+1)), append(v.weight, make([]float64, len(e)+1))
	}
}

// slot returns the sums that a reading at wall belongs to, and the beginning of its window; nil
// outside of the windows.
func (l *leveller) slot(v *levelled, wall int64) (sum, weight *float64, from int64) {
	for n, w := range l.windows {
		if wall >= w.From && wall <= w.To {
			k, _ := slices.BinarySearch(l.edges[n], wall)
			sum, weight, from = &v.sum[n][k], &v.weight[n][k], w.From
		}
	}
	return sum, weight, from
}

// within returns how many of the seconds before wall lie in a window that begins at from.
func within(from, wall int64, seconds float64) float64 {
	return min(seconds, float64(wall-from)/1e9)
}

// values adds the values of the series whose summaries do not suffice.
func (l *leveller) values(a Archive, sel store.Selection) {
	odd := make(map[seriesID]bool)
	sel.Metrics, sel.Cuts = nil, nil
	for id, v := range l.of {
		if v.odd {
			odd[id] = true
			v.clear(l.edges)
			if !slices.Contains(sel.Metrics, id.metric) {
				sel.Metrics = append(sel.Metrics, id.metric)
			}
		}
	}
	if len(odd) == 0 {
		return
	}
	gains := newGainer(l.breaks, nil)
	for run := range a.Select(sel) {
		if !odd[idOf(run.Archive, run.Metric, run.Instance)] {
			continue
		}
		v := l.series(run.Archive, run.Metric, run.Instance)
		gains.turn(run.Archive, run.Metric, run.Instance)
		for i, wall := range run.Wall {
			present := run.Miss == nil || run.Miss[i] == metric.Present
			x, seconds := metric.Number(run.Metric.Type, run.Bits[i]), 0.0
			if v.way == spread {
				why := whyNoSample
				if present {
					x, seconds, why = gains.gain(store.Point{Wall: wall, Cont: run.Cont[i], Bits: run.Bits[i]})
				} else {
					gains.absent()
				}
				present = why == metric.Present
			}
			sum, weight, from := l.slot(v, wall)
			switch {
			case sum == nil || !present || math.IsNaN(x) || math.IsInf(x, 0):
			case v.way == hold:
				*sum, *weight = x, 1
			case v.way == spread:
				in := within(from, wall, seconds)
				*sum += float64(x * (in / seconds))
				*weight += in
			default:
				*sum += x
				*weight++
			}
		}
	}
}

// gain adds what a counter gained in a summary and since the one before.
func (l *leveller) gain(v *levelled, s *store.Summary, sum, weight *float64, from int64) {
	machine, own := l.breaks.of(s.Archive), l.breaks.ofInstance(s.Archive, s.Metric.Indom, s.Instance)
	broken := func(from, to int64) bool {
		_, a := between(machine, from, to)
		_, b := between(own, from, to)
		return a || b
	}
	every := interval(s.Archive, s.Metric.Class)
	elapsed := s.Last.Cont - s.First.Cont
	// Missed readings may be a gap; surplus readings have no time of their own.
	missed := elapsed - (int64(s.Count)-1)*every
	odd := missed > missedTicks*every || missed < -every/2
	if s.Longest != 0 { // Over a whole archive single ones add up.
		odd = s.Longest > missedTicks*every || missed < -elapsed/100
	}
	if odd || s.Resets+s.Wraps > 0 || s.Missing >= missedTicks || broken(s.First.Cont, s.Last.Cont) || math.IsNaN(s.Increase) {
		v.odd = true
		return
	}
	if sum == nil {
		return
	}
	*sum += s.Increase
	*weight += float64(elapsed) / 1e9
	since := s.First.Cont - v.last.Cont
	if v.archive == nil || v.archive.BootID != s.Archive.BootID || since <= 0 || since > missedTicks*every || broken(v.last.Cont, s.First.Cont) {
		return
	}
	inc, step := metric.Increase(s.Metric, v.last.Bits, s.First.Bits, float64(since)/1e9)
	if step != metric.Advanced {
		v.odd = true
		return
	}
	in := within(from, s.First.Wall, float64(since)/1e9)
	*sum += float64(inc * (in / (float64(since) / 1e9)))
	*weight += in
}

// course returns what the series did in window n; a discrete series keeps its value in slots
// without a reading.
func (v *levelled) course(n int) course {
	var c course
	held, known := 0.0, false
	for k, sum := range v.sum[n] {
		switch weight := v.weight[n][k]; {
		case weight > 0:
			held, known = sum/weight*v.factor, true
		case v.way != hold || !known:
			continue
		}
		c.slots = append(c.slots, held)
		if v.way == hold {
			c.sum, c.weight = c.sum+held, c.weight+1
		} else {
			c.sum, c.weight = c.sum+float64(sum*v.factor), c.weight+v.weight[n][k]
		}
	}
	return c
}

package query

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"tachograph/sample/metric"
)

// measured lists the numeric metrics of the machine that change: no tunables, and no metrics of
// processes, of the recorder or of clocks.
func (d *differ) measured() []string {
	var out []string
	for _, m := range d.a.Metrics() {
		if m.Type == metric.String || m.Unsupported != "" || m.Formula != "" || metric.PerBoot(m.Indom) ||
			m.Class == metric.Static || m.Class == metric.Constrained || m.Class == metric.Disabled {
			continue
		}
		if f, _ := familyOf(m.Name); f != "recorder" && f != "clock" && !d.said(m) {
			out = append(out, m.Name)
		}
	}
	return out
}

// seriesKey is a metric and one of its instances.
type seriesKey struct{ metric, key string }

type systemSeries struct {
	desc  *metric.Desc
	name  string // of the instance
	units metric.Units
	rate  bool
	a, b  course
}

// A systemPair holds what the machine's series did in both windows, and what the series in
// question did in the usual windows.
type systemPair struct {
	d     *differ
	names []string
	all   map[seriesKey]*systemSeries
	late  map[seriesKey]*systemSeries // for the second window, where that is read separately
	usual [][]usualMean               // by window
}

// usualMean is the mean of a series in a usual window.
type usualMean struct {
	seriesKey
	mean float64
}

func (d *differ) systemPair() *systemPair {
	return &systemPair{d: d, names: d.measured(), all: make(map[seriesKey]*systemSeries), late: make(map[seriesKey]*systemSeries), usual: make([][]usualMean, len(d.usual))}
}

// nameParts is how many questions are asked about the metrics of a window: each about
// neighbours, which are in the same groups of chunks.
const nameParts = 4

// questions returns those about both windows, which are read together unless they lie apart.
func (p *systemPair) questions() (list []func(Archive) error) {
	var mu sync.Mutex
	take := func(all map[seriesKey]*systemSeries, second int) func(n int, s *Series, c course) {
		return func(n int, s *Series, c course) {
			if s.Instance != nil && p.d.lags(s.Metric.Name, s.Instance.Name) {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			k := p.d.key(s.Metric, s.Instance)
			e := all[k]
			if e == nil {
				e = &systemSeries{desc: s.Metric, units: s.Units, rate: s.Rate}
				if s.Instance != nil {
					e.name = s.Instance.Name
				}
				all[k] = e
			}
			if n == second {
				e.b.add(c)
			} else {
				e.a.add(c)
			}
		}
	}
	both := []Window{p.d.r.A, p.d.r.B}
	for part := range slices.Chunk(p.names, max(1, (len(p.names)+nameParts-1)/nameParts)) {
		ask := func(windows []Window, take func(n int, s *Series, c course)) {
			list = append(list, func(a Archive) error { return p.d.asking(a).courses(windows, part, take) })
		}
		if apart(both) {
			ask(both[:1], take(p.all, 1))
			ask(both[1:], take(p.late, 0))
		} else {
			ask(both, take(p.all, 1))
		}
	}
	return list
}

// candidates returns the changes of the series that differ clearly between the windows.
func (p *systemPair) candidates() map[seriesKey]*Change {
	for k, s := range p.late {
		if e := p.all[k]; e != nil {
			e.b = s.b
		} else {
			p.all[k] = s
		}
	}
	p.awaits()
	candidates := make(map[seriesKey]*Change)
	for k, s := range p.all {
		if c := p.d.screen(s); c != nil {
			candidates[k] = c
		}
	}
	return candidates
}

// changes returns the candidates that are not usual, the most surprising first.
func (p *systemPair) changes(candidates map[seriesKey]*Change) []*Change {
	d := p.d
	p.compareUsual(candidates)
	var out []*Change
	for _, c := range candidates {
		out = append(out, c)
	}
	slices.SortFunc(out, func(x, y *Change) int {
		return cmp.Or(cmp.Compare(y.Score, x.Score), cmp.Compare(x.Subject, y.Subject), cmp.Compare(x.Instance, y.Instance))
	})
	out = append(out, p.hung()...)
	if d.r.All {
		return out
	}
	return leaders(out)
}

// key identifies a series. A key of one host means nothing to another; names such as cpu0 and /
// do.
func (d *differ) key(m *metric.Desc, in *metric.Instance) seriesKey {
	k := seriesKey{metric: m.Name}
	switch {
	case in == nil:
	case d.elsewhere():
		k.key = in.Name
	default:
		k.key = in.Key
	}
	return k
}

// slots reads the values of metrics in the slots of a window.
func (d *differ) slots(w Window, names []string, take func(*Series, course)) error {
	if len(names) == 0 {
		return nil
	}
	r := Request{Window: w, Metrics: names, Mode: Shown, Step: max((w.To-w.From)/slots, 1), Origin: w.From}
	for s, err := range Read(d.a, r) {
		if err != nil {
			return err
		}
		var c course
		for i := range s.Wall {
			if x := s.Value(i).Number(); x == x && !math.IsInf(x, 0) {
				c.add(course{sample{x}, x, 1})
			}
		}
		if c.weight > 0 {
			take(s, c)
		}
	}
	return nil
}

// screen returns the change of a series that differs between the windows by far more than it
// varies by itself; nil for other series.
func (d *differ) screen(s *systemSeries) *Change {
	if len(s.a.slots) < 2 || len(s.b.slots) < 2 {
		return nil
	}
	ma, mb := s.a.mean(), s.b.mean()
	c := &Change{Kind: SystemChange, Subject: s.desc.Name, Instance: s.name, Metric: s.desc, Before: ma, After: mb, Units: s.units, Rate: s.rate}
	if last, moving := s.b.slots.trend(); moving && !s.rate {
		c.After, c.Trend = last, true
	}
	c.Effect = effect(s.a.slots, ma, mb, d.floor(s, ma, mb))
	c.Impact = d.impact(s, ma, c.After)
	if c.Effect < leastEffect || separation(s.a.slots, s.b.slots) < leastOverlap {
		return nil
	}
	if !c.Trend && math.Abs(mb-ma) < leastErrors*meanError(s.a.slots, s.b.slots) {
		return nil
	}
	if relative(ma, c.After) < leastRelative && c.Impact < 0.03 {
		return nil
	}
	if c.Impact < leastImpact && !d.r.All {
		return nil
	}
	c.Score = score(c)
	return c
}

// floor returns the difference that counts as variation in any case: a part of the machine where
// its size is known, else of the series itself.
func (d *differ) floor(s *systemSeries, ma, mb float64) float64 {
	own := 0.05 * math.Min(math.Abs(ma), math.Abs(mb))
	family, _ := familyOf(s.desc.Name)
	switch {
	case s.desc.Name == "filesys.full":
		return math.Min(own, 0.5)
	case family == "memory" && s.units.Space == 1 && s.units.Time == 0 && d.memory > 0:
		return math.Min(own, 0.01*d.memory/base(s.units))
	}
	return own
}

// score weighs how surprising a change is with how much of the machine it is.
func score(c *Change) float64 {
	surprise := math.Min(c.Effect/20, 1)
	return float64(surprise*(0.15+float64(0.85*math.Sqrt(c.Impact)))) + float64(0.1*c.Impact)
}

// compareUsual drops the candidates that other windows of the recording show to be ordinary.
func (p *systemPair) compareUsual(candidates map[seriesKey]*Change) {
	if len(p.usual) == 0 {
		return
	}
	others := p.others()
	for k, c := range candidates {
		mean := p.all[k].b.mean()
		if !unusual(c.Before, mean, others[k], extreme) {
			delete(candidates, k)
			continue
		}
		if list := others[k]; len(list) > 2 {
			// The variation between the windows of a day is the series' own variation.
			spread := together(append(sample(list), c.Before).deviation(), 0.02*math.Abs(c.Before))
			if spread > 0 {
				c.Effect = math.Min(c.Effect, math.Abs(mean-c.Before)/spread*2)
				c.Score = score(c)
			}
		}
	}
}

// leaders keeps the change of each family that describes it best; the others are counted.
func leaders(list []*Change) []*Change {
	best := make(map[string]*Change)
	ranks := make(map[string]int)
	tops := make(map[string]float64)
	var order []string
	for _, c := range list {
		f, rank := familyOf(c.Subject)
		if c.Aspect == Hung {
			f = Hung
		}
		prev := best[f]
		if prev == nil {
			order = append(order, f)
			best[f], ranks[f], tops[f] = c, rank, c.Score
			continue
		}
		prev.Related++
		// A headline counts as the change if it is nearly as strong.
		if rank < ranks[f] && c.Score > 0.4*tops[f] {
			c.Related = prev.Related
			c.Score = max(c.Score, tops[f])
			best[f], ranks[f] = c, rank
		}
	}
	var out []*Change
	for _, f := range order {
		out = append(out, best[f])
	}
	return out
}

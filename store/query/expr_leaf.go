package query

import (
	"maps"
	"math"
	"slices"
	"sort"

	"tachograph/sample/metric"
	"tachograph/store"
)

// points are the values of one instance of a leaf.
type points struct {
	in   *metric.Instance
	wall []int64
	vals []float64
}

// leaf reads a metric and puts its values onto the grid: at each instant the value of that
// instant, else of the last reading before it, as long as no other reading was due. A later
// reading never counts: it was not known at that instant.
func (ev *evaluator) leaf(n *node, m mode, g grid) *vector {
	if ev.err != nil {
		return newVector()
	}
	r := ev.r
	r.Metrics = []string{n.desc.Name}
	r.Note, r.Past = nil, nil
	r.Instance, r.Sought = ev.instanceFilter(n)
	if n.desc.Indom != ev.e.Indom() {
		r.Keys = nil
	}
	r.Mode = Shown
	if m == asValue && n.desc.Sem == metric.Counter {
		r.Mode = Raw
	}
	exact := n.desc == ev.primary
	if r.Step > 0 {
		r.From, r.To = ev.steps.edge(ev.steps.number(g[0])-1), g[len(g)-1]
		r.Origin = ev.steps.origin
		exact = true
	} else {
		// Some readings before and after the grid show how far apart they were due.
		margin := 3*ev.longest(n.desc) + ev.tick
		r.From, r.To = g[0]-margin, g[len(g)-1]+margin
	}
	list, err := ev.read(r, n.desc, m)
	if err != nil {
		ev.err = err
		return newVector()
	}
	hold := n.desc.Sem == metric.Discrete && m == asValue
	indom := n.desc.Indom != metric.NoIndom
	var at readings
	v := newVector()
	// The order is always the same: sums of floats depend on it.
	for _, key := range slices.Sorted(maps.Keys(list)) {
		p := list[key]
		row := v.row(key, p.in, len(g))
		if k, ok := slices.BinarySearch(p.wall, g[0]); ok && len(p.wall)-k >= len(g) && slices.Equal(p.wall[k:k+len(g)], g) {
			copy(row.vals, p.vals[k:]) // The usual case: it was read at these instants.
			continue
		}
		if at.ev == nil {
			at = ev.readings(list)
		}
		for i, wall := range g {
			k := lastNotAfter(p.wall, wall)
			if k < 0 {
				continue
			}
			if hold && indom && p.wall[k] < at.wall[lastNotAfter(at.wall, wall)] {
				continue // It was read again without the instance.
			}
			if !hold && p.wall[k] != wall && (exact || p.wall[k] != at.inForce(wall, n.desc)) {
				continue // No value is known between samples, nor of an instance that was not in the last.
			}
			row.vals[i] = p.vals[k]
		}
	}
	return v
}

// lastNotAfter returns the index of the last of the sorted instants that is not after wall; -1 if
// there is none.
func lastNotAfter(sorted []int64, wall int64) int {
	return sort.Search(len(sorted), func(k int) bool { return sorted[k] > wall }) - 1
}

// readings are the instants at which a metric was read, for any instance.
type readings struct {
	ev   *evaluator
	wall []int64
}

func (ev *evaluator) readings(list map[string]*points) readings {
	at := readings{ev: ev}
	for _, p := range list {
		at.wall = append(at.wall, p.wall...)
	}
	slices.Sort(at.wall)
	at.wall = slices.Compact(at.wall)
	return at
}

// inForce returns the reading that holds at wall: the last one before it, unless the next was due
// long ago. It is zero if none holds.
func (at readings) inForce(wall int64, d *metric.Desc) int64 {
	k := lastNotAfter(at.wall, wall)
	if k < 0 {
		return 0
	}
	if due := at.interval(k, d); wall-at.wall[k] > due+due/2 {
		return 0
	}
	return at.wall[k]
}

// interval returns how far apart readings were due around the k-th one. It is taken from the
// readings: an archive only has the interval that was in force when it ended. Of two neighbouring
// distances the smaller one counts, as the other may be a gap.
func (at readings) interval(k int, d *metric.Desc) int64 {
	pair := func(k int) int64 {
		if k < 2 || k >= len(at.wall) {
			return 0
		}
		return min(at.wall[k]-at.wall[k-1], at.wall[k-1]-at.wall[k-2])
	}
	before := pair(k)
	if before == 0 {
		before = pair(k + 1)
	}
	if iv := max(before, pair(k+2)); iv > 0 {
		return iv
	}
	return at.ev.every(d, at.wall[k])
}

func (ev *evaluator) instanceFilter(n *node) (func(string, *metric.Instance) bool, *store.Sought) {
	given, sought := ev.r.Instance, ev.r.Sought
	if n.desc.Indom != ev.e.Indom() {
		given, sought = nil, nil // The filter is for the result's instances.
	}
	if n.instance == nil {
		return given, sought
	}
	return func(indom string, in *metric.Instance) bool {
		return n.picks(in) && (given == nil || given(indom, in))
	}, soughtBy(n.instance)
}

// picks reports whether n is restricted to instances such as in.
func (n *node) picks(in *metric.Instance) bool {
	return n.instance.Match(in.Name) || n.instance.Match(in.Key) || n.instance.Match(ProcessName(in))
}

// read collects the values of a metric: as they are, per second, or as what each interval added.
func (ev *evaluator) read(r Request, d *metric.Desc, m mode) (map[string]*points, error) {
	out := make(map[string]*points)
	add := func(info *store.ArchiveInfo, in *metric.Instance) *points {
		key := ""
		if in != nil {
			key = in.Key
			if metric.PerBoot(d.Indom) {
				key = info.BootID + "/" + key
			}
		}
		p := out[key]
		if p == nil {
			p = &points{}
			out[key] = p
		}
		p.in = in
		return p
	}
	if r.Step > 0 || m == asValue || m == asRate && d.Sem == metric.Counter {
		for s, err := range Read(ev.a, r) {
			if err != nil {
				return nil, err
			}
			p := add(s.Archive, s.Instance)
			factor := 1.0
			if s.Rate {
				_, f := RateUnits(d.Units)
				factor = 1 / f
			}
			for i, wall := range s.Wall {
				p.wall = append(p.wall, wall)
				p.vals = append(p.vals, s.Value(i).Number()*factor)
			}
		}
		if r.Step > 0 && m != asValue {
			stepChanges(out, d, m, ev.steps)
		}
		return out, nil
	}
	sel := r.selection()
	sel.Prior = true
	g := newGainer(ev.breaks, nil)
	for run := range ev.a.Select(sel) {
		g.turn(run.Archive, run.Metric, run.Instance)
		p := add(run.Archive, run.Instance)
		for i, wall := range run.Wall {
			x := math.NaN()
			if run.Miss == nil || run.Miss[i] == metric.Present {
				x = ev.changed(g, d, m, store.Point{Wall: wall, Cont: run.Cont[i], Bits: run.Bits[i]})
			} else {
				g.absent()
			}
			p.wall = append(p.wall, wall)
			p.vals = append(p.vals, x)
		}
	}
	return out, nil
}

func (ev *evaluator) changed(g *gainer, d *metric.Desc, m mode, pt store.Point) float64 {
	take := g.gain
	if d.Sem != metric.Counter {
		take = g.change
	}
	x, sec, why := take(pt)
	switch {
	case why != metric.Present:
		return math.NaN()
	case m == asRate:
		return x / sec
	}
	return x
}

// stepChanges turns the values of steps into what each step added: for counters they are rates
// already.
func stepChanges(all map[string]*points, d *metric.Desc, m mode, steps division) {
	for _, p := range all {
		for i := len(p.vals) - 1; i >= 0; i-- {
			n := steps.number(p.wall[i])
			sec := float64(steps.edge(n)-steps.edge(n-1)) / 1e9
			switch {
			case d.Sem == metric.Counter && m == asDelta:
				p.vals[i] *= sec
			case d.Sem == metric.Counter:
			case i == 0:
				p.vals[i] = math.NaN()
			default:
				p.vals[i] -= p.vals[i-1]
				if m == asRate {
					p.vals[i] /= sec
				}
			}
		}
	}
}

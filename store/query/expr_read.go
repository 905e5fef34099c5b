package query

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sort"

	"tachograph/sample/metric"
	"tachograph/store"
)

var whyOperand = metric.ReasonFor("an operand has no value")

// sliceTicks is how many ticks of an expression are computed at once, so that
// memory does not grow with the window.
const (
	sliceTicks        = 4096
	sliceTicksProcess = 512
)

// Evaluate computes an expression over the request's window (its Metrics are
// not used): at the ticks of its fastest metric, or once for each step. Series
// come in slices of time; within a slice, series by series.
func Evaluate(a Archive, e *Expr, r Request) iter.Seq2[*Series, error] {
	return func(yield func(*Series, error) bool) {
		for _, h := range a.Hosts() {
			if !r.Wants(h.ID) {
				continue
			}
			one := r
			one.Hosts = []string{h.ID}
			if !evaluateHost(a, e, one, yield) {
				return
			}
		}
	}
}

func evaluateHost(a Archive, e *Expr, r Request, yield func(*Series, error) bool) bool {
	from, to, list := Covered(a, r.Window)
	if len(list) == 0 {
		return true
	}
	from = max(from, r.From)
	if r.To != 0 {
		to = min(to, r.To)
	}
	cuts, err := readBreaks(a, r.Window)
	if err != nil {
		return yield(nil, err)
	}
	ev := &evaluator{a: a, e: e, r: r, cuts: cuts, archives: list}
	ev.choosePrimary()
	length := ev.sliceLength()
	for lo := from; lo <= to; lo += length {
		if !ev.slice(lo, min(lo+length-1, to), yield) {
			return false
		}
	}
	return true
}

// evaluator computes one expression on one host.
type evaluator struct {
	a        Archive
	e        *Expr
	r        Request
	cuts     breaks
	archives []*store.ArchiveInfo
	primary  *metric.Desc // whose ticks are the grid
	tick     int64        // distance of the grid's instants, about
	err      error
}

// every is the interval of d in the archives of the window.
func (ev *evaluator) every(d *metric.Desc) int64 {
	for _, info := range slices.Backward(ev.archives) {
		if iv := interval(info, d); iv > 0 {
			return iv
		}
	}
	return 0
}

// choosePrimary takes the metric that is read most often; one that moves
// rather than one that holds.
func (ev *evaluator) choosePrimary() {
	best := int64(math.MaxInt64)
	ev.e.root.leaves(func(n *node) {
		iv := ev.every(n.desc)
		if iv == 0 {
			iv = math.MaxInt64 / 4
		}
		if n.desc.Sem == metric.Discrete {
			iv = max(iv, math.MaxInt64/4) + 1
		}
		if iv < best {
			best, ev.primary = iv, n.desc
		}
	})
	ev.tick = ev.every(ev.primary)
	if ev.r.Step > 0 {
		ev.tick = ev.r.Step
	}
	if ev.tick == 0 {
		ev.tick = 1e9
	}
}

func (ev *evaluator) sliceLength() int64 {
	ticks := int64(sliceTicks)
	ev.e.root.leaves(func(n *node) {
		if processLike(n.desc.Indom) {
			ticks = sliceTicksProcess
		}
	})
	length := ticks * min(ev.tick, math.MaxInt64/ticks/4)
	if ev.r.Step > 0 {
		length = max(length/ev.r.Step, 1) * ev.r.Step
	}
	return length
}

func (ev *evaluator) slice(lo, hi int64, yield func(*Series, error) bool) bool {
	g := ev.grid(lo, hi)
	if ev.err != nil {
		return yield(nil, ev.err)
	}
	if len(g) == 0 {
		return true
	}
	v := ev.e.root.eval(g, asValue, func(n *node, m mode) *vector { return ev.leaf(n, m, g) })
	if ev.err != nil {
		return yield(nil, ev.err)
	}
	slices.SortFunc(v.keys, func(x, y string) int {
		xi, yi := v.rows[x].in, v.rows[y].in
		if xi == nil || yi == nil {
			return cmp.Compare(x, y)
		}
		return cmp.Or(cmp.Compare(xi.Name, yi.Name), cmp.Compare(x, y))
	})
	factor := 1.0
	if ev.e.Desc != nil && !ev.e.root.t.bare {
		factor, _ = ev.e.root.t.Units.Factor(ev.e.Desc.Units)
	}
	for _, k := range v.keys {
		r := v.rows[k]
		if r.in != nil && ev.r.Instance != nil && !ev.r.Instance(ev.e.Indom(), r.in) {
			continue
		}
		s := &Series{Archive: ev.archiveAt(lo), Name: ev.e.Text, Metric: ev.e.Desc, Instance: r.in,
			Units: ev.e.Units(), Type: metric.F64, Rate: ev.e.IsRate()}
		for i, x := range r.vals {
			if x != x {
				if !processLike(ev.e.Indom()) {
					s.pushFloat(g[i], 0, whyOperand)
				}
				continue
			}
			s.pushFloat(g[i], x*factor, metric.Present)
		}
		if len(s.Wall) > 0 && !yield(s, nil) {
			return false
		}
	}
	return true
}

func (ev *evaluator) archiveAt(wall int64) *store.ArchiveInfo {
	for _, info := range ev.archives {
		if wall <= info.To {
			return info
		}
	}
	return ev.archives[len(ev.archives)-1]
}

// grid are the instants of a slice: the steps' ends, or the primary metric's
// ticks.
func (ev *evaluator) grid(lo, hi int64) grid {
	var g grid
	if ev.r.Step > 0 {
		origin := ev.r.origin(lo)
		if ev.r.Origin == 0 && ev.r.From == 0 {
			first, _, _ := Covered(ev.a, ev.r.Window)
			origin = ev.r.origin(first)
		}
		ev.r.Origin = origin
		for at := origin + ((lo-origin)/ev.r.Step+1)*ev.r.Step; at-ev.r.Step < hi; at += ev.r.Step {
			if ev.r.To != 0 && at > ev.r.To {
				at = ev.r.To
				g = append(g, at)
				break
			}
			g = append(g, at)
		}
		return g
	}
	w := ev.r.Window
	w.From, w.To = lo, hi
	sel := w.Selection(ev.primary.Name)
	hold := ev.primary.Sem == metric.Discrete
	sel.Prior = hold && lo == max(ev.r.From, ev.archives[0].From)
	if ev.primary.Indom == ev.e.Indom() {
		sel.Instance = ev.r.Instance
	}
	last := int64(math.MinInt64)
	sorted := true
	for run, err := range ev.a.Select(sel) {
		if err != nil {
			ev.err = err
			return nil
		}
		for _, wall := range run.Wall {
			wall = max(wall, lo) // A value from before holds at the beginning.
			sorted = sorted && wall >= last
			if wall != last {
				g = append(g, wall)
			}
			last = wall
		}
	}
	if !sorted {
		slices.Sort(g)
		g = slices.Compact(g)
	}
	return g
}

// points are the values of one instance of a leaf.
type points struct {
	in   *metric.Instance
	wall []int64
	vals []float64
}

// leaf reads a metric and brings its values onto the grid.
func (ev *evaluator) leaf(n *node, m mode, g grid) *vector {
	if ev.err != nil {
		return newVector()
	}
	every := ev.every(n.desc)
	r := ev.r
	r.Metrics = []string{n.desc.Name}
	r.Note = nil
	r.Instance = ev.instanceFilter(n)
	r.Mode = Shown
	if m == asValue && n.desc.Sem == metric.Counter {
		r.Mode = Raw
	}
	tolerance := ev.tick / 2
	if n.desc == ev.primary {
		tolerance = 0
	}
	if r.Step > 0 {
		r.From, r.To = g[0]-r.Step, g[len(g)-1]
		tolerance = 0
	} else {
		r.From, r.To = g[0]-2*every-ev.tick, g[len(g)-1]+tolerance
	}
	list, err := ev.read(r, n.desc, m)
	if err != nil {
		ev.err = err
		return newVector()
	}
	hold := n.desc.Sem == metric.Discrete && m == asValue
	old := max(every+every/2, ev.tick) + tolerance
	v := newVector()
	for key, p := range list {
		row := v.row(key, p.in, len(g))
		for i, at := range g {
			k := sort.Search(len(p.wall), func(k int) bool { return p.wall[k] > at+tolerance }) - 1
			if k < 0 || !hold && at-p.wall[k] > old {
				continue
			}
			if (r.Step > 0 || n.desc == ev.primary) && !hold && p.wall[k] != at {
				continue // Nothing is known between samples.
			}
			row.vals[i] = p.vals[k]
		}
	}
	return v
}

func (ev *evaluator) instanceFilter(n *node) func(string, *metric.Instance) bool {
	given := ev.r.Instance
	if n.desc.Indom != ev.e.Indom() {
		given = nil // The filter is about the result's instances.
	}
	if n.instance == nil {
		return given
	}
	return func(indom string, in *metric.Instance) bool {
		return (n.instance.Match(in.Name) || n.instance.Match(in.Key) || n.instance.Match(ProcessName(in))) &&
			(given == nil || given(indom, in))
	}
}

// read collects the values of a metric: as they are, per second, or as what
// each interval added.
func (ev *evaluator) read(r Request, d *metric.Desc, m mode) (map[string]*points, error) {
	out := make(map[string]*points)
	add := func(info *store.ArchiveInfo, in *metric.Instance) *points {
		key := ""
		if in != nil {
			key = in.Key
			if processLike(d.Indom) {
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
			stepChanges(out, d, m, r.Step)
		}
		return out, nil
	}
	sel := r.selection()
	sel.Prior = true
	g := newGainer(ev.cuts, nil)
	for run, err := range ev.a.Select(sel) {
		if err != nil {
			return nil, err
		}
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

// stepChanges turns the values of steps into what each step added: for
// counters they are rates already.
func stepChanges(all map[string]*points, d *metric.Desc, m mode, step int64) {
	sec := float64(step) / 1e9
	for _, p := range all {
		for i := len(p.vals) - 1; i >= 0; i-- {
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

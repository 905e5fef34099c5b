package query

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store"
)

var whyOperand = metric.ReasonFor("an operand has no value")

// sliceTicks is how many ticks of an expression are computed at once, so that memory does not
// grow with the window.
const (
	sliceTicks        = 4096
	sliceTicksProcess = 512
)

// Evaluate computes an expression over the request's window (its Metrics are not used): at the
// ticks of its fastest metric, or once for each step. Series come in slices of time; within a
// slice, series by series.
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
	breaks := readBreaks(a, r.Window)
	if err := checkSteps(a, r, maxSteps); err != nil {
		return yield(nil, err)
	}
	ev := &evaluator{a: a, e: e, r: r, breaks: breaks, archives: list, wide: 1}
	if r.Step > 0 {
		ev.steps = r.division(from)
	}
	for lo := from; lo <= to; {
		ev.choosePrimary(lo)
		length := ev.sliceLength()
		hi := lo + length - 1
		switch {
		case r.Step == 0:
			hi = min(lo+min(length, math.MaxInt64/4/ev.wide)*ev.wide-1, ev.sameArchive(lo))
		case ev.steps.zone != nil:
			hi = ev.steps.edge(ev.steps.number(lo+1)-1+ev.sliceLength()/r.Step) - 1
		}
		hi = min(hi, to)
		g := ev.grid(lo, hi)
		if r.Step == 0 {
			g, hi = ev.fit(g, hi)
		}
		if !ev.slice(lo, g, yield) {
			return false
		}
		lo = hi + 1
	}
	return true
}

// evaluator computes one expression on one host.
type evaluator struct {
	a        Archive
	e        *Expr
	r        Request
	breaks   breaks
	archives []*store.ArchiveInfo
	primary  *metric.Desc // its ticks are the grid of the slice
	tick     int64        // distance of the grid's instants, approximately
	steps    division     // the requested steps
	wide     int64        // how many slices are computed as one
	misfits  int          // how many slices had too few ticks, or too many
	err      error
}

// every returns the interval of d in the archive that covers wall, else in the one before it.
func (ev *evaluator) every(d *metric.Desc, wall int64) int64 {
	return interval(ev.archives[ev.archiveIndex(wall)], d.Class)
}

// longest returns the longest interval of d in the window.
func (ev *evaluator) longest(d *metric.Desc) int64 {
	iv := int64(0)
	for _, info := range ev.archives {
		iv = max(iv, interval(info, d.Class))
	}
	return iv
}

// archiveIndex returns the index of the last archive that had begun at wall, else of the first.
func (ev *evaluator) archiveIndex(wall int64) int {
	for i, info := range slices.Backward(ev.archives) {
		if info.From <= wall {
			return i
		}
	}
	return 0
}

// sameArchive returns until when the archive at wall is the latest: the next one may have been
// recorded at other intervals.
func (ev *evaluator) sameArchive(wall int64) int64 {
	if i := ev.archiveIndex(wall) + 1; i < len(ev.archives) && ev.archives[i].From > wall {
		return ev.archives[i].From - 1
	}
	return math.MaxInt64
}

// choosePrimary chooses the metric that is read most often at wall; metrics that are not discrete
// come first.
func (ev *evaluator) choosePrimary(wall int64) {
	best := int64(math.MaxInt64)
	ev.e.root.leaves(func(n *node) {
		iv := ev.every(n.desc, wall)
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
	ev.tick = ev.every(ev.primary, wall)
	if ev.r.Step > 0 {
		ev.tick = ev.r.Step
	}
	if ev.tick == 0 {
		ev.tick = 1e9
	}
}

func (ev *evaluator) sliceTicks() int {
	ticks := sliceTicks
	ev.e.root.leaves(func(n *node) {
		if metric.PerBoot(n.desc.Indom) {
			ticks = sliceTicksProcess
		}
	})
	return ticks
}

func (ev *evaluator) sliceLength() int64 {
	ticks := int64(ev.sliceTicks())
	length := ticks * min(ev.tick, math.MaxInt64/ticks/4)
	if ev.r.Step > 0 {
		length = max(length/ev.r.Step, 1) * ev.r.Step
	}
	return length
}

func (ev *evaluator) slice(lo int64, g grid, yield func(*Series, error) bool) bool {
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
		if r.in != nil && (ev.r.Instance != nil && !ev.r.Instance(ev.e.Indom(), r.in) || ev.r.Keys != nil && !slices.Contains(ev.r.Keys, r.in.Key)) {
			continue
		}
		s := &Series{Archive: ev.archiveAt(lo), Name: ev.e.Text, Metric: ev.e.Desc, Instance: r.in,
			Units: ev.e.Units(), Type: metric.F64, Rate: ev.e.IsRate()}
		for i, x := range r.vals {
			if x != x {
				if !metric.PerBoot(ev.e.Indom()) {
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

// grid returns the instants of a slice: the steps' ends, or the primary metric's ticks.
func (ev *evaluator) grid(lo, hi int64) grid {
	var g grid
	if ev.r.Step > 0 {
		for n := max(ev.steps.number(lo+1), 1); ev.steps.edge(n-1) < hi; n++ {
			at := ev.steps.edge(n)
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
		sel.Instance, sel.Sought, sel.Keys = ev.r.Instance, ev.r.Sought, ev.r.Keys
	}
	last := int64(math.MinInt64)
	sorted := true
	for run := range ev.a.Select(sel) {
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

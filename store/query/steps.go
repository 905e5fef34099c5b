package query

import (
	"iter"

	"tachograph/sample/metric"
	"tachograph/store"
)

// stepper aggregates one series into steps. The step that ends at t covers what happened after
// t-step and up to t: for a counter the gain in that time divided by that time, with the part of
// each interval that lies in it; for an instant metric the mean of its values; for a discrete
// metric the value that holds at t.
type stepper struct {
	of          Series // describes the series
	way         way
	from, to    int64
	steps       division
	n           int64 // number of the current step; -1 before the first value
	bounded     int64 // the step whose bounds begins and over are; 0 before the first
	begins      int64
	over        int64
	sum, weight float64
	covered     []Window // the parts of the window that archives cover
	silent      int64    // when a counter's value was first found absent
	absent      int64    // and when last
	prior       bool     // something was read before the window
	opened      bool     // and something in it
	held        metric.Value
	fresh       bool          // held was read in the current step
	failing     metric.Reason // why it could not be read since
	read        int64         // when it was last read
	ends        *ends
	why         metric.Reason
}

// way is how the values of a step are combined.
type way uint8

const (
	spread way = iota // gains of a counter over the time they took
	mean              // of levels
	hold              // the last one
)

func (r Request) origin(first int64) int64 {
	if r.Origin != 0 {
		return r.Origin
	}
	if r.From != 0 {
		return r.From
	}
	return first - mod(first, r.Step)
}

func mod(a, b int64) int64 {
	m := a % b
	if m < 0 {
		m += b
	}
	return m
}

// number returns the step that wall belongs to. The instant at which the first step begins
// belongs to it as well.
func (t *stepper) number(wall int64) int64 {
	return max(t.steps.number(wall), 1)
}

// bounds sets begins and over to those of the current step.
func (t *stepper) bounds() {
	if t.bounded != t.n {
		t.bounded, t.begins, t.over = t.n, t.steps.edge(t.n-1), t.steps.edge(t.n)
	}
}

// end returns the instant at which step n is shown.
func (t *stepper) end(n int64) int64 {
	e := t.steps.edge(n)
	if t.to != 0 && e > t.to {
		return t.to
	}
	return e
}

// advance finishes the steps before n and puts them into s.
func (t *stepper) advance(n int64, s *Series) {
	if t.n < 0 {
		t.n = n
		return
	}
	for t.n < n {
		t.emit(s)
		t.n++
		if len(t.covered) > 1 && n > t.n+longGap {
			t.n = min(t.uncovered(t.n), n)
		}
	}
}

func (t *stepper) emit(s *Series) {
	wall := t.end(t.n)
	switch {
	case t.way == hold:
		if t.failing != metric.Present && !t.fresh {
			s.push(wall, metric.Value{Type: s.Type, Miss: t.failing})
		} else if t.held.Miss != metric.Present {
			s.push(wall, metric.Value{Type: s.Type, Miss: t.held.Miss})
		} else {
			s.push(wall, t.held)
		}
	case t.weight > 0:
		s.pushFloat(wall, t.sum/t.weight, metric.Present)
	default:
		why := t.why
		if why == metric.Present {
			why = whyNoSample
		}
		s.pushFloat(wall, 0, why)
	}
	t.sum, t.weight, t.why, t.fresh = 0, 0, metric.Present, false
}

// gained spreads a gain evenly over the seconds before wall.
func (t *stepper) gained(wall int64, inc, seconds float64, s *Series) {
	begin := wall - int64(seconds*1e9)
	rate := inc / seconds
	if t.n > 0 {
		// Most gains lie within the current step: no step has to be looked for.
		if t.bounds(); begin < wall && begin >= max(t.begins, t.from) && wall <= t.over {
			part := float64(wall-begin) / 1e9
			t.sum += float64(rate * part)
			t.weight += part
			return
		}
	}
	for n := max(t.number(max(begin, t.from)+1), t.n); ; n++ {
		t.advance(n, s)
		lo := max(begin, t.steps.edge(n-1), t.from)
		hi := min(wall, t.steps.edge(n))
		if hi > lo {
			part := float64(hi-lo) / 1e9
			t.sum += float64(rate * part)
			t.weight += part
		}
		if hi >= wall {
			return
		}
	}
}

// stepsAtOnce is how many finished steps are yielded together.
const stepsAtOnce = 4096

func readSteps(a Archive, r Request) iter.Seq2[*Series, error] {
	return func(yield func(*Series, error) bool) {
		breaks := readBreaks(a, r.Window)
		if err := checkSteps(a, r, maxSteps); err != nil {
			yield(nil, err)
			return
		}
		sel := r.selection()
		sel.Prior = true
		sr := &stepReader{
			covered: covering(a, r.Window),
			r:       r, gains: newGainer(breaks, r.Note), steps: make(map[seriesID]*stepper), out: &Series{},
			last: lastArchives(a, r.Window), eve: eveOf(a, r.Window), ends: newEnds(a, r.Window),
		}
		for run := range a.Select(sel) {
			if run.Wall[len(run.Wall)-1] < r.From {
				sr.before(run)
				continue
			}
			if sr.changed(run) && !sr.finish(yield) {
				return
			}
			sr.take(run)
			if len(sr.out.Wall) >= stepsAtOnce {
				if !yield(sr.out, nil) {
					return
				}
				sr.out.reset()
			}
		}
		if !sr.finish(yield) {
			return
		}
		sr.rest(yield)
	}
}

// lastArchives returns the archives of a window that are the last of their boot, and those that
// are the last of their host.
func lastArchives(a Archive, w Window) map[string]bool {
	out := make(map[string]bool)
	_, _, list := Covered(a, w)
	last := make(map[string]string)
	for _, info := range list {
		last["host "+info.Host.ID] = info.ID
		last["boot "+info.Host.ID+" "+info.BootID] = info.ID
	}
	for kind, id := range last {
		out[kind[:4]+" "+id] = true
	}
	return out
}

// stepReader feeds runs to the stepper of their series.
type stepReader struct {
	r     Request
	gains *gainer
	steps map[seriesID]*stepper
	// covered are the parts of the window that archives cover.
	covered []Window
	order   []*stepper // steppers that are not finished when their archive ends
	last    map[string]bool
	eve     map[string]bool
	ends    *ends
	cur     *stepper
	out     *Series
}

func (sr *stepReader) changed(run *store.Run) bool {
	o := sr.out
	return sr.cur == nil || o.Archive != run.Archive || o.Metric != run.Metric || o.Instance != run.Instance
}

// finish yields the steps of the current series in its archive. Its last step is kept back where
// a later archive may add to it.
func (sr *stepReader) finish(yield func(*Series, error) bool) bool {
	if sr.cur == nil {
		return true
	}
	t, s := sr.cur, sr.out
	sr.cur = nil
	kind := "host "
	if metric.PerBoot(s.Metric.Indom) {
		kind = "boot "
	}
	if sr.last[kind+s.Archive.ID] {
		t.close(s)
	} else {
		t.of = *s
		t.of.Wall, t.of.Column = nil, metric.Column{}
		sr.order = append(sr.order, t)
	}
	return len(s.Wall) == 0 || yield(s, nil)
}

// rest yields the steps that were kept back and got no more values.
func (sr *stepReader) rest(yield func(*Series, error) bool) {
	for _, t := range sr.order {
		if t.prior && !t.opened && t.n < 0 {
			t.n = 1 // It was not read in the window, so its value holds.
		}
		if t.n > 0 || t.silent != 0 {
			t.close(&t.of)
			if len(t.of.Wall) > 0 && !yield(&t.of, nil) {
				return
			}
		}
	}
}

// close finishes the current step, the last one.
func (t *stepper) close(s *Series) {
	if t.n < 0 && t.silent != 0 {
		t.n = t.number(t.silent)
	}
	if t.n < 0 {
		return
	}
	if t.way == hold && s.Metric.Sem == metric.Discrete && !metric.PerBoot(s.Metric.Indom) {
		// A value that is read once or rarely holds for as long as the archive goes on.
		until := s.Archive.To
		if end, gone := t.ends.after(s.Archive, s.Metric, s.Instance, t.read); gone {
			until = end
		}
		if t.to != 0 {
			until = min(until, t.to)
		}
		t.advance(max(t.n, t.number(until)), s)
	}
	if why := t.why; t.way == spread && t.absent != 0 && t.number(t.absent) > t.n {
		t.advance(t.number(t.absent), s)
		t.why = why
	}
	t.emit(s)
	t.n, t.silent = -1, 0
}

// before takes the values before the window. They come before the other runs of the series.
func (sr *stepReader) before(run *store.Run) {
	t := sr.stepper(run)
	t.prior = true
	last := len(run.Wall) - 1
	v := run.At(last)
	switch t.way {
	case hold:
		if v.Miss != metric.Present || run.Metric.Sem != metric.Discrete || metric.PerBoot(run.Metric.Indom) || !sr.eve[run.Archive.ID] {
			t.prior = false
			return
		}
		if end, gone := sr.ends.after(run.Archive, run.Metric, run.Instance, run.Wall[last]); gone && end < sr.r.From {
			t.prior = false
			return
		}
		t.held, t.read = v, run.Wall[last]
		t.of.describe(run)
		sr.order = append(sr.order, t)
	case spread:
		sr.gains.turn(run.Archive, run.Metric, run.Instance)
		if v.Miss != metric.Present {
			sr.gains.absent()
			return
		}
		sr.gains.gain(store.Point{Wall: run.Wall[last], Cont: run.Cont[last], Bits: run.Bits[last]})
	}
}

// stepper finds or makes the stepper of a run's series.
func (sr *stepReader) stepper(run *store.Run) *stepper {
	id := idOf(run.Archive, run.Metric, run.Instance)
	t := sr.steps[id]
	if t == nil {
		t = &stepper{covered: sr.covered, way: sr.wayOf(run.Metric), from: sr.r.From, to: sr.r.To, n: -1, ends: sr.ends,
			steps: sr.r.division(max(run.Wall[0], sr.r.From))}
		t.held.Miss = whyNoSample
		sr.steps[id] = t
	}
	return t
}

func (sr *stepReader) take(run *store.Run) {
	s := sr.out
	if sr.cur == nil {
		s.describe(run)
		sr.cur = sr.stepper(run)
		switch sr.cur.way {
		case spread:
			s.Units, _ = RateUnits(run.Metric.Units)
			s.Type, s.Rate = metric.F64, true
		case mean:
			s.Type = metric.F64
		}
		if t := sr.cur; t.way == hold && t.prior && !t.opened {
			t.n = 1
		}
		sr.cur.opened = true
		sr.gains.turn(run.Archive, run.Metric, run.Instance)
	}
	switch sr.cur.way {
	case spread:
		sr.counts(run)
	case mean:
		sr.levels(run)
	case hold:
		sr.holds(run)
	}
}

func (sr *stepReader) wayOf(d *metric.Desc) way {
	switch {
	case d.Type == metric.String || d.Sem == metric.Discrete:
		return hold
	case d.Sem == metric.Instant:
		return mean
	case sr.r.Mode == Shown:
		return spread
	}
	return hold
}

// levels adds the values of a level to the means of steps.
func (sr *stepReader) levels(run *store.Run) {
	t, s := sr.cur, sr.out
	for i, wall := range run.Wall {
		if wall < sr.r.From {
			continue
		}
		t.reach(wall, s)
		if run.Miss != nil && run.Miss[i] != metric.Present {
			t.why = run.Miss[i]
		} else if x := metric.Number(run.Metric.Type, run.Bits[i]); x != x {
			t.why = whyNaN
		} else {
			t.sum += x
			t.weight++
		}
	}
}

// reach makes the step that wall belongs to the current one. Where the wall clock was set back,
// new values belong to the current step.
func (t *stepper) reach(wall int64, s *Series) {
	if t.n > 0 {
		if t.bounds(); wall <= t.over {
			return
		}
	}
	t.advance(max(t.number(wall), t.n), s)
}

// counts spreads what a counter gained up to each value.
func (sr *stepReader) counts(run *store.Run) {
	t, s := sr.cur, sr.out
	_, factor := RateUnits(run.Metric.Units)
	for i, wall := range run.Wall {
		inside := wall >= sr.r.From
		if run.Miss != nil && run.Miss[i] != metric.Present {
			// The step is not over: a later value will show what was gained in it.
			sr.gains.absent()
			t.why = run.Miss[i]
			if inside {
				if t.absent == 0 {
					t.silent = wall
				}
				t.absent = wall
			}
			continue
		}
		inc, sec, why := sr.gains.gain(store.Point{Wall: wall, Cont: run.Cont[i], Bits: run.Bits[i]})
		switch {
		case !inside:
		case why != metric.Present:
			t.reach(wall, s)
			t.why = why
		default:
			t.gained(wall, inc*factor, sec, s)
		}
	}
}

// holds takes values each of which holds until the next one.
func (sr *stepReader) holds(run *store.Run) {
	t, s := sr.cur, sr.out
	for i, wall := range run.Wall {
		inside := wall >= sr.r.From
		if inside {
			t.reach(wall, s)
		}
		t.read = wall
		if !inside && t.n < 0 && run.Metric.Sem == metric.Discrete {
			t.n = 1
		}
		v := run.At(i)
		if t.failing = v.Miss; v.Miss == metric.Present {
			t.held, t.fresh = v, true
		}
	}
}

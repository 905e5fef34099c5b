package query

import (
	"iter"
	"math"
	"time"

	"tachograph/sample/metric"
	"tachograph/store"
)

// Series is a stretch of a computed series: the values of one metric or expression and instance
// at successive instants. It is valid until the next one.
type Series struct {
	Archive  *store.ArchiveInfo
	Name     string       // the metric's, or the expression
	Metric   *metric.Desc // nil for expressions
	Instance *metric.Instance
	Units    metric.Units
	Type     metric.Type
	// Rate says that values are rates of a counter.
	Rate   bool
	Wall   []int64
	cohort *store.Cohort // of the request that it answers
	metric.Column
}

// Value returns the i-th value.
func (s *Series) Value(i int) metric.Value { return s.At(s.Type, i) }

// Last returns s with its last value only.
func (s *Series) Last() Series {
	last, n := *s, len(s.Wall)-1
	last.Wall, last.Column = nil, metric.Column{}
	last.push(s.Wall[n], s.Value(n))
	return last
}

// reset empties s, keeping its capacity.
func (s *Series) reset() {
	s.Wall, s.Bits, s.Words, s.Miss = s.Wall[:0], s.Bits[:0], s.Words[:0:0], s.Miss[:0]
}

func (s *Series) push(wall int64, v metric.Value) {
	s.Wall = append(s.Wall, wall)
	s.Push(v)
}

func (s *Series) pushFloat(wall int64, x float64, why metric.Reason) {
	if why != metric.Present {
		x = 0
	}
	s.push(wall, metric.Value{Type: metric.F64, Bits: math.Float64bits(x), Miss: why})
}

// Mode says what to make of recorded values.
type Mode uint8

const (
	// Raw values are as recorded, absences included.
	Raw Mode = iota
	// Shown values follow the semantics: counters as rates, discrete values held until replaced,
	// instants as they are.
	Shown
)

// Request is a question about series.
type Request struct {
	Window
	// Metrics are exact names of recorded metrics.
	Metrics []string
	// Instance selects the instances that it accepts; nil means all.
	Instance func(indom string, in *metric.Instance) bool
	// Sought, if set, describes the instances that Instance accepts.
	Sought *store.Sought
	// Keys selects the instances with these keys; nil means all.
	Keys []string
	// Cohort selects one cohort; Read and Ranges divide a request into cohorts by themselves.
	Cohort *store.Cohort
	Mode   Mode
	// Before asks, with mode Raw, also for the last value of each series before the window.
	Before bool
	// Step, if not zero, asks for one value for each step of so many nanoseconds, counted from
	// Origin.
	Step, Origin int64
	// Zone, if set, is where the days of a Step of whole days begin at midnight.
	Zone *time.Location
	// Note, if set, is called with what was bridged or dropped.
	Note func(Note)
	// Past, if set, has the state from which Read continues, and receives its new state. It is
	// used without steps only.
	Past *Past
}

// RateUnits returns the units of the rate of a counter in u, and the factor that converts an
// increase per second to them: time per time is a plain number.
func RateUnits(u metric.Units) (metric.Units, float64) {
	per := u.PerSec()
	if u.Time == 1 {
		one := metric.Units{Time: 1, TimeScale: u.TimeScale}
		f, err := one.Factor(metric.Seconds)
		if err == nil {
			return per, f
		}
	}
	if u.Time != 0 && per.Time != 0 && per.TimeScale != metric.Sec {
		// A second has been taken off a time in another scale.
		f, err := metric.Seconds.Factor(metric.Units{Time: 1, TimeScale: per.TimeScale})
		if err == nil {
			return per, 1 / f
		}
	}
	return per, 1
}

// Read answers r, series by series, in time order within an archive, archives in time order;
// where there are very many processes, cohort by cohort.
func Read(a Archive, r Request) iter.Seq2[*Series, error] {
	return func(yield func(*Series, error) bool) {
		goOn := true
		for part := range cohorts(a, r, r.cohortSize()) {
			read := readValues
			if r.Step > 0 {
				read = readSteps
			}
			read(a, part)(func(s *Series, err error) bool {
				if s != nil {
					s.cohort = part.Cohort
				}
				goOn = yield(s, err)
				return goOn
			})
			if !goOn {
				return
			}
		}
		r.Past.went()
	}
}

// readValues answers a request without steps.
func readValues(a Archive, r Request) iter.Seq2[*Series, error] {
	return func(yield func(*Series, error) bool) {
		sel := r.selection()
		sel.Prior = r.Mode == Shown && !r.Past.known() || r.Mode == Raw && r.Before
		g, held := newGainer(nil, r.Note), newHolder(a, r.Window)
		handed := r.Window
		if r.Mode == Raw && r.Before {
			handed.From = math.MinInt64
		}
		if r.Past != nil {
			g, held.held = r.Past.goOn(g), r.Past.held
		}
		if r.Mode == Shown {
			g.breaks = readBreaks(a, r.Window)
			if r.Past != nil {
				g.breaks = r.Past.breaks(g.breaks)
			}
		}
		out := &Series{}
		for run := range a.Select(sel) {
			out.describe(run)
			switch {
			case r.Mode == Raw || run.Metric.Sem == metric.Instant:
				out.raw(run, handed)
			case run.Metric.Sem == metric.Discrete:
				held.hold(out, run)
			case run.Metric.Type == metric.String:
				out.raw(run, r.Window)
			default:
				out.rates(run, r.Window, g)
			}
			if len(out.Wall) > 0 && !yield(out, nil) {
				return
			}
		}
		held.rest(yield)
	}
}

func (r Request) selection() store.Selection {
	sel := r.Window.Selection(r.Metrics...)
	sel.Instance, sel.Sought, sel.Keys, sel.Cohort = r.Instance, r.Sought, r.Keys, r.Cohort
	return sel
}

// describe makes s an empty series like run.
func (s *Series) describe(run *store.Run) {
	s.reset()
	s.Archive, s.Metric, s.Instance = run.Archive, run.Metric, run.Instance
	s.Name, s.Units, s.Type, s.Rate = run.Metric.Name, run.Metric.Units, run.Metric.Type, false
}

func (s *Series) raw(run *store.Run, w Window) {
	if run.Wall[0] >= w.From {
		// The usual case: no value before the window, so values need no selection.
		s.Wall = append(s.Wall, run.Wall...)
		s.Bits = append(s.Bits, run.Bits...)
		s.Words = run.Words
		if run.Miss == nil {
			s.Miss = nil
		} else {
			s.Miss = append(s.Miss, run.Miss...)
		}
		return
	}
	for i, wall := range run.Wall {
		if wall >= w.From {
			s.push(wall, run.At(i))
		}
	}
}

// eveOf returns the archives whose values may still hold when a window begins: for each host,
// those that began before the window, of the boot in which it begins or of the last boot before
// it.
func eveOf(a Archive, w Window) map[string]bool {
	last := make(map[string]string)
	for _, info := range a.Archives() {
		if info.From < w.From {
			last[info.Host.ID] = info.BootID
		}
	}
	out := make(map[string]bool)
	for _, info := range a.Archives() {
		if boot, ok := last[info.Host.ID]; ok && info.From < w.From && info.BootID == boot {
			out[info.ID] = true
		}
	}
	return out
}

// heldValue is a present value and when it was last read.
type heldValue struct {
	metric.Value
	wall int64
}

// holder repeats the last present value of discrete metrics where a value is absent, and at the
// beginning of a window gives the last value before it.
type holder struct {
	w     Window
	eve   map[string]bool
	ends  *ends
	held  map[seriesID]heldValue
	carry map[seriesID]*Series // held when the window begins, not yet yielded
	order []seriesID
}

func newHolder(a Archive, w Window) *holder {
	return &holder{w: w, eve: eveOf(a, w), ends: newEnds(a, w), held: make(map[seriesID]heldValue), carry: make(map[seriesID]*Series)}
}

func (h *holder) hold(s *Series, run *store.Run) {
	id := idOf(run.Archive, run.Metric, run.Instance)
	n := 0
	for n < len(run.Wall) && run.Wall[n] < h.w.From {
		n++
	}
	if n > 0 {
		h.before(id, run, n-1)
	}
	held, known := h.held[id]
	last := held.Value
	for i := n; i < len(run.Wall); i++ {
		v := run.At(i)
		if c := h.carry[id]; c != nil {
			delete(h.carry, id)
			if run.Wall[i] > h.w.From {
				s.push(h.w.From, c.Value(0))
			}
		}
		if v.Miss == metric.Present {
			last, known = v, true
		} else if known {
			v = last
		}
		s.push(run.Wall[i], v)
	}
	if known {
		h.held[id] = heldValue{last, run.Wall[len(run.Wall)-1]}
	}
}

// before notes the last value before the window.
func (h *holder) before(id seriesID, run *store.Run, i int) {
	v := run.At(i)
	if v.Miss != metric.Present {
		return
	}
	h.held[id] = heldValue{v, run.Wall[i]}
	if !h.eve[run.Archive.ID] || metric.PerBoot(run.Metric.Indom) {
		return
	}
	if end, gone := h.ends.after(run.Archive, run.Metric, run.Instance, run.Wall[i]); gone && end < h.w.From {
		return
	}
	c := &Series{}
	c.describe(run)
	c.push(h.w.From, v)
	h.carry[id] = c
	h.order = append(h.order, id)
}

// rest yields the values that held when the window began and were not read in it.
func (h *holder) rest(yield func(*Series, error) bool) {
	for _, id := range h.order {
		if c := h.carry[id]; c != nil && !yield(c, nil) {
			return
		}
	}
}

func (s *Series) rates(run *store.Run, w Window, g *gainer) {
	var factor float64
	s.Units, factor = RateUnits(run.Metric.Units)
	s.Type, s.Rate = metric.F64, true
	g.turn(run.Archive, run.Metric, run.Instance)
	for i, wall := range run.Wall {
		if run.Miss != nil && run.Miss[i] != metric.Present {
			g.absent()
			if wall >= w.From {
				s.pushFloat(wall, 0, run.Miss[i])
			}
			continue
		}
		inc, sec, why := g.gain(store.Point{Wall: wall, Cont: run.Cont[i], Bits: run.Bits[i]})
		if wall < w.From {
			continue
		}
		if why != metric.Present {
			s.pushFloat(wall, 0, why)
			continue
		}
		s.pushFloat(wall, inc/sec*factor, metric.Present)
	}
}

package query

import (
	"math"

	"tachograph/sample/metric"
)

// A Line is one number of a machine that can be drawn over time: the first of
// several expressions that its archives can compute.
type Line struct {
	Expr  string
	Units metric.Units
	// Share says that values are fractions of 1.
	Share bool

	e     *Expr
	whole float64
	of    *Expr
}

// LineOf finds the expression for a line; of, if not empty, are the expressions for the whole
// that its values are a part of. It returns nil where the archive has nothing to compute the line
// from.
func LineOf(a Archive, w Window, share bool, exprs []string, of ...string) *Line {
	e := compileGauge(a, withCores(exprs, Cores(a, w)))
	if e == nil {
		return nil
	}
	g, whole := newGauge(&gauge{share: share}, e, 0)
	return &Line{Expr: e.Text, Units: g.Units, Share: share, e: e, whole: whole, of: compileGauge(a, of)}
}

// GaugeLine returns the line of a gauge.
func GaugeLine(a Archive, w Window, name string) *Line {
	for i := range gauges {
		if gauges[i].name == name {
			return LineOf(a, w, gauges[i].share, gauges[i].exprs, gauges[i].of...)
		}
	}
	return nil
}

// Metrics returns the names of the recorded metrics that l reads.
func (l *Line) Metrics() []string { return l.e.Metrics() }

// Values calls yield with each value of a window of one host in the order of time, as gauges
// compute them.
func (l *Line) Values(a Archive, w Window, yield func(wall int64, x float64)) error {
	return l.readings(a, w, func(wall int64, x float64) {
		if x == x {
			yield(wall, x)
		}
	})
}

// Last returns the value of the last reading in a window of one host; NaN if there is none.
func (l *Line) Last(a Archive, w Window) (float64, error) {
	last, at := math.NaN(), int64(math.MinInt64)
	err := l.readings(a, w, func(wall int64, x float64) {
		if wall >= at {
			last, at = x, wall
		}
	})
	return last, err
}

// readings is like Values, but yields NaN where a value is absent.
func (l *Line) readings(a Archive, w Window, yield func(wall int64, x float64)) error {
	for s, err := range readExpr(a, l.e, Request{Window: w, Mode: Shown}) {
		if err != nil {
			return err
		}
		for i, wall := range s.Wall {
			x := math.Float64frombits(s.Bits[i])
			switch {
			case s.Miss != nil && s.Miss[i] != metric.Present:
				x = math.NaN()
			case s.Type != metric.F64:
				x = metric.Number(s.Type, s.Bits[i])
			}
			yield(wall, x/l.whole)
		}
	}
	return nil
}

// Of returns the whole that l's values are a part of, at the end of a window; NaN if it is not
// known.
func (l *Line) Of(a Archive, w Window) (float64, error) {
	g := &Gauge{Of: math.NaN(), Units: l.Units}
	if l.of == nil {
		return g.Of, nil
	}
	err := g.whole(a, &gauge{of: []string{l.of.Text}}, w)
	return g.Of, err
}

// Tick returns the last reading of processes on a host not after an instant, and the interval of
// readings there; zero if there is none.
func Tick(a Archive, host string, at int64) (tick, every int64) {
	return processTable(a).lastTick(a, host, at)
}

// BreakAt returns the break that an instant of a host's recording lies in; nil if the recording
// went on there.
func BreakAt(a Archive, host string, at int64) *Break {
	if s := StanceAt(a, host, at); s.State != Over {
		return s.Break
	}
	return nil
}

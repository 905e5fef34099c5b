package main

import (
	"maps"
	"slices"
	"strings"

	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/out"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
	"tachograph/store/recent"
)

// liveSeries shows values as they are recorded.
type liveSeries struct {
	*following
	defs    *query.Definitions
	args    []string
	request query.Request
	conv    *converter
	rows    out.Writer
	cells   []out.Cell
	column  string

	metrics int // known when the targets were found
	targets []*liveTarget
}

// A liveTarget is a metric or an expression, and how far it has been shown.
type liveTarget struct {
	query.Target
	past  query.Past    // of a metric
	next  int64         // where the current step ends
	shown int64         // wall clock of the last value of an expression,
	read  recent.Moment // and of the newest reading it was computed from
	names map[string]bool
}

// timeWidth is how wide times are in tables.
const timeWidth = len("2006-01-02 15:04:05.000")

// keptTicks is the number of ticks of each class that are kept: expressions look back three
// intervals of the class that is read most rarely.
const keptTicks = 5

// prepare reads the arguments and flags.
func (l *liveSeries) prepare(f *seriesFlags, mode query.Mode) error {
	a := l.a
	var err error
	if l.defs, err = a.Definitions(); err != nil {
		return err
	}
	if l.request.Window, err = l.window(&f.follow); err != nil {
		return err
	}
	if err = a.shape(&l.request, f, mode); err != nil {
		return err
	}
	if l.conv, err = newConverter(f.units); err != nil {
		return err
	}
	return l.find(a.Archive)
}

// find finds the targets that the arguments name now, and adds the new ones.
func (l *liveSeries) find(archive query.Archive) error {
	found, err := query.Targets(archive, l.defs, l.args)
	if err != nil {
		return err
	}
	for _, t := range found {
		if slices.ContainsFunc(l.targets, func(have *liveTarget) bool { return have.Name() == t.Name() }) {
			continue
		}
		one := &liveTarget{Target: t, names: make(map[string]bool)}
		if t.Metric != nil {
			one.names[t.Metric.Name] = true
		} else {
			if t.Expr.Counter() && l.request.Mode == query.Shown {
				one.Expr = t.Expr.Rate()
			}
			for _, name := range t.Expr.Metrics() {
				one.names[name] = true
			}
		}
		l.targets = append(l.targets, one)
	}
	return nil
}

// doubts reports whether a distrust is about a metric of a target.
func (l *liveSeries) doubts(d *query.Distrust) bool {
	return slices.ContainsFunc(l.targets, func(t *liveTarget) bool {
		return slices.ContainsFunc(slices.Collect(maps.Keys(t.names)), d.About)
	})
}

// wants reports whether a metric is needed: for a target, or because an argument may match it as
// a pattern.
func (l *liveSeries) wants(d *metric.Desc) bool {
	for _, t := range l.targets {
		if t.names[d.Name] {
			return true
		}
	}
	for _, arg := range l.args {
		if p, err := query.ParsePattern(arg); err == nil && (p.Match(d.Name) || strings.HasPrefix(d.Name, arg+".")) {
			return true
		}
	}
	return false
}

// start begins the rows, with columns wide enough for all names known by now.
func (l *liveSeries) start() error {
	name, instance := 0, 0
	domain := false
	for _, t := range l.targets {
		name = max(name, human.Width(t.Name()))
		domain = domain || t.Indom() != metric.NoIndom
		for life := range l.recent.Lives(t.Indom(), 0, 0) {
			if l.request.Instance == nil || l.request.Instance(t.Indom(), life.Instance) {
				instance = max(instance, human.Width(life.Instance.Name))
			}
		}
	}
	only := out.Everywhere
	if !domain {
		only = out.InMachine
	}
	const widest = 40
	var err error
	which, whose := out.Metric, out.Instance
	which.Width, whose.Width, whose.Only = min(name, widest), min(instance, widest), only
	l.rows, err = l.a.liveRows(out.Column{Name: "time", Width: timeWidth}, which, whose, out.Column{Name: l.column, Right: true, Width: 10})
	if err != nil {
		return err
	}
	return l.present()
}

// before shows the values of the window that are already recorded, and notes the last ones, from
// which rates go on.
func (l *liveSeries) before() error {
	a := l.a
	if a.From == "" {
		for _, t := range l.targets {
			l.shownUntil(t)
			if t.Metric == nil {
				continue
			}
			r := l.request
			r.Window, r.Metrics, r.Past = query.Window{}, []string{t.Metric.Name}, &t.past
			for _, err := range query.Read(l.recent, r) {
				if err != nil {
					return err
				}
			}
		}
		return nil
	}
	archive := l.upTo(a.Archive)
	names := query.NewNames(a.Archive, l.request)
	for _, t := range l.targets {
		r := l.request
		r.Past = &t.past
		if err := l.show(t, query.ReadTarget(archive, t.Target, r), names); err != nil {
			return err
		}
		l.shownUntil(t)
	}
	return l.present()
}

// shownUntil notes that an expression has been shown up to the newest kept tick.
func (l *liveSeries) shownUntil(t *liveTarget) {
	for class := range metric.NumClasses {
		if _, _, to, ok := l.recent.Last(class); ok && to > t.shown {
			t.shown, t.read = to, l.recent.LastOf(class)
		}
	}
}

// show prints series.
func (l *liveSeries) show(t *liveTarget, all func(func(*query.Series, error) bool), names *query.Names) error {
	for s, err := range all {
		if err != nil {
			return err
		}
		factor := 0.0
		if l.conv != nil && s.Type != metric.String {
			if factor, err = l.conv.factor(s.Name, s.Units, s.Metric != nil && !s.Rate); err != nil {
				return err
			}
		}
		l.cells[0], l.cells[2] = hostCell(&s.Archive.Host), out.Str(s.Name)
		if names == nil {
			if err := l.conv.rows(l.rows, l.cells, s, factor, nil); err != nil {
				return err
			}
			continue
		}
		for part := range names.Split(s, t.Indom()) {
			if err := l.conv.rows(l.rows, l.cells, part, factor, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// found finds the targets that are new since it was called last.
func (l *liveSeries) found() error {
	n := l.recent.Known()
	if n == l.metrics {
		return nil
	}
	l.metrics = n
	return l.find(l.recent)
}

// tick shows the values that a tick brought.
func (l *liveSeries) tick(class metric.Class) error {
	if err := l.found(); err != nil {
		return err
	}
	newest := l.recent.Newest(class)
	for _, t := range l.targets {
		var err error
		if t.Metric != nil {
			r := l.request
			r.Window, r.Metrics, r.Past = query.Window{}, []string{t.Metric.Name}, &t.past
			err = l.show(t, query.Read(newest, r), nil)
		} else {
			err = l.expression(t, class)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// expression shows the values of an expression up to the newest tick of a class.
func (l *liveSeries) expression(t *liveTarget, class metric.Class) error {
	if !l.recent.Holds(class, t.names) {
		return nil
	}
	_, from, to, _ := l.recent.Last(class)
	read := l.recent.LastOf(class)
	late := read.Before(t.read)
	switch {
	case to < t.shown && late:
		return nil // It was read before the values already shown, and recorded after them.
	case to < t.shown:
		t.shown = from - 1 // The clock was set back.
	}
	if !late {
		t.read = read
	}
	r := l.request
	r.From, r.To = t.shown+1, to
	last := t.shown
	err := l.show(t, func(yield func(*query.Series, error) bool) {
		for s, err := range query.Evaluate(l.recent, t.Expr, r) {
			if s != nil && len(s.Wall) > 0 {
				last = max(last, s.Wall[len(s.Wall)-1])
			}
			if !yield(s, err) {
				return
			}
		}
	}, nil)
	t.shown = last
	return err
}

// end has nothing left to show.
func (l *liveSeries) end() error { return nil }

// event ignores events: other commands show them.
func (l *liveSeries) event(*store.ArchiveInfo, *metric.Event) error { return nil }

// present flushes the rows.
func (l *liveSeries) present() error {
	return l.rows.(out.Flusher).Flush()
}

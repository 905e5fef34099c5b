package main

import (
	"cmp"
	"slices"
	"strings"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/fault"
	"tachograph/store/query"
)

// doubts are the distrusts that concern an answer. The answer shows a distrusted value as it was
// read, with the reason beside it, as beside an absent value.
type doubts struct {
	s    *session
	all  []*query.Distrust
	told []*query.Distrust
	// beside is set if the rows of JSON carry the reason.
	beside bool
}

func (s *session) doubts(w query.Window) *doubts {
	return &doubts{s: s, all: query.Distrusts(s.Archive, w)}
}

// lastingDistrusts returns the distrusts that still last at the end of the recording of the host
// that was recorded last; nil if nothing was recorded.
func lastingDistrusts(paths ...string) (query.Distrusted, error) {
	r, err := openArchives(paths...)
	if fault.Of(err) == fault.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	last := slices.MaxFunc(r.Archives(), func(x, y *store.ArchiveInfo) int { return cmp.Compare(x.To, y.To) })
	all := query.Distrusts(r, query.Window{From: last.From, Hosts: []string{last.Host.ID}})
	return slices.DeleteFunc(all, func(d *query.Distrust) bool { return d.To != 0 }), nil
}

// about adds the distrusts that concern targets as a whole, for answers with one row per series.
func (d *doubts) about(targets []query.Target, r query.Request) *doubts {
	for _, one := range d.all {
		if one.Key != "" && r.Instance != nil && !r.Instance(one.Indom, &metric.Instance{Key: one.Key, Name: one.Instance}) {
			continue
		}
		for _, t := range targets {
			if t.Metric != nil && one.About(t.Metric.Name) || t.Expr != nil && slices.ContainsFunc(t.Expr.Metrics(), one.About) {
				d.told = append(d.told, one)
				break
			}
		}
	}
	return d
}

// tellDoubtsOf prints below an answer each distrust of its window that concerns it.
func (a *app) tellDoubtsOf(w query.Window, concerns func(*query.Distrust) bool) {
	d := a.doubts(w)
	for _, one := range d.all {
		if concerns(one) {
			d.told = append(d.told, one)
		}
	}
	a.tellDoubts(d)
}

// of returns a function that gives the reason to distrust the series' value at a time; nil if
// none of its values is distrusted.
func (d *doubts) of(t query.Target, s *query.Series) func(wall int64) metric.Reason {
	d.beside = true
	var mine []*query.Distrust
	for _, one := range d.all {
		if d.concerns(one, t, s) && len(s.Wall) > 0 && (one.To == 0 || s.Wall[0] < one.To) && one.From <= s.Wall[len(s.Wall)-1] {
			mine = append(mine, one)
			if !slices.Contains(d.told, one) {
				d.told = append(d.told, one)
			}
		}
	}
	if len(mine) == 0 {
		return nil
	}
	return func(wall int64) metric.Reason {
		for _, one := range mine {
			if one.Holds(wall) {
				return metric.ReasonFor(d.s.distrustText(one))
			}
		}
		return metric.Present
	}
}

func (d *doubts) concerns(one *query.Distrust, t query.Target, s *query.Series) bool {
	if t.Metric != nil {
		return one.Concerns(s.Archive.Host.ID, t.Metric, s.Instance)
	}
	return one.Whose() == s.Archive.Host.ID && slices.ContainsFunc(t.Expr.Metrics(), one.About)
}

// tellDoubts prints below an answer which of its values are distrusted, unless its rows of JSON
// already say so.
func (a *app) tellDoubts(d *doubts) {
	for _, one := range d.told {
		a.distrust(a.doubt(one), d.beside)
	}
}

// doubt returns the sentence that says which metrics are distrusted, since when and why.
func (s *session) doubt(d *query.Distrust) string {
	return strings.Join(d.Metrics, ", ") + s.ofInstance(d) + ": " + s.distrustText(d)
}

// ofInstance returns the name of the instance that a distrust is about, in brackets.
func (s *session) ofInstance(d *query.Distrust) string {
	switch {
	case d.Instance != "":
		return " [" + d.Instance + "]"
	case d.Key != "":
		return " [" + d.Key + "]"
	}
	return ""
}

// distrustText says since when a value is distrusted, and why.
func (s *session) distrustText(d *query.Distrust) string {
	text := "distrusted since " + s.Show(d.From)
	if d.To != 0 {
		text = "distrusted from " + s.Show(d.From) + " to " + s.Show(d.To)
	}
	return text + ": " + d.Because
}

// Package moment computes what full-screen browsing and the tables of the report show: the
// state of a host at an instant, its recording in columns, where to go next, and the sentence
// about an instant that was not recorded. It caches its results, prints nothing, and takes every number from package query.
package moment

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/query"
)

// A Recording is what was recorded of one host. Only one goroutine may use it at a time.
type Recording struct {
	a        query.Archive
	host     metric.Host
	defs     *query.Definitions
	hosts    []string
	from, to int64

	clock string // the metric whose readings are the samples
	ticks ticks
	lanes []*lane
	// archives are the host's archives, as far as they were surveyed.
	archives []*surveyed
	course   *query.Course // the one that was read last
	cells    int           // number of cells kept in archives
	cell     int64         // how much time a cell sums up
	marks    []Mark
	crashes  crashes
	sweep    sweeps
	lives    map[string]*lifeInWork
	asked    int64 // number of requests for lives
	looks    int   // number of calls of look
	progress progress
	ctx      context.Context
	search   *search // the last search that was cancelled
}

// Open prepares one host of an archive for browsing; an empty name means the only host. defs may
// be nil.
func Open(a query.Archive, host string, defs *query.Definitions) (*Recording, error) {
	r := &Recording{a: a, defs: defs}
	for _, h := range a.Hosts() {
		if h.ID == host || h.Name == host || host == "" && len(a.Hosts()) == 1 {
			r.host = h
		}
	}
	if r.host.ID == "" {
		if host == "" {
			return nil, fmt.Errorf("there are %d hosts in these archives; choose one with --host", len(a.Hosts()))
		}
		return nil, fmt.Errorf("there is no host %s in these archives", host)
	}
	r.hosts = []string{r.host.ID}
	r.look()
	if r.to == 0 {
		return nil, fmt.Errorf("nothing was recorded of host %s", r.host.Name)
	}
	return r, nil
}

// looksPerSearch is how many calls of look there are from one search for lanes to the next.
const looksPerSearch = 60

// look finds out what was recorded, again after the archives have grown: results for what has not
// changed since are kept.
func (r *Recording) look() {
	before := r.to
	r.from, r.to, _ = query.Covered(r.a, query.Window{Hosts: r.hosts})
	if before == 0 {
		r.ticks = newTicks()
		r.lives = make(map[string]*lifeInWork)
		r.cell = longCell
		if r.to-r.from <= someHours {
			r.cell = shortCell
		}
	}
	// A late reading may belong to the time shortly before the end.
	since := before - 2*block
	r.ticks.grown(since)
	maps.DeleteFunc(r.lives, func(_ string, l *lifeInWork) bool { return l.life.To >= since })
	r.sweep.list = slices.DeleteFunc(r.sweep.list, func(s *sweep) bool { return s.tick >= before-s.every })
	if r.clock == "" {
		r.clock = clockOf(r.a)
	}
	// The lanes hardly ever change, and searching for them takes longer than all else.
	if r.looks++; r.looks%looksPerSearch != 1 && len(r.a.Archives()) == len(r.archives) {
		r.inherit(r.archives)
	} else if found := r.findLanes(); !slices.EqualFunc(found, r.lanes, func(x, y *lane) bool { return x.Lane == y.Lane && x.line.Expr == y.line.Expr }) {
		r.lanes = found
		r.inherit(nil)
	} else {
		r.inherit(r.archives)
	}
	r.marks = r.findMarks()
	r.crashes.grown(r.from, r.to, since)
	for _, m := range r.crashes.list {
		if !r.said(m.Event) {
			r.mark(m)
		}
	}
}

// Refresh updates r to what has been recorded since: the archives already show it.
func (r *Recording) Refresh() error {
	r.look()
	return nil
}

// clockOf returns a metric of the class that is read most often.
func clockOf(a query.Archive) string {
	name, class := "", metric.NumClasses
	rank := []metric.Class{metric.Fast, metric.Polled, metric.Process}
	for _, d := range a.Metrics() {
		if d.Indom != metric.NoIndom || d.Unsupported != "" || d.Formula != "" {
			continue
		}
		at := slices.Index(rank, d.Class)
		if at >= 0 && (class == metric.NumClasses || at < slices.Index(rank, class)) {
			name, class = d.Name, d.Class
		}
	}
	return name
}

// Host returns the host, as its last archive describes it.
func (r *Recording) Host() metric.Host { return r.host }

// Span returns the time that its archives cover.
func (r *Recording) Span() (from, to int64) { return r.from, r.to }

func (r *Recording) window(from, to int64) query.Window {
	return query.Window{Hosts: r.hosts, From: from, To: to}
}

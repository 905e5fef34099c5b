package query

import (
	"slices"
	"strings"

	"tachograph/sample/metric"
	"tachograph/store"
)

// Distrust is a time in which a witness contradicted metrics: two sources of the kernel that must
// agree did not, as the recorder found out.
type Distrust struct {
	// Metrics are names, or beginnings of names.
	Metrics []string
	// Indom and Key identify the instance concerned, and Instance is its name; empty where the
	// distrust is about the machine.
	Indom, Key, Instance string
	// From and To are wall clock times; To is 0 where the distrust was not over when the
	// recording ended.
	From, To int64
	// Because is a sentence with the reason.
	Because string
	// Begin is the first event that reported it.
	Begin *store.Event

	host, pair string
}

// Distrusts returns those that reach into a window, in the order in which they began. A distrust
// ends at the latest when the recorder is started again, which then checks anew.
func Distrusts(a Archive, w Window) []*Distrust {
	// Each archive begins with the distrusts that last at its beginning.
	from, _, list := Covered(a, w)
	for _, info := range list {
		from = min(from, info.From)
	}
	var all []*Distrust
	var open Distrusted
	known := Window{From: from, To: w.To, Hosts: w.Hosts}
	for e := range SortedEvents(a, known, metric.EventDistrustBegin, metric.EventDistrustEnd, metric.EventStart) {
		before := open
		open = open.After(e)
		for _, d := range before {
			if !slices.Contains(open, d) {
				d.To = e.At.Wall
			}
		}
		for _, d := range open {
			if !slices.Contains(before, d) {
				all = append(all, d)
			}
		}
	}
	return slices.DeleteFunc(all, func(d *Distrust) bool { return d.To != 0 && d.To < w.From || w.To != 0 && d.From > w.To })
}

// Distrusted are the distrusts that last at some instant.
type Distrusted []*Distrust

// After returns the distrusts that last once e has happened: s itself where e is of another kind.
// It changes neither s nor its elements.
func (s Distrusted) After(e *store.Event) Distrusted {
	host := e.Archive.Host.ID
	same := func(d *Distrust) bool { return d.host == host && d.pair == e.Label("pair") && d.Key == e.Key }
	switch e.Kind {
	case metric.EventStart:
		return slices.DeleteFunc(slices.Clone(s), func(d *Distrust) bool { return d.host == host })
	case metric.EventDistrustEnd:
		return slices.DeleteFunc(slices.Clone(s), same)
	case metric.EventDistrustBegin:
		if !slices.ContainsFunc(s, same) { // else a later archive reports it again
			return append(slices.Clip(s), DistrustOf(e))
		}
	}
	return s
}

// DistrustOf returns the distrust that begins with e. It has no end yet.
func DistrustOf(e *store.Event) *Distrust {
	return &Distrust{Metrics: strings.Fields(e.Label("metrics")), Indom: e.Indom, Key: e.Key, Instance: e.Label("instance"),
		From: startOf(e), Because: e.Label("because"), Begin: e, host: e.Archive.Host.ID, pair: e.Label("pair")}
}

// OfProcesses reports whether d names a metric of processes.
func (d *Distrust) OfProcesses() bool {
	return slices.ContainsFunc(d.Metrics, func(m string) bool { return strings.HasPrefix(m+".", "proc.") })
}

// Concerns reports whether the values of a metric of a host are not to be trusted while d lasts:
// those of the instance in, or with nil all.
func (d *Distrust) Concerns(host string, m *metric.Desc, in *metric.Instance) bool {
	if d.host != host || in != nil && d.Key != "" && d.Indom == m.Indom && in.Key != d.Key {
		return false
	}
	return d.About(m.Name)
}

// About reports whether a metric is one of d's metrics.
func (d *Distrust) About(name string) bool {
	return slices.ContainsFunc(d.Metrics, func(m string) bool { return name == m || strings.HasPrefix(name, m+".") })
}

// Holds reports whether d lasts at a time.
func (d *Distrust) Holds(wall int64) bool { return d.From <= wall && (d.To == 0 || wall < d.To) }

// Whose returns the ID of the host that d is about.
func (d *Distrust) Whose() string { return d.host }

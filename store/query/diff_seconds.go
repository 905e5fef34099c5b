package query

import (
	"slices"

	"tachograph/sample/metric"
)

// seconds returns for how many seconds between two wall clock times the machine was recorded: by
// the clock that goes on when the wall clock is set, and without the time in which the machine
// slept or was not recorded.
func (d *differ) seconds(w Window) float64 {
	left := w.To - w.From - d.set(w)
	// A sleep is reported when it ends, which may be after the window.
	for _, b := range Breaks(d.a, Window{Hosts: w.Hosts, From: w.From, To: w.To + historyMost}) {
		if over := min(b.To, w.To) - max(b.From, w.From); over > 0 {
			left -= over
		}
	}
	return max(float64(left)/1e9, 1e-9)
}

// leastSet is by how much the wall clock must have been set for that to matter; smaller
// differences come from slewing.
const leastSet = int64(1e9)

// mostAsked is how many metrics are tried to find one that was read in the window.
const mostAsked = 8

// set returns by how much the wall clock was set forward in a window, as far as readings of the
// same archive show it.
func (d *differ) set(w Window) (by int64) {
	var names []string
	for _, m := range d.a.Metrics() {
		if m.Class == metric.Fast && m.Indom == metric.NoIndom && m.Type != metric.String && m.Unsupported == "" && m.Formula == "" {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	for _, name := range names[:min(mostAsked, len(names))] {
		read := false
		sel := w.Selection(name)
		sel.Whole = true
		for s := range d.a.Summarize(sel) {
			if s.Count == 0 {
				continue
			}
			read = true
			if step := s.Last.Wall - s.First.Wall - (s.Last.Cont - s.First.Cont); step > leastSet || step < -leastSet {
				by += step
			}
		}
		if read {
			break // One metric suffices.
		}
	}
	return by
}

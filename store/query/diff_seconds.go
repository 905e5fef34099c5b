package query

import (
	"slices"

	"tachograph/sample/metric"
)

// seconds is how much of the time from one wall clock to another the machine was
// recorded in: by the clock that goes on when somebody sets the other one, and without
// the time in which it slept or nobody recorded.
func (d *differ) seconds(w Window) float64 {
	left := w.To - w.From - d.set(w)
	// What ends a sleep is told when it ends.
	for _, b := range Breaks(d.a, Window{Hosts: w.Hosts, From: w.From, To: w.To + historyMost}) {
		if over := min(b.To, w.To) - max(b.From, w.From); over > 0 {
			left -= over
		}
	}
	return max(float64(left)/1e9, 1e-9)
}

// leastSet is by how much the wall clock must have been set for that to matter; less
// is what it is slewed by.
const leastSet = int64(1e9)

// mostAsked is how many metrics are asked until one was read in the window.
const mostAsked = 8

// set is by how much the wall clock was set forward in a window, as far as readings of
// the same archive tell.
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
		for s := range d.a.Summarize(w.Selection(name)) {
			if s.Count == 0 {
				continue
			}
			read = true
			if step := s.Last.Wall - s.First.Wall - (s.Last.Cont - s.First.Cont); step > leastSet || step < -leastSet {
				by += step
			}
		}
		if read {
			break // One tells.
		}
	}
	return by
}

package browse

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"tachograph/cmd/replay/internal/moment"
)

// mostPinned is how many processes can be pinned.
const mostPinned = 6

// pin pins the selected process, or unpins it.
func (a *app) pin() {
	key := a.lists[pageProcesses].chosen
	if w, ok := a.overlayLife(); ok {
		key = w.process
	}
	i := slices.Index(a.pins, key)
	switch {
	case key == "", strings.HasPrefix(key, ownerKey):
		a.tell("choose a process first", false)
	case i >= 0:
		a.pins = slices.Delete(slices.Clone(a.pins), i, i+1)
	case len(a.pins) == mostPinned:
		a.tell(fmt.Sprintf("%d processes are pinned: let go of one first", mostPinned), false)
	default:
		a.pins = append(slices.Clone(a.pins), key)
	}
}

// wantPins asks for the courses of the pinned processes, one day of one process at a time, so
// that nothing else waits long.
func (a *app) wantPins(want timelineWanted) {
	a.askedPins = want
	if len(a.pins) == 0 {
		a.pinned = nil
		return
	}
	tracks := make(map[string]moment.Track)
	each := max(int(float64(want.columns)*float64(day)/float64(max(want.to-want.from, 1))), 1)
	a.piece(want, tracks, slices.Clone(a.pins), 0, min(each, want.columns))
}

// piece asks for the course of the first process in pins, each columns at a time from column
// first on, and then for those of the others.
func (a *app) piece(want timelineWanted, tracks map[string]moment.Track, pins []string, first, each int) {
	e, key := a.engine, pins[0]
	edge := func(column int) int64 {
		return want.from + int64(float64(want.to-want.from)*float64(column)/float64(want.columns))
	}
	last := min(first+each, want.columns)
	a.w.ask(askPins, "", func(context.Context) func() {
		part, err := e.Course(key, edge(first), edge(last), last-first)
		return func() {
			if want != a.askedPins {
				return
			}
			if err != nil {
				a.tell(err.Error(), true)
				return
			}
			t, begun := tracks[key]
			if !begun {
				t = moment.Track{Lane: part.Lane, Mean: blank(want.columns), High: blank(want.columns), Scale: 1}
			}
			copy(t.Mean[first:last], part.Mean)
			copy(t.High[first:last], part.High)
			t.Scale = max(t.Scale, part.Scale)
			if tracks[key] = t; last < want.columns {
				a.piece(want, tracks, pins, last, each)
				return
			}
			join(&t)
			if pins = pins[1:]; len(pins) > 0 {
				a.piece(want, tracks, pins, 0, each)
				return
			}
			a.pinned = tracks
		}
	})
}

func blank(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.NaN()
	}
	return out
}

package engine

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"tachograph/sample"
	"tachograph/sample/metric"
)

// seekPatience is how long a look may take before a warning is logged.
const seekPatience = 10 * time.Second

// quest schedules the looks of one source for what it did not find yet.
type quest struct {
	sample.Quest
	source *source
	look   func() bool
}

// seek makes sources look again, until the engine stops, for what they did not find: a recorder
// that starts with the machine runs before many drivers do. It has its own goroutine, because a
// look may take as long as a reading.
func (e *Engine) seek() {
	defer e.running.Done()
	now := e.clock.now().Awake
	var quests []*quest
	for _, s := range e.sources {
		if l, ok := s.Source.(sample.Looker); ok {
			q := &quest{source: s, look: l.Look}
			q.Begin(now)
			quests = append(quests, q)
		}
	}
	if len(quests) == 0 {
		return
	}
	timer := time.NewTimer(sample.FirstLook)
	defer timer.Stop()
	for {
		select {
		case <-e.stop:
			return
		case <-e.woke:
			now = e.clock.now().Awake
			for _, q := range quests {
				q.Begin(now)
			}
		case <-timer.C:
			e.lookAgain(quests)
		}
		now = e.clock.now().Awake
		next := now + int64(sample.MostLook)
		for _, q := range quests {
			next = min(next, q.At)
		}
		timer.Reset(max(time.Duration(next-now), time.Second))
	}
}

// lookAgain runs the looks that are due, and refreshes the sources that saw a change.
func (e *Engine) lookAgain(quests []*quest) {
	var saw []*quest
	for _, q := range quests {
		if q.At > e.clock.now().Awake || e.stopping() {
			continue
		}
		seen := false
		e.withTurn(q.source, func() {
			slow := time.AfterFunc(seekPatience, func() {
				e.log.Warn("looking again for what this machine has takes long", "source", q.source.name)
			})
			defer slow.Stop()
			began := e.clock.now().Awake
			seen = q.look()
			q.Took(time.Duration(e.clock.now().Awake - began))
		})
		q.Next(e.clock.now().Awake)
		if seen {
			saw = append(saw, q)
		}
	}
	if len(saw) == 0 {
		return
	}
	e.planning.Lock()
	defer e.planning.Unlock()
	var changed []*source
	for _, q := range saw {
		// A source whose refresh changed nothing keeps its usual schedule.
		if others := e.refresh([]*source{q.source}); len(others) > 0 {
			q.Changed(e.clock.now().Awake)
			changed = append(changed, others...)
		}
	}
	// Adopt once for all sources: a second call after the first had been carried out would read
	// the static metrics twice.
	e.adopt(slices.ContainsFunc(changed, func(s *source) bool { return s.members[metric.Static] != nil }))
}

// found makes the events about metrics of a source that have become readable or have ceased to
// be.
func found(source string, old, now []*metric.Group) (events []metric.Event) {
	before := make(map[string]*metric.Desc)
	for _, g := range old {
		for _, d := range g.Metrics {
			before[d.Name] = d
		}
	}
	var came, went []*metric.Desc
	why := ""
	for _, g := range now {
		for _, d := range g.Metrics {
			was := before[d.Name]
			delete(before, d.Name)
			switch {
			case d.Unsupported == "" && (was == nil || was.Unsupported != ""):
				if came = append(came, d); was != nil && why == "" {
					why = was.Unsupported
				}
			case d.Unsupported != "" && was != nil && was.Unsupported == "":
				went = append(went, d)
			}
		}
	}
	if len(came) > 0 {
		text := several(came) + " can be read now"
		if why != "" {
			text += "; until now: " + why
		}
		events = append(events, foundEvent(source, "came", text, came))
	}
	if len(went) > 0 {
		events = append(events, foundEvent(source, "went", several(went)+" can no longer be read: "+went[0].Unsupported, went))
	}
	gone := make([]*metric.Desc, 0, len(before))
	for _, g := range old {
		for _, d := range g.Metrics {
			if before[d.Name] == d && d.Unsupported == "" {
				gone = append(gone, d)
			}
		}
	}
	if len(gone) > 0 {
		events = append(events, foundEvent(source, "went", several(gone)+" can no longer be read: the kernel does not have it any more", gone))
	}
	return events
}

// several names the first metric and counts the others.
func several(ds []*metric.Desc) string {
	if len(ds) == 1 {
		return ds[0].Name
	}
	return fmt.Sprintf("%s and %d more", ds[0].Name, len(ds)-1)
}

func foundEvent(source, what, text string, ds []*metric.Desc) metric.Event {
	return metric.Event{Kind: metric.EventDevice, Text: text, Labels: []metric.Label{
		{Name: "source", Value: source}, {Name: what, Value: strconv.Itoa(len(ds))},
	}}
}

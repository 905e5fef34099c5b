package why

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"tachograph/cmd/replay/internal/human"
	"tachograph/cmd/replay/internal/moment"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// silence is a time in which nothing was recorded, for whatever reasons.
type silence struct {
	query.Break
	state string // "asleep", "off", "panicked", "not recorded"
}

// states are what a machine was in a break; a later one says more about the reason.
var states = []struct {
	name  string
	kinds []metric.EventKind
}{
	{"not recorded", []metric.EventKind{metric.EventGap, metric.EventStart, metric.EventStop}},
	{"asleep", []metric.EventKind{metric.EventSleep, metric.EventWake}},
	{"off", []metric.EventKind{metric.EventBoot, metric.EventShutdown}},
	{"panicked", []metric.EventKind{metric.EventPanic}},
}

func stateOf(k metric.EventKind) int {
	for i, s := range states {
		if slices.Contains(s.kinds, k) {
			return i
		}
	}
	return 0
}

// silences joins breaks that follow each other closely: a panic, the time in which the machine
// was off, and its start are one silence.
func silences(list []query.Break, from int64) []silence {
	const near = int64(time.Minute)
	var out []silence
	for _, b := range list {
		if b.To <= from || b.From < from {
			continue // The beginning of the recording is no break.
		}
		if n := len(out); n > 0 && b.From <= out[n-1].To+near {
			last := &out[n-1]
			last.To = max(last.To, b.To)
			if stateOf(b.Kind) > stateOf(last.Kind) {
				last.Kind, last.Text, last.state = b.Kind, b.Text, states[stateOf(b.Kind)].name
			}
			continue
		}
		out = append(out, silence{b, states[stateOf(b.Kind)].name})
	}
	for i := range out {
		// macOS reports a panic as the reason of a shutdown.
		if out[i].state == "off" && strings.Contains(out[i].Text, "panic") {
			out[i].Kind, out[i].state = metric.EventPanic, "panicked, off"
		}
	}
	return slices.DeleteFunc(out, func(s silence) bool {
		// A recorder that was restarted at once missed nothing.
		return (s.Kind == metric.EventStart || s.Kind == metric.EventStop) && s.Length() < 30*time.Second
	})
}

// interruptions returns the times in the window in which nothing was recorded.
func (q *question) interruptions() ([]*finding, error) {
	var out []*finding
	for _, s := range q.silences {
		if s.To >= q.asked.From && s.From <= q.asked.To {
			f := q.silent(s)
			if s.state == "asleep" && q.r.At == 0 {
				f.weight *= q.slept(s)
			}
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(x, y *finding) int { return cmp.Compare(y.weight, x.weight) })
	return out, nil
}

// slept returns how much of an answer a sleep is, 0 to 1: all of it for a time that was mostly
// slept through; in a whole recording, sleeping is what machines do.
func (q *question) slept(s silence) float64 {
	const aside = 0.3
	if q.r.Window.From == 0 && q.r.Window.To == 0 {
		return aside
	}
	share := float64(min(s.To, q.asked.To)-max(s.From, q.asked.From)) / math.Max(float64(q.asked.To-q.asked.From), 1)
	return grade(aside, (1-aside)*min(2*share, 1))
}

// silent says what a machine did while nothing was recorded.
func (q *question) silent(s silence) *finding {
	f := &finding{kind: map[string]string{"asleep": "sleep", "panicked": "panic", "panicked, off": "panic", "off": "off"}[s.state], who: s.state, topic: "break", cause: true,
		since: s.From, until: s.To, weight: 0.97, more: append([]string{"events"}, span(s.From-besides, s.To+besides)...)}
	if f.kind == "" {
		f.kind = "gap"
	}
	if f.kind == "panic" {
		f.weight = 0.99
	}
	f.text = q.stands(s)
	if s.Text != "" && (f.kind == "off" || f.kind == "panic") {
		f.text += "; " + s.Text
	}
	if x, ok := q.battery(s.From); ok && x <= emptying && f.kind != "panic" {
		f.text += "; the battery had been at " + human.Value(x, metric.Percent, false)
	}
	return f
}

// stands describes a silence in the words that every page about one instant uses.
func (q *question) stands(s silence) string {
	at := s.From + (s.To-s.From)/2
	if q.r.At >= s.From && q.r.At < s.To {
		at = q.r.At
	}
	zone := q.r.Zone
	if zone == nil {
		zone = time.UTC
	}
	stance := query.StanceAt(q.a, q.r.Host, at)
	if text := moment.Sentence(&stance, zone); text != "" {
		return text
	}
	// It was so short that no sample is missing.
	text := s.state + " at " + q.show(s.From)
	if s.Text != "" && s.state == "not recorded" {
		text += " (" + s.Text + ")"
	}
	return text
}

// during returns the silence that a whole window lies in; nil if there is none.
func (q *question) during(from, to int64) *silence {
	for i := range q.silences {
		if s := &q.silences[i]; s.From <= from && s.To >= to {
			return s
		}
	}
	return nil
}

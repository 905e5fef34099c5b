package why

import (
	"fmt"
	"strings"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/human"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

// telling are the kinds of events that are worth a line, and their weights.
var telling = []struct {
	kind     metric.EventKind
	topic    string
	weight   float64
	cause    bool
	explains []string
}{
	{kind: metric.EventMemory, topic: "memory", weight: 0.6},
	{kind: metric.EventThrottle, topic: "thermal", weight: 0.8},
	{kind: metric.EventClockStep, topic: "clock", weight: 0.5, cause: true},
	{kind: metric.EventDevice, topic: "device", weight: 0.4, cause: true, explains: []string{"network", "disk"}},
	{kind: metric.EventTunableChange, topic: "tunable", weight: 0.28, cause: true},
	{kind: metric.EventPower, topic: "power", weight: 0.35, cause: true},
	{kind: metric.EventUpdate, topic: "update", weight: 0.5, cause: true},
	{kind: metric.EventMount, topic: "mount", weight: 0.22, cause: true},
	{kind: metric.EventTimeZone, topic: "clock", weight: 0.22, cause: true},
	{kind: metric.EventTrigger, topic: "trigger", weight: 0.5},
	{kind: metric.EventErrorBegin, topic: "recorder", weight: 0.25},
	{kind: metric.EventBudget, topic: "recorder", weight: 0.25},
	{kind: metric.EventDistrustBegin, topic: "recorder", weight: 0.3},
}

// happenings finds events that do not happen all the time.
func (q *question) happenings() ([]*finding, error) {
	var out []*finding
	for _, t := range telling {
		var first *store.Event
		count, others, last := 0, 0.0, int64(0)
		w := query.Window{Hosts: q.w.Hosts, From: q.field.from, To: q.field.begin(q.field.n)}
		for e := range query.SortedEvents(q.a, w, t.kind) {
			switch {
			case over(e), strings.HasPrefix(e.Text, "hinv."): // A changed count of devices, which have events of their own.
			case !q.w.Holds(e.At.Wall):
				others++
			default:
				last = e.At.Wall
				if count++; first == nil || query.Killing(e) && !query.Killing(first) {
					first = e
				}
			}
		}
		if first == nil {
			continue
		}
		// How often it happens elsewhere in a time as long as the window.
		if rest := float64(w.To-w.From) - float64(q.w.To-q.w.From); rest > 0 {
			others *= float64(q.w.To-q.w.From) / rest
		}
		at := first.At.Wall
		f := &finding{kind: string(t.kind), who: string(t.kind), topic: t.topic, cause: t.cause, explains: t.explains, since: at, until: max(at, last),
			weight: t.weight * grade(0.3, 0.7*novel(others, float64(count))), more: append([]string{"events", "--kind", string(t.kind)}, span(q.w.From, q.w.To)...)}
		text := query.EventText(q.a, first, human.Bytes)
		f.text = fmt.Sprintf("%s at %s: %s", t.kind, q.show(at), text)
		f.brief = fmt.Sprintf("%s at %s", text, q.show(at))
		if query.Killing(first) {
			f.weight = 0.88
			list, _ := query.Victims(q.a, first)
			for _, end := range list {
				f.about = append(f.about, end.Label("name"))
			}
		}
		if count > 1 {
			f.text += fmt.Sprintf(" (%s of that kind)", cli.Count(count, "event"))
		}
		out = append(out, f)
	}
	return out, nil
}

// over reports whether an event says that something has come to its end.
func over(e *store.Event) bool {
	return (e.Kind == metric.EventMemory || e.Kind == metric.EventThrottle) && e.Label("seconds") != ""
}

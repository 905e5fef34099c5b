package why

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/human"
	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/query"
)

// telling is a kind of events that is worth a line, and its weight.
type telling struct {
	kind metric.EventKind
	// topics and rules are the values of these labels that it is about; nil: any.
	topics, rules []string
	title         string // of the line; empty: the kind
	each          bool   // events about different processes, devices and services have a line each
	topic         string
	weight        float64
	cause         bool
	explains      []string
	// check compares what the system itself said with the numbers; nil for what the recorder
	// noticed in numbers.
	check check
	// silent says that it is worth no line.
	silent bool
}

// tellings are compared in this order; the first that an event fits is its.
var tellings = append([]telling{
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
}, sayings...)

// fits reports whether an event is of that kind.
func (t *telling) fits(e *store.Event) bool {
	return t.kind == e.Kind && (t.topics == nil || slices.Contains(t.topics, e.Label("topic"))) && (t.rules == nil || slices.Contains(t.rules, e.Label("rule")))
}

// happened is what a telling was worth in the window.
type happened struct {
	*telling
	subject string
	first   *store.Event
	count   int
	last    int64
	others  float64 // outside the window
	about   []string
	pids    []string // that were counted
	keys    []string // of the processes
}

const (
	// mostHappened is how many lines are kept apart, whatever an archive holds.
	mostHappened = 100
	// mostAbout is how many processes of one line are remembered.
	mostAbout = 20
)

// happenings finds events that do not happen all the time.
func (q *question) happenings() ([]*finding, error) {
	var kinds []metric.EventKind
	for i := range tellings {
		if !slices.Contains(kinds, tellings[i].kind) {
			kinds = append(kinds, tellings[i].kind)
		}
	}
	var list []*happened
	w := query.Window{Hosts: q.w.Hosts, From: q.field.from, To: q.field.begin(q.field.n)}
	words := query.WordsIn(q.a, w)
	for e := range query.SortedEvents(q.a, w, kinds...) {
		if e.Kind != metric.EventMemory && words.Less(e) || over(e) || idle(e) || strings.HasPrefix(e.Text, "hinv.") { // A changed count of devices, which have events of their own.
			continue
		}
		i := slices.IndexFunc(tellings, func(t telling) bool { return t.fits(e) })
		if i < 0 || tellings[i].silent {
			continue
		}
		t, subject := &tellings[i], ""
		if t.each {
			subject = subjectOf(e)
		}
		at := slices.IndexFunc(list, func(h *happened) bool { return h.telling == t && (h.subject == subject || e.Label("more") != "") })
		if at < 0 {
			if len(list) >= mostHappened {
				continue
			}
			at, list = len(list), append(list, &happened{telling: t, subject: subject})
		}
		list[at].add(e, q.w.Holds(e.At.Wall) || q.endsSilence(e))
	}
	slices.SortStableFunc(list, func(x, y *happened) int { return cmp.Compare(x.order(), y.order()) })
	var out []*finding
	rest := float64(w.To-w.From) - float64(q.w.To-q.w.From)
	for _, h := range list {
		if h.first == nil {
			continue
		}
		// How often it happens elsewhere in a time as long as the window.
		if rest > 0 {
			h.others *= float64(q.w.To-q.w.From) / rest
		}
		out = append(out, q.happening(h))
	}
	return out, nil
}

// endsSilence reports whether an event says why the machine was off at the time in question.
func (q *question) endsSilence(e *store.Event) bool {
	s := q.during(q.asked.From, q.asked.To)
	return s != nil && e.Kind == metric.EventReset && e.At.Wall >= s.From && e.At.Wall <= s.To
}

// order returns the place of a line's telling in the table.
func (h *happened) order() int {
	for i := range tellings {
		if &tellings[i] == h.telling {
			return i
		}
	}
	return 0
}

// add counts an event, in the window or outside.
func (h *happened) add(e *store.Event, in bool) {
	count := 1
	if n, err := strconv.Atoi(e.Label("more")); err == nil {
		count = max(n, 0)
	}
	if !in {
		h.others += float64(count)
		return
	}
	h.last = e.At.Wall
	if h.check != nil {
		if e.Key != "" && len(h.keys) < mostAbout && !slices.Contains(h.keys, e.Key) {
			h.keys = append(h.keys, e.Key)
		}
		// The kernel, systemd and a report may tell of the same process.
		if pid := e.Label("pid"); pid != "" && slices.Contains(h.pids, pid) {
			return
		} else if pid != "" && len(h.pids) < mostAbout {
			h.pids = append(h.pids, pid)
		}
		if name := e.Label("name"); name != "" && len(h.about) < mostAbout && !slices.Contains(h.about, name) {
			h.about = append(h.about, name)
		}
	}
	if h.count += count; h.first == nil || query.Killing(e) && !query.Killing(h.first) {
		h.first = e
	}
}

// happening makes a finding of what happened.
func (q *question) happening(h *happened) *finding {
	at := h.first.At.Wall
	f := &finding{kind: string(h.kind), who: string(h.kind), topic: h.topic, cause: h.cause, explains: h.explains, since: at, until: max(at, h.last),
		weight: h.weight * grade(0.3, 0.7*novel(h.others, float64(h.count))), more: append([]string{"events", "--kind", string(h.kind)}, span(q.w.From, q.w.To)...)}
	text := query.EventText(q.a, h.first, human.Bytes)
	f.text = fmt.Sprintf("%s at %s: %s", cmp.Or(h.title, string(h.kind)), q.show(at), text)
	f.brief = fmt.Sprintf("%s at %s", text, q.show(at))
	if query.Killing(h.first) {
		f.weight = 0.88
		list, _ := query.Victims(q.a, h.first)
		for _, end := range list {
			f.about = append(f.about, end.Label("name"))
		}
	}
	if h.count > 1 {
		f.text += fmt.Sprintf(" (%s of that kind)", cli.Count(h.count, "event"))
	}
	if h.check != nil {
		f.said, f.about = h, h.about
		f.who = cmp.Or(h.subject, f.who)
		f.weight = grade(h.weight, repeated*min(float64(h.count-1)/10, 1)) * grade(0.1, 0.9*novel(h.others, float64(h.count)))
	}
	return f
}

// repeated is what is added to the weight of something that the system said again and again.
const repeated = 0.1

// over reports whether an event says that something has come to its end.
func over(e *store.Event) bool {
	return (e.Kind == metric.EventMemory || e.Kind == metric.EventThrottle) && e.Label("seconds") != "" || e.Label("result") == "good"
}

package query

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"tachograph/sample/metric"
	"tachograph/store"
)

// killing is the beginning of the event text that package notice writes when the kernel's count
// of processes killed for lack of memory has grown.
const killing = "the kernel killed"

// Killing reports whether an event says that the kernel killed a process for lack of memory.
func Killing(e *store.Event) bool {
	return e.Kind == metric.EventMemory && strings.HasPrefix(e.Text, killing)
}

// killedBefore and killedAfter are how long before and after the kernel's count was seen to grow
// the end of a victim may have been seen. The count is read each second or so, ends only as
// seldom as processes are.
const (
	killedBefore = int64(10e9)
	killedAfter  = int64(5e9)
)

// mostKilled bounds how many ends are examined for one event.
const mostKilled = 50_000

// Victims returns the ends by signal 9 about the time of a killing event. The kernel says how
// many processes it killed, but not which: told reports whether the list is exactly those.
func Victims(a Archive, e *store.Event) (list []*store.Event, told bool) {
	looked := 0
	for end := range a.Events(e.At.Wall-killedBefore, e.At.Wall+killedAfter, metric.EventProcessExit) {
		if looked++; looked > mostKilled {
			return list, false
		}
		if end.Archive.Host.ID == e.Archive.Host.ID && (end.Label("how") == "signal 9" || end.Label("how") == "signal 9 core") {
			list = append(list, end)
		}
	}
	return list, len(list) == killings(e)
}

// killings returns how many processes the kernel killed.
func killings(e *store.Event) int { return max(countOf(e.Label("count")), 1) }

// mostNamed is the most processes that a sentence names.
const mostNamed = 3

// EventText returns the text of an event, without its kind. For a killing it adds the names of the
// victims, where they can be determined, and whose they were. bytes writes an amount of memory.
func EventText(a Archive, e *store.Event, bytes func(float64) string) string {
	if slices.Contains(metric.SaidKinds, e.Kind) {
		return strings.TrimPrefix(e.Text, string(e.Kind)+": ")
	}
	if !Killing(e) {
		return e.Text
	}
	list, told := Victims(a, e)
	var names []string
	for _, end := range list {
		if len(names) == mostNamed {
			names = append(names, "others")
			break
		}
		names = append(names, fmt.Sprintf("%s (pid %s)", end.Label("name"), end.Label("pid")))
	}
	who := strings.Join(names, ", ")
	switch {
	case told:
		if whose, limit := bereft(a, e, list); limit > 0 {
			return fmt.Sprintf("%s %s in %s, which was at its limit of %s", killing, who, whose.Words(0), bytes(limit))
		} else if beside := whose.Beside(list[0].Label("name")); beside != "" {
			return e.Text + ": " + who + beside
		}
		return e.Text + ": " + who
	case len(list) == 0:
		return e.Text + "; which cannot be told, as no end by signal 9 is recorded then"
	}
	return e.Text + "; which cannot be told for certain: " + who + " ended by signal 9 then"
}

// atLimit is the part of its limit that a control group must have been seen to use for a killing
// in it to be due to the limit: memory grows fast between two readings.
const atLimit = 0.8

// bereft returns whose all victims of a killing were; and if a control group of that owner was at
// its memory limit when processes were killed in it, the limit.
func bereft(a Archive, e *store.Event, victims []*store.Event) (whose Whose, limit float64) {
	for i, end := range victims {
		if was := WhoseWas(a, end); i > 0 && was != whose {
			return Whose{}, 0
		} else {
			whose = was
		}
	}
	if whose == (Whose{}) {
		return whose, 0
	}
	w := Window{Hosts: []string{e.Archive.Host.ID}, From: e.At.Wall - killedBefore, To: e.At.Wall + killedAfter}
	sel := w.Selection("cgroup.memory.oom_kill", "cgroup.memory.current", "cgroup.memory.limit")
	sel.Prior = true
	sel.Instance = func(_ string, in *metric.Instance) bool { return WhoseIs(in) == whose && in.Label("inner") == "" }
	type group struct{ before, killed, most, limit float64 }
	groups := make(map[string]*group)
	for s := range a.Summarize(sel) {
		if s.Instance == nil || s.Count == 0 {
			continue
		}
		g := groups[s.Instance.Key]
		if g == nil {
			g = &group{before: math.Inf(1)}
			groups[s.Instance.Key] = g
		}
		switch most := metric.Number(s.Metric.Type, s.Max) * base(s.Metric.Units); s.Metric.Name {
		case "cgroup.memory.oom_kill":
			g.before, g.killed = min(g.before, metric.Number(s.Metric.Type, s.Min)), max(g.killed, most)
		case "cgroup.memory.current":
			g.most = max(g.most, most)
		default:
			g.limit = max(g.limit, most)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		if g := groups[key]; g.killed > g.before && g.most >= atLimit*g.limit {
			limit = max(limit, g.limit)
		}
	}
	return whose, limit
}

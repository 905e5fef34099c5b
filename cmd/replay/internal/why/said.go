package why

import (
	"regexp"
	"slices"
	"strings"

	"tachograph/sample/metric"
	"tachograph/store"
)

// sayings are what the system itself wrote down: a cause that it named comes before what the
// numbers alone allow to conclude, as far as the numbers do not contradict it.
var sayings = []telling{
	{kind: metric.EventKernel, topics: []string{"disk"}, title: "disk error", topic: "device", weight: 0.8, cause: true,
		explains: []string{"disk", "load", "file system", "hang", "memory"}, check: (*question).checkDisk},
	{kind: metric.EventKernel, topics: []string{"read-only"}, title: "read-only file system", topic: "file system", weight: 0.86, check: (*question).checkReadOnly},
	{kind: metric.EventKernel, topics: []string{"file system"}, rules: []string{"warning"}, title: "file system", topic: "file system", weight: 0.3, check: (*question).checkFileSystem},
	{kind: metric.EventKernel, topics: []string{"file system"}, title: "file system error", topic: "file system", weight: 0.72, check: (*question).checkFileSystem},
	{kind: metric.EventKernel, topics: []string{"thermal"}, title: "throttling against heat", topic: "thermal", weight: 0.82, cause: true,
		explains: []string{"clock speed"}, check: (*question).checkThermal},
	{kind: metric.EventKernel, topics: []string{"link"}, title: "network link", each: true, topic: "link", weight: 0.6, cause: true,
		explains: []string{"network", "tcp", "udp"}, check: (*question).checkLink},
	{kind: metric.EventKernel, topics: []string{"network"}, rules: []string{"transmit timeout"}, title: "network error", each: true, topic: "link", weight: 0.7, cause: true,
		explains: []string{"network", "tcp", "udp"}, check: (*question).checkLink},
	{kind: metric.EventKernel, topics: []string{"network"}, title: "network error", topic: "network", weight: 0.66, check: (*question).checkTable},
	{kind: metric.EventKernel, topics: []string{"hardware"}, rules: []string{"memory error corrected"}, title: "hardware error", topic: "hardware", weight: 0.24, check: unchecked},
	{kind: metric.EventKernel, topics: []string{"hardware"}, rules: []string{"pci error"}, title: "hardware error", topic: "hardware", weight: 0.3, cause: true, check: unchecked},
	{kind: metric.EventKernel, topics: []string{"hardware"}, title: "hardware error", topic: "hardware", weight: 0.72, cause: true, check: unchecked},
	{kind: metric.EventKernel, topics: []string{"graphics"}, title: "graphics error", topic: "gpu", weight: 0.6, cause: true, check: (*question).checkGraphics},
	{kind: metric.EventKernel, topics: []string{"device", "sleep"}, silent: true}, // Devices come and go.
	{kind: metric.EventKernel, topics: []string{"kernel error"}, rules: []string{"warning"}, title: "kernel", topic: "kernel", weight: 0.3, cause: true, check: unchecked},
	{kind: metric.EventKernel, topics: []string{"kernel error"}, title: "kernel error", topic: "kernel", weight: 0.78, cause: true, explains: []string{"hang", "lockup"}, check: unchecked},
	{kind: metric.EventKernel, title: "kernel", topic: "kernel", weight: 0.26, check: unchecked},

	{kind: metric.EventKill, topic: "memory", weight: 0.86, check: (*question).checkKill},
	{kind: metric.EventCrash, each: true, topic: "death", weight: 0.5, cause: true, check: (*question).checkCrash},
	{kind: metric.EventHang, rules: []string{"hung task"}, topic: "hang", weight: 0.75, check: (*question).checkHungTask},
	{kind: metric.EventHang, rules: []string{"soft lockup", "hard lockup", "rcu stall", "workqueue lockup"}, topic: "lockup", weight: 0.82, cause: true,
		explains: []string{"cpu", "load", "hang"}, check: (*question).checkLockup},
	{kind: metric.EventHang, rules: []string{"owner of a lock"}, silent: true}, // The line about the task says so, too.
	{kind: metric.EventHang, each: true, topic: "hang", weight: 0.45, cause: true, check: (*question).checkProgram},
	{kind: metric.EventLimit, each: true, topic: "limit", weight: 0.46, cause: true, check: (*question).checkProgram},
	{kind: metric.EventService, each: true, topic: "service", weight: 0.46, cause: true, check: (*question).checkService},
	{kind: metric.EventReset, topic: "reset", weight: 0.9, cause: true, check: (*question).checkReset},
}

// A check compares what the system said with the numbers and with what other detectors found.
type check func(q *question, f *finding, all []*finding) accord

// accord is what a check found.
type accord struct {
	words   []string // what the numbers say that agrees
	against string   // what they say that does not
	// same are findings of the same thing in numbers, which get no line of their own.
	same []*finding
	// sources are metrics that were compared.
	sources []source
}

// unchecked is the check of what no number shows.
func unchecked(*question, *finding, []*finding) accord { return accord{} }

// doubted is what remains of the weight of a cause that the numbers contradict.
const doubted = 0.5

// mostWords is how many numbers a line names that agree.
const mostWords = 3

// agreed checks what the system said against the numbers.
func (q *question) agreed(all []*finding) []*finding {
	gone := make(map[*finding]bool)
	for i := range tellings { // The earlier ones say more.
		for _, f := range all {
			if f.said == nil || f.said.telling != &tellings[i] || gone[f] {
				continue
			}
			rest := slices.DeleteFunc(slices.Clone(all), func(g *finding) bool { return g == f || gone[g] })
			a := f.said.check(q, f, rest)
			for _, g := range a.same {
				gone[g] = true
				if g.weight >= leastWeight {
					f.weight = max(f.weight, min(g.weight+0.02, 1))
				}
				f.folded, f.since, f.until = append(f.folded, g), min(f.since, g.since), max(f.until, g.until)
				for _, topic := range g.explains {
					if !slices.Contains(f.explains, topic) {
						f.explains = append(slices.Clone(f.explains), topic)
					}
				}
			}
			f.sources = append(f.sources, a.sources...)
			switch {
			case len(a.words) > 0:
				f.text += "; the numbers agree: " + strings.Join(a.words[:min(len(a.words), mostWords)], ", ")
			case a.against != "":
				f.text += ", but " + a.against
				f.weight *= doubted
			}
		}
	}
	return slices.DeleteFunc(all, func(f *finding) bool { return gone[f] })
}

// subjectOf returns what an event is about: a process, a service or a device.
func subjectOf(e *store.Event) string {
	for _, label := range []string{"name", "unit", "device"} {
		if s := e.Label(label); s != "" {
			return s
		}
	}
	return ""
}

// virtual are network interfaces that containers and virtual machines bring and take away.
var virtual = regexp.MustCompile(`^(lo|dummy\d+|ifb\d+|tun\d+|tap.*|br-.*|virbr.*|vnet\d+|cni.*|docker\d+|veth.*|cali.*|flannel.*|lxc.*|vif.*)$`)

// idle reports whether an event is about what the system does all the time: interfaces of
// containers, programs that it ends because they have nothing to do.
func idle(e *store.Event) bool {
	return e.Kind == metric.EventKernel && e.Label("topic") == "link" && virtual.MatchString(e.Label("device")) ||
		e.Kind == metric.EventKill && strings.HasSuffix(e.Label("reason"), "idle-exit")
}

// accounts reports whether a cause may account for a symptom: what the system said for what it
// names, and for what the findings in its line account for.
func (q *question) accounts(c, s *finding) bool {
	if c.said == nil {
		return q.carries(c, s)
	}
	return slices.Contains(c.said.explains, s.topic) || slices.ContainsFunc(c.folded, func(g *finding) bool { return slices.Contains(g.explains, s.topic) && q.carries(g, s) })
}

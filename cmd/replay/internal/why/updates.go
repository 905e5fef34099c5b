package why

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tachograph/cmd/internal/cli"
	"tachograph/cmd/replay/internal/human"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// An update is a change of a program to another version.
type update struct {
	at            int64
	program, text string
	used          bool // a line names it
}

const (
	// updateReaches is how long before a window an update may be the reason for what is in it.
	updateReaches = int64(24 * 3600e9)
	// mostUpdates is how many updates are examined, the latest.
	mostUpdates = 500
	// updateWeighs is what is added to the weight of something that began at once after an
	// update of the program.
	updateWeighs = 0.2
	// soonAfter is how soon after an update something began since it, and not some time after it.
	soonAfter = int64(1800e9)
)

// updates returns the changes of software until the end of the window.
func (q *question) updates() (list []*update) {
	w := query.Window{Hosts: q.w.Hosts, From: max(q.from, q.w.From-updateReaches), To: q.w.To}
	for e := range query.SortedEvents(q.a, w, metric.EventSoftware) {
		if what := e.Label("what"); e.Label("package") == "" || what != "changed" && what != "installed" {
			continue
		}
		list = append(list, &update{at: e.At.Wall, program: e.Label("package"), text: e.Text})
	}
	return list[max(len(list)-mostUpdates, 0):]
}

// updated gives findings of programs that were changed before the reason, finds programs that use
// more than before they were changed, and mentions the other changes where something followed.
func (q *question) updated(all []*finding) []*finding {
	list := q.updates()
	if len(list) == 0 {
		return all
	}
	for _, f := range all {
		if f.weight < leastWeight || !f.cause && f.said == nil {
			continue
		}
		for _, u := range slices.Backward(list) {
			if age := f.since - u.at; age >= -q.slack() && age <= updateReaches && slices.ContainsFunc(f.programs(), u.of) {
				q.because(f, u)
				break
			}
		}
	}
	all = append(all, q.changedUse(list)...)
	if f := q.otherUpdates(list, all); f != nil {
		all = append(all, f)
	}
	return all
}

// because adds an update to a finding, as its reason.
func (q *question) because(f *finding, u *update) {
	u.used = true
	age := max(f.since-u.at, 0)
	word := " since "
	if age > soonAfter {
		word = " after "
	}
	f.text += "," + word + u.text + " at " + q.show(u.at)
	f.weight = min(grade(f.weight, updateWeighs*(1-float64(age)/float64(updateReaches))), 1)
}

// programs are the names that a package may have whose change explains a finding.
func (f *finding) programs() []string {
	list := []string{f.who, f.whose.Name}
	if f.said != nil {
		list = append(list, f.about...)
		for _, label := range append([]string{"unit"}, metric.OwnerKinds...) {
			list = append(list, f.said.first.Label(label))
		}
	}
	return list
}

// of reports whether an update is one of a program, or of the service or app that is called so.
func (u *update) of(program string) bool {
	name, pack := plainName(base(program)), plainName(u.program)
	if len(name) < shortestName || len(pack) < shortestName {
		return name != "" && name == pack
	}
	// "mysqld" is a program of "mysql-server", "nginx" one of "nginx-core".
	for _, tail := range append([]string{""}, partsOfPrograms...) {
		if whole, ok := strings.CutSuffix(pack, tail); ok && (whole == name || whole+"d" == name) {
			return true
		}
	}
	return false
}

// shortestName is the length from which on a name may differ a little from that of its package.
const shortestName = 4

// partsOfPrograms are what the package that has a program may be called beside the program.
var partsOfPrograms = []string{"-core", "-server", "-daemon", "-bin", "-base", "-full", "-light", "-stable", "-esr", "-ce", ".io", "ql", "ql-server"}

// plainName returns a name in lower case without versions and processor architectures.
func plainName(s string) string {
	s, _, _ = strings.Cut(strings.ToLower(s), ":")
	if i := strings.LastIndex(s, "/"); i >= 0 {
		s = s[i+1:]
	}
	s = strings.TrimSuffix(s, ".app")
	return strings.TrimRight(s, "-._0123456789")
}

const (
	// A program uses more since an update if it uses updateTimes as much, and so much more of the
	// memory or of a core.
	updateTimes, updateMemory, updateCore = 2, 0.03, 0.1
	// compared is how long before and after an update its program is looked at.
	compared = int64(1800e9)
	// mostCompared is how many updates are compared with the time before them.
	mostCompared = 3
)

// changedUse compares what programs use in the window with what they used before they were
// changed.
func (q *question) changedUse(list []*update) (out []*finding) {
	looked := 0
	for _, u := range slices.Backward(list) {
		if u.used || looked == mostCompared || u.at-q.from < int64(60e9) {
			continue
		}
		after := query.Window{Hosts: q.w.Hosts, From: max(q.w.From, u.at+int64(60e9)), To: min(q.w.To, q.to)}
		if after.To-after.From < int64(60e9) || !q.runs(u, after) {
			continue
		}
		looked++
		before := query.Window{Hosts: q.w.Hosts, From: max(u.at-compared, q.from), To: u.at - leastStep}
		was, err := query.TopNames(q.a, before, mostAccounts, query.ByMemory)
		is, err2 := query.TopNames(q.a, after, mostAccounts, query.ByMemory)
		if err != nil || err2 != nil {
			continue
		}
		for _, c := range is[0].Consumers {
			b := slices.IndexFunc(was[0].Consumers, func(b *query.Consumer) bool { return b.Name == c.Name })
			if b < 0 || !u.of(c.Name) {
				continue
			}
			if f := q.more(u, c, after.From, [2]float64{was[0].Consumers[b].Mean, c.Mean}, [2]float64{was[0].CPU(was[0].Consumers[b]), is[0].CPU(c)}); f != nil {
				u.used = true
				out = append(out, f)
			}
		}
	}
	return out
}

// runs reports whether a process of an updated program was there in a window.
func (q *question) runs(u *update, w query.Window) bool {
	for life := range q.a.Lives("process", w.From, w.To) {
		if life.Archive.Host.ID == q.r.Host && u.of(query.ProcessName(life.Instance)) {
			return true
		}
	}
	return false
}

// more makes a finding of what a program used before and after an update.
func (q *question) more(u *update, c *query.Consumer, since int64, memory, cpu [2]float64) *finding {
	key := "" // of all of that name
	if c.Count == 1 {
		key = c.Instance.Key
	}
	f := &finding{kind: "memory", who: c.Name, title: c.Name, cause: true, topic: "memory", since: since, until: q.w.To, explains: []string{"memory", "swap", "disk", "load"},
		more: append([]string{"top", "--group", "name"}, span(q.w.From, q.w.To)...), sources: sourcesOf(c.Name, key, "proc.memory.rss")}
	times, share := memory[1]/memory[0], (memory[1]-memory[0])/max(q.memory, 1)
	what := fmt.Sprintf("the memory since %s at %s: %s instead of %s", u.text, q.show(u.at), human.Bytes(memory[1]), human.Bytes(memory[0]))
	if q.memory == 0 || !(times >= updateTimes) || share < updateMemory {
		f.kind, f.topic, f.explains, f.sources = "runaway", "cpu", []string{"cpu", "thermal", "load"}, sourcesOf(c.Name, key, sourcesOfKind["runaway"]...)
		times, share = cpu[1]/math.Max(cpu[0], 0.001), (cpu[1]-cpu[0])/q.cores
		what = fmt.Sprintf("the processor time since %s at %s: %s of a core instead of %s", u.text, q.show(u.at), human.Percent(cpu[1]), human.Percent(cpu[0]))
		if !(times >= updateTimes) || cpu[1]-cpu[0] < updateCore {
			return nil
		}
	}
	f.text = fmt.Sprintf("%s uses %s times %s", c.Name, human.Figures(math.Round(times*10)/10), what)
	age := max(since-u.at, 0)
	f.weight = grade(0.3, 0.5*min(3*share, 1), updateWeighs) * (1 - float64(0.6*min(float64(age)/float64(updateReaches), 1)))
	return f
}

// otherUpdates mentions what was changed in the window, if something else began after it: what a
// change did not lead to is no news.
func (q *question) otherUpdates(list []*update, all []*finding) *finding {
	var first *update
	n := 0
	for _, u := range list {
		if u.used || !q.w.Holds(u.at) || !slices.ContainsFunc(all, func(f *finding) bool { return f.weight >= leastWeight && f.since >= u.at-q.slack() }) {
			continue
		}
		if n++; first == nil {
			first = u
		}
	}
	if first == nil {
		return nil
	}
	f := &finding{kind: string(metric.EventSoftware), who: first.program, topic: "software", since: first.at, until: first.at, weight: leastWeight + 0.02,
		more: append([]string{"events", "--kind", string(metric.EventSoftware)}, span(q.w.From, q.w.To)...)}
	f.text = fmt.Sprintf("%s at %s: %s", metric.EventSoftware, q.show(first.at), first.text)
	if n > 1 {
		f.text += fmt.Sprintf(" and %s", cli.Count(n-1, "other change"))
	}
	return f
}

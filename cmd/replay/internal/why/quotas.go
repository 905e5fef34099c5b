package why

import (
	"fmt"
	"slices"
	"strings"

	"tachograph/cmd/replay/internal/human"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

const (
	// readyLeast is the part of the time in which a program must have waited for a processor, and
	// idleLeast the part of the processors that must have been idle, for it to count as held
	// back.
	readyLeast, idleLeast = 0.3, 0.3
)

// heldBack finds a program that waited for a processor though some were idle: it may not use
// more, as under the quota of its control group. The finding names the groups that used up their
// quota at that time, but not those of other owners.
func (q *question) heldBack() ([]*finding, error) {
	groups := q.quotas()
	name, s := q.foremost(thingReady)
	if s.excess() < readyLeast || q.level("cpu", s.since, s.until) > 1-idleLeast || len(q.field.of["cpu"]) == 0 {
		return groups, nil
	}
	own, _ := q.ledger.share(name, thingCPU, s.since, s.until)
	if own > 0.9*q.cores*(1-idleLeast) {
		return groups, nil
	}
	waited := fmt.Sprintf("ready to run and kept waiting %s of the time%s%s, while %s of the processors were idle", human.Percent(min(s.level, 1)),
		q.when(s.since, s.until), q.against(human.Percent(s.usual)), human.Percent(1-q.level("cpu", s.since, s.until)))
	f := q.ofName("held back", name, s, grade(0.3, 0.4*min(s.excess(), 1))*q.normal(name).novel(thingReady, s.level), "was held back, as by a quota: "+waited)
	f.topic = "held back"
	f.sources = sourcesOf(name, "", "proc.cpu.runnable_time")
	whose := q.whose(name)
	for _, g := range groups {
		if g.since > s.until || s.since > g.until {
			continue
		}
		if (whose != query.Whose{}) && whose == g.whose { // The quota is why it waited.
			g.text += "; " + f.title + " was " + waited
			g.sources = append(g.sources, f.sources...)
			g.weight = max(g.weight, f.weight)
			return groups, nil
		}
	}
	others := groups[:0]
	for _, g := range groups {
		if g.since > s.until || s.since > g.until || (whose != query.Whose{}) && (g.whose != query.Whose{}) {
			others = append(others, g)
			continue
		}
		f.text += "; " + g.brief
		f.sources = append(f.sources, g.sources...)
		f.weight = max(f.weight, g.weight)
	}
	return append(others, f), nil
}

// quotaLeast is the part of its periods in which a control group must have used up its quota to
// be reported.
const quotaLeast = 0.25

// quotas finds control groups that were held back by their quotas. A group with others below it is
// left out where one of those was held back at the same time.
func (q *question) quotas() []*finding {
	var out []*finding
	inner := make(map[*finding]bool)
	for _, c := range q.field.of["quota"] {
		e := q.find(c, quotaLeast, func(x float64) float64 { return x })
		if e == nil {
			continue
		}
		since, until := q.field.times(e)
		part, calm := human.Percent(min(e.level, 1)), q.against(human.Percent(orZero(e.calm)))
		f := &finding{kind: "held back", who: c.name, title: "control group " + c.name, topic: "held back", cause: true, since: since, until: until,
			weight: grade(0.3, 0.4*min(e.level, 1)) * grade(0.5, 0.5*e.rare),
			more:   append([]string{"rates", "cgroup.cpusched.throttled_time", "-i", c.name}, span(q.w.From, q.w.To)...)}
		f.sources = sourcesOf(c.name, c.key, "cgroup.cpusched.throttled", "cgroup.cpusched.periods")
		in, quota := q.controlGroup(c.key, since, until)
		inner[f] = in.Label("inner") != ""
		if f.whose = query.WhoseIs(in); f.whose != (query.Whose{}) {
			f.title = f.whose.Words(0)
			clause := fmt.Sprintf("throttled %s of the time by its quota", part)
			if quota > 0 {
				clause += " of " + human.Percent(quota)
			}
			f.brief = f.title + " was " + clause
			f.text = f.brief + q.when(since, until) + calm
		} else {
			f.brief = fmt.Sprintf("the quota of %s was used up in %s of its periods", f.title, part)
			f.text = fmt.Sprintf("%s was held back: its quota was used up in %s of its periods%s%s", f.title, part, q.when(since, until), calm)
		}
		out = append(out, f)
	}
	return slices.DeleteFunc(slices.Clone(out), func(f *finding) bool {
		return inner[f] && slices.ContainsFunc(out, func(g *finding) bool {
			return strings.HasPrefix(g.who, strings.TrimSuffix(f.who, "/")+"/") && g.since <= f.until && f.since <= g.until
		})
	})
}

// controlGroup returns a control group, and its quota from one instant to another: how much of a
// processor it may use, 0 where that is not known.
func (q *question) controlGroup(key string, since, until int64) (in *metric.Instance, quota float64) {
	in = &metric.Instance{}
	of := make(map[string]float64)
	sel := query.Window{Hosts: q.w.Hosts, From: since, To: until}.Selection("cgroup.cpusched.throttled", "cgroup.cpusched.cfs_quota", "cgroup.cpusched.cfs_period")
	sel.Keys, sel.Prior = []string{key}, true
	for s := range q.a.Summarize(sel) {
		if s.Instance != nil && s.Count > 0 {
			in, of[s.Metric.Name] = s.Instance, metric.Number(s.Metric.Type, s.Last.Bits)
		}
	}
	if period := of["cgroup.cpusched.cfs_period"]; period > 0 {
		quota = max(of["cgroup.cpusched.cfs_quota"]/period, 0)
	}
	return in, quota
}

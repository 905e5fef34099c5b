package why

import (
	"fmt"

	"tachograph/cmd/replay/internal/human"
)

const (
	// readyLeast is the part of the time in which a program must have waited for a processor, and
	// idleLeast the part of the processors that must have been idle, for it to count as held
	// back.
	readyLeast, idleLeast = 0.3, 0.3
)

// heldBack finds a program that waited for a processor though some were idle: it may not use
// more, as under the quota of its control group. Its control group is not recorded, so the
// finding names the groups that used up their quota at that time.
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
	f := q.ofName("held back", name, s, grade(0.3, 0.4*min(s.excess(), 1))*q.normal(name).novel(thingReady, s.level),
		fmt.Sprintf("was held back, as by a quota: ready to run and kept waiting %s of the time%s%s, while %s of the processors were idle", human.Percent(min(s.level, 1)),
			q.when(s.since, s.until), q.against(human.Percent(s.usual)), human.Percent(1-q.level("cpu", s.since, s.until))))
	f.topic = "held back"
	f.sources = sourcesOf(name, "", "proc.cpu.runnable_time")
	others := groups[:0]
	for _, g := range groups {
		if g.since > s.until || s.since > g.until {
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

// quotas finds control groups that were held back by their quotas.
func (q *question) quotas() []*finding {
	var out []*finding
	for _, c := range q.field.of["quota"] {
		e := q.find(c, quotaLeast, func(x float64) float64 { return x })
		if e == nil {
			continue
		}
		since, until := q.field.times(e)
		part := human.Percent(min(e.level, 1))
		f := &finding{kind: "held back", who: c.name, title: "control group " + c.name, topic: "held back", cause: true, since: since, until: until,
			weight: grade(0.3, 0.4*min(e.level, 1)) * grade(0.5, 0.5*e.rare),
			more:   append([]string{"rates", "cgroup.cpusched.throttled_time", "-i", c.name}, span(q.w.From, q.w.To)...)}
		f.brief = fmt.Sprintf("the quota of control group %s was used up in %s of its periods", c.name, part)
		f.text = fmt.Sprintf("control group %s was held back: its quota was used up in %s of its periods%s%s", c.name, part, q.when(since, until),
			q.against(human.Percent(orZero(e.calm))))
		f.sources = sourcesOf(c.name, c.key, "cgroup.cpusched.throttled", "cgroup.cpusched.periods")
		out = append(out, f)
	}
	return out
}

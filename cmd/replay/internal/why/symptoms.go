package why

import (
	"fmt"
	"slices"
	"strings"

	"tachograph/store/query"
)

// symptoms finds the signals of the whole machine that were out of the ordinary: states that a
// cause may explain.
func (q *question) symptoms() ([]*finding, error) {
	var out []*finding
	for i := range signals {
		if signals[i].weight == 0 {
			continue
		}
		for _, c := range q.field.of[signals[i].name] {
			if f := q.symptom(c); f != nil {
				out = append(out, f)
			}
		}
	}
	return out, nil
}

func (q *question) symptom(c *course) *finding {
	s := c.signal
	e := q.find(c, s.least, s.share)
	if e == nil {
		return nil
	}
	since, until := q.field.times(e)
	high := quantile(c.x[max(e.from, 0):e.to], 0.8)
	f := &finding{kind: s.name, topic: s.topic, since: since, until: until, weight: q.field.worth(e, s.weight, s.share(high)),
		text:  fmt.Sprintf(s.says, s.write(high)) + q.when(since, until) + q.against(s.write(orZero(e.calm))),
		brief: "", more: append(slices.Clone(s.show), span(q.w.From, q.w.To)...)}
	f.amount, f.calm, f.cause, f.explains = e.level, orZero(e.calm), s.explains != nil, s.explains
	f.sources = q.sourcesOfSignal(s, c.name, c.key)
	if s.name == "zombies" {
		f.text += q.careless(until - (until-since)/2)
	}
	if s.name == "io.stall" {
		f.text += q.waiters(since, until)
	}
	if s.name == "tcp.opened" {
		f.text += q.strangers(since, until)
	}
	if s.brief != "" {
		f.brief = fmt.Sprintf(s.brief, s.write(high))
	}
	return f
}

// waiters names the program that waited for disks most in a time of stalls.
func (q *question) waiters(since, until int64) string {
	name, s := q.foremost(thingBlocked)
	if s.excess() < waitsLeast || s.since > until || s.until < since {
		return ""
	}
	if own, all := q.ledger.share(name, thingBlocked, since, until); own < bears*all {
		return ""
	}
	who, _ := q.title(name, since+(until-since)/2)
	return ", most of all " + who
}

// when says from when to when something went on, as far as that lies in the window.
func (q *question) when(since, until int64) string {
	if until >= q.w.To-2*q.field.width {
		return " from " + q.show(since) + " on"
	}
	if until-since <= 2*q.field.width {
		return " at " + q.show(since)
	}
	return " from " + q.show(since) + " to " + q.show(until)
}

// against says what the value was in the calm stretch.
func (q *question) against(value string) string {
	if q.calm.To == 0 {
		return ""
	}
	return " (calm: " + value + ")"
}

// careless names the parent of most processes that have ended at an instant and were not waited
// for.
func (q *question) careless(at int64) string {
	byParent := make(map[string]int)
	most := ""
	for _, p := range query.Processes(q.a, query.Window{Hosts: q.w.Hosts}, at, nil) {
		if strings.HasPrefix(p.State, "Z") && p.Parent() != "" {
			byParent[p.Parent()]++
			if n := byParent[p.Parent()]; n > byParent[most] {
				most = p.Parent()
			}
		}
	}
	if who := q.processOf(most); most != "" && who != "" {
		return fmt.Sprintf(", %d of them children of %s", byParent[most], who)
	}
	return ""
}

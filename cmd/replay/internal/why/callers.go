package why

import (
	"cmp"
	"fmt"
	"slices"

	"tachograph/cmd/replay/internal/human"
)

// calls are what processes do with connections: least is how many a second more than usual are
// worth a line, severe is very many.
var calls = []struct {
	kind          string
	things        []int
	least, severe float64
	weight        float64
	metrics       []string
}{
	{"unreachable", []int{thingRefused, thingFailed}, 2, 500, 0.45, []string{"proc.net.refused", "proc.net.failed"}},
	{"connections", []int{thingOpened}, 80, 10000, 0.4, []string{"proc.net.opened"}},
	{"visits", []int{thingAccepted}, 150, 10000, 0.35, []string{"proc.net.accepted"}},
}

// callers finds programs whose connections failed, or that opened or accepted far more than
// usual.
func (q *question) callers() ([]*finding, error) {
	var out []*finding
	for i, c := range calls {
		for _, u := range q.users(c.things, c.least) {
			rate := func(thing int) float64 {
				own, _ := q.ledger.share(u.name, thing, u.since, u.until)
				return own
			}
			much := human.Count(roundTo(u.level))
			clause, brief := "", ""
			switch c.kind {
			case "unreachable":
				clause, brief = q.unreached(u, rate(thingRefused), rate(thingFailed))
			case "connections":
				if slices.ContainsFunc(out, func(f *finding) bool { return f.who == u.name && f.amount >= u.excess()/2 }) {
					continue // Those that it tried again are not worth another line.
				}
				clause = "opened " + much + " connections a second"
			case "visits":
				clause = "accepted " + much + " connections a second"
			}
			f := q.ofName(c.kind, u.name, u.stint, grade(0.24, c.weight*logShare(u.excess(), c.least, c.severe))*novel(u.usual, u.level), clause+q.when(u.since, u.until)+q.against(human.Count(roundTo(u.usual))))
			f.topic, f.explains, f.amount, f.brief = "tcp", []string{"tcp", "listen"}, u.level, cmp.Or(brief, clause)
			f.cause = i < 2 // Who accepts connections is called by others.
			if !f.cause {
				f.topic, f.brief = "visits", f.title+" "+f.brief
			}
			f.sources = sourcesOf(u.name, "", c.metrics...)
			out = append(out, f)
		}
	}
	return out, q.ctx.Err()
}

// unreached says which other side did not want or did not answer the connections of a program,
// and how many a second.
func (q *question) unreached(u user, refused, failed float64) (clause, brief string) {
	clause = "could not connect"
	if to := q.goal(u); to != "" {
		clause = "could not reach " + to
	}
	switch {
	case failed < u.level/10:
		brief = human.Count(roundTo(u.level)) + " connections a second were refused"
	case refused < u.level/10:
		brief = human.Count(roundTo(u.level)) + " connections a second were not answered"
	default:
		brief = fmt.Sprintf("%s connections a second were refused and %s not answered", human.Count(roundTo(refused)), human.Count(roundTo(failed)))
	}
	return clause + ": " + brief, brief
}

// goal returns the other side to which most of a program's connections led that received nothing;
// "" if that is not known.
func (q *question) goal(u user) (name string) {
	most := 0
	for _, p := range q.parties() {
		keys := make(map[string]bool)
		for k := range p.talks {
			for _, t := range p.talks[k] {
				if t.at > u.since && t.at <= u.until+leastMinute && t.in.Label("name") == u.name && t.mute() && t.in.Label("direction") != "in" {
					keys[t.in.Key] = true
				}
			}
		}
		if len(keys) > most {
			most, name = len(keys), p.name
		}
	}
	return name
}

// user is what the processes of a name used of some things together.
type user struct {
	name string
	stint
}

// mostUsers bounds the programs that are named for one thing.
const mostUsers = 3

// users returns the programs that used most of some things together beyond what is usual.
func (q *question) users(things []int, least float64) (list []user) {
	for name, course := range q.ledger.courses(things[0]) {
		course = slices.Clone(course)
		for _, thing := range things[1:] {
			for k, x := range q.ledger.course(name, thing) {
				course[k] += x
			}
		}
		s := q.ledger.stint(course, q.shown.From, q.shown.To)
		if !s.known {
			s.usual = s.level * unknownUsual
		}
		if s.excess() >= least {
			list = append(list, user{name, s})
		}
	}
	slices.SortFunc(list, func(x, y user) int { return cmp.Or(cmp.Compare(y.excess(), x.excess()), cmp.Compare(x.name, y.name)) })
	return list[:min(len(list), mostUsers)]
}

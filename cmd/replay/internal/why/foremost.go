package why

import (
	"slices"
	"strconv"
	"strings"

	"tachograph/store/query"
)

// foremost returns the name that used most of a thing beyond what is usual for it in the window,
// and when.
func (q *question) foremost(thing int) (who string, most stint) {
	for name, course := range q.ledger.courses(thing) {
		s := q.ledger.stint(course, q.shown.From, q.shown.To)
		if !s.known {
			s.usual = s.level * unknownUsual
		}
		if x, y := s.excess(), most.excess(); x > y || x == y && x > 0 && name < who {
			who, most = name, s
		}
	}
	return who, most
}

// ofName makes a finding of what the processes of a name did in a time; weight is what it weighs
// if it goes on for ever.
func (q *question) ofName(kind, name string, s stint, weight float64, clause string) *finding {
	long := float64(s.until-s.since) / 1e9
	f := &finding{kind: kind, who: name, cause: true, since: s.since, until: s.until, weight: weight * long / (long + settles)}
	f.title, f.more = q.title(name, s.since+(s.until-s.since)/2)
	f.more = append(f.more, span(q.w.From, q.w.To)...)
	f.text, f.brief = f.title+" "+clause, clause
	return f
}

// title names the processes of a name at an instant, and the command that shows them.
func (q *question) title(name string, at int64) (title string, more []string) {
	list := slices.DeleteFunc(query.Processes(q.a, query.Window{Hosts: q.w.Hosts}, at, nil), func(p *query.Process) bool { return p.Name != name })
	if len(list) == 1 {
		s := &suspect{Consumer: &query.Consumer{Name: name, User: list[0].User, Instance: list[0].Instance}, pid: list[0].PID}
		return s.title(), []string{"ps", strconv.Itoa(list[0].PID)}
	}
	if len(list) == 0 {
		return name, []string{"top", "--group", "name"}
	}
	return q.several(list, name), []string{"top", "--group", "name"}
}

// joined joins what one program used and what it did besides at the same time into one line.
func joined(all []*finding) []*finding {
	gone := make(map[*finding]bool)
	besides := func(f *finding) bool { return f.kind == "switches" || f.kind == "flushes" || f.kind == "connections" }
	for _, f := range all {
		if !besides(f) {
			continue
		}
		for _, g := range all {
			if g == f || gone[g] || g.who != f.who || g.title != f.title || g.since > f.until || f.since > g.until {
				continue
			}
			first, second := f, g
			if g.weight > f.weight {
				first, second = g, f
			}
			if besides(second) && second.brief != "" {
				first.text += ", and " + second.brief
			} else {
				first.text += ", and " + strings.TrimPrefix(second.text[len(second.title):], " ")
			}
			first.explains = append(first.explains, second.explains...)
			first.sources = append(first.sources, second.sources...)
			first.since, first.until = min(first.since, second.since), max(first.until, second.until)
			gone[second] = true
			break
		}
	}
	return slices.DeleteFunc(all, func(f *finding) bool { return gone[f] })
}

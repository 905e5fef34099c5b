package why

import (
	"slices"

	"tachograph/cmd/internal/cli"
	"tachograph/sample/metric"
	"tachograph/store/query"
)

// A ranking is one of names, or of owners by their keys.
type ranking func(query.Archive, query.Window, int, ...query.By) ([]*query.Ranking, error)

// rankings are those of the groups of processes that findings are about.
func (q *question) rankings() []ranking {
	if query.OwnersRecorded(q.a) {
		return []ranking{query.TopNames, query.TopOwners}
	}
	return []ranking{query.TopNames}
}

// whose returns whose all processes of a name were in the window.
func (q *question) whose(name string) query.Whose {
	if q.belongings == nil {
		q.belongings = query.BelongingsOf(q.a, q.w)
	}
	return q.belongings.Of(name)
}

// owner names the processes of an owner; nil where all of them have a name that says as much.
func (q *question) owner(c *query.Consumer) *group {
	whose := query.WhoseIs(c.Instance)
	q.whose("")
	if names := q.belongings.Names(whose, 2); len(names) == 1 && whose.Beside(names[0]) == "" {
		return nil
	}
	return &group{title: whose.Words(c.Count), by: whose.Kind, whose: whose}
}

// grown is how many times what it was before something must be to have grown.
const grown = 1.25

// grew returns from what to what an owner's memory grew until it held most, and since when; since
// is 0 if it did not grow.
func (q *question) grew(whose query.Whose, held stint) (first, last float64, since int64) {
	l := q.ledger
	course := l.course(whose.Key(), thingMemory)
	if course == nil || held.from == 0 || held.to > len(course) || !l.known[held.from-1] {
		return 0, 0, 0
	}
	lowest, highest, top := course[held.from-1], 0.0, held.from
	for k := held.from; k < held.to; k++ {
		if course[k] > highest {
			highest, top = course[k], k
		}
	}
	for k := held.from - 1; k >= 0 && l.known[k]; k-- {
		lowest = min(lowest, course[k])
	}
	begin := held.from - 1 // It begins where they last held hardly more than at first.
	for begin > 0 && course[begin] > lowest+(highest-lowest)/20 {
		begin--
	}
	first, last = q.holds(whose, l.start(begin)), q.holds(whose, l.cuts[top])
	if !(last >= grown*first) {
		return 0, 0, 0
	}
	return first, last, l.cuts[begin]
}

// holds returns how much memory the processes of an owner held at an instant.
func (q *question) holds(whose query.Whose, at int64) (sum float64) {
	name := things[thingMemory].metric
	if q.a.Lookup(name) == nil {
		name = things[thingMemory].instead
	}
	sel := query.Window{Hosts: q.w.Hosts, From: at, To: at}.Selection(name)
	sel.Prior, sel.Instance = true, func(_ string, in *metric.Instance) bool { return query.WhoseIs(in) == whose }
	for s := range q.a.Summarize(sel) {
		if unit, err := s.Metric.Units.Factor(metric.Bytes); err == nil && s.Count > 0 {
			sum += float64(metric.Number(s.Metric.Type, s.Last.Bits) * unit)
		}
	}
	return sum
}

const (
	// alone is the part of what an owner's processes used that one of them, or those of one name,
	// must have used to be named instead of the owner.
	alone = 2.0 / 3
	// bulk is the part of what the processes of a name used that those of one owner must have
	// used to be named instead of the name, and the other way round.
	bulk = 0.75
)

// owned puts owners among findings of their processes, so that nothing is said twice. An owner
// replaces what its processes did, where no single process or, for a session, no name did most of
// it.
func (q *question) owned(list, owners []*finding) []*finding {
	for _, o := range owners {
		of := func(f *finding) bool { return f.whose == o.whose }
		shares := func(f *finding) bool {
			return f.crowd && f.whose == query.Whose{} && f.kind == o.kind && slices.Contains(q.belongings[f.who], o.whose)
		}
		if slices.ContainsFunc(list, func(f *finding) bool {
			switch {
			case of(f):
				single := !f.crowd || o.whose.Kind == metric.OwnerSession
				return f.weight > o.weight && f.kind != o.kind || single && f.kind == o.kind && f.level >= alone*o.level
			case shares(f):
				return f.level >= bulk*o.level && o.level < bulk*f.level
			}
			return false
		}) {
			continue
		}
		list = slices.DeleteFunc(list, func(f *finding) bool {
			if !of(f) && !(shares(f) && o.level >= bulk*f.level) {
				return false
			}
			for _, topic := range f.explains {
				if !slices.Contains(o.explains, topic) {
					o.explains = append(o.explains, topic)
				}
			}
			return true
		})
		list = append(list, o)
	}
	return list
}

// several names processes of one name at an instant.
func (q *question) several(list []*query.Process, name string) string {
	whose := query.WhoseIs(list[0].Instance)
	for _, p := range list {
		if query.WhoseIs(p.Instance) != whose {
			whose = query.Whose{}
		}
	}
	return cli.Count(len(list), "process") + " called " + name + whose.Beside(name)
}

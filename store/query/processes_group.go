package query

import "tachograph/sample/metric"

// A Group is the processes of a moment that belong together.
type Group struct {
	// Kind is the kind of owner that a group of an owner's processes belongs to, else "".
	Kind string
	// Sum is what the processes have and use together. Its name is the group's; it has no pid, state
	// or start, and of levels only those that can be added up.
	Sum *Process
	// Processes are in the order in which they were given.
	Processes []*Process
}

// Groups brings processes of a moment together, in the order in which the groups are met.
func Groups(list []*Process, by Grouping) []*Group {
	type key struct{ host, group string }
	groups := make(map[key]*Group)
	var order []*Group
	for _, p := range list {
		k := key{p.Archive.Host.ID, by.key(p.Instance)}
		g := groups[k]
		if g == nil {
			kind, name := by.title(p)
			g = &Group{Kind: kind, Sum: newSum(p, k.group, name)}
			if kind != "" {
				g.Sum.Instance.Labels = []metric.Label{{Name: kind, Value: name}}
			}
			groups[k] = g
			order = append(order, g)
		}
		g.Processes = append(g.Processes, p)
		g.Sum.plus(p)
	}
	return order
}

// title returns the kind and the name of the group that a process belongs to.
func (g Grouping) title(p *Process) (kind, name string) {
	if g == PerUser && p.User != "" {
		return "", p.User
	}
	return g.name(p.Instance)
}

func newSum(p *Process, key, name string) *Process {
	s := &Process{Archive: p.Archive, Name: name, User: p.User, At: p.At, Window: p.Window, Instance: &metric.Instance{Key: key, Name: name}}
	s.Rates, s.Totals = noCounters(), noCounters()
	for i := range s.Levels {
		s.Levels[i] = unknown
	}
	return s
}

// summed are the levels that can be added up.
var summed = []ProcessLevel{Footprint, Resident, Virtual, Threads}

// plus adds what a process has and uses. Its memory counts as it does for a single process, so that a footprint
// that is not known is replaced by the resident size.
func (s *Process) plus(p *Process) {
	for c := range p.Rates {
		s.Rates[c], s.Totals[c] = sum(s.Rates[c], p.Rates[c]), sum(s.Totals[c], p.Totals[c])
	}
	before := s.Memory()
	for _, l := range summed {
		s.Levels[l] = sum(s.Levels[l], p.Levels[l])
	}
	if s.Levels[Footprint] == s.Levels[Footprint] {
		s.Levels[Footprint] = sum(before, p.Memory())
	}
	if p.User != s.User {
		s.User = "" // of several
	}
}

package query

import (
	"math"
	"slices"

	"tachograph/sample/metric"
)

// liveTotal is a call that aggregates instances: all, or those of each group.
type liveTotal struct {
	call string
	by   string // the kind of groups; "" for all instances together
	arg  *liveNode
	over *liveDomain // the instances
	into *liveDomain // the groups

	totals  []total      // by slot of into
	members []liveMember // by slot of over
}

// liveMember remembers the group of the instance in a slot.
type liveMember struct {
	born  uint64
	in    *metric.Instance
	rev   uint32
	group *metric.Instance // nil: it belongs to none
}

// add brings the present values together, as totalsOf does.
func (t *liveTotal) add() {
	clear(t.totals)
	for i := range t.over.slots {
		if t.over.slots[i].born == 0 {
			continue
		}
		slot := int32(0)
		if t.by != "" {
			g := t.group(i)
			if g == nil {
				continue
			}
			slot = t.into.slot(g)
			t.into.slots[slot].used = true
		}
		t.total(int(slot)).add(t.call, t.arg.at(i))
	}
}

func (t *liveTotal) total(slot int) *total {
	for slot >= len(t.totals) {
		t.totals = append(t.totals, total{})
	}
	return &t.totals[slot]
}

// group returns the group of the instance in a slot.
func (t *liveTotal) group(slot int) *metric.Instance {
	for slot >= len(t.members) {
		t.members = append(t.members, liveMember{})
	}
	s, m := &t.over.slots[slot], &t.members[slot]
	if m.born != s.born || m.in != s.in || m.rev != s.in.Rev {
		*m = liveMember{s.born, s.in, s.in.Rev, Grouping(t.by).group(s.in)}
	}
	return m.group
}

// at returns the total of the group in a slot.
func (t *liveTotal) at(slot int) float64 {
	if t.by == "" {
		slot = 0
	}
	if t.call == "count" && !t.arg.fresh() {
		return math.NaN()
	}
	return t.total(slot).of(t.call, t.by != "")
}

// sweepGroups frees the slots of groups that no instance belongs to any more.
func (l *Live) sweepGroups() {
	for _, d := range l.domains {
		if !slices.Contains(groupable, Grouping(d.indom)) {
			continue
		}
		for i := range d.slots {
			switch s := &d.slots[i]; {
			case s.born == 0:
			case !s.used:
				d.leave(i)
			default:
				s.used = false
			}
		}
	}
}

package proc

import (
	"cmp"
	"maps"
	"slices"

	"tachograph/sample/metric"
	"tachograph/sample/owner"
)

// ownerColumns are the columns that say whose a process is. of returns the owners of the process
// that is being read.
func ownerColumns[R any](of func(r *R) *owner.Owner, fields ...owner.Field) []column[R] {
	columns := make([]column[R], 0, len(fields))
	for _, f := range fields {
		columns = append(columns, column[R]{
			name: "proc.owner." + f.String(),
			text: func(r *R) string {
				name, _ := of(r).Get(f)
				return name
			},
			missing: func(r *R) metric.Reason {
				_, why := of(r).Get(f)
				return why
			},
		})
	}
	return columns
}

// nobody are the owners of a process of which none was looked for.
var nobody = owner.None(metric.NotRead)

// owners returns the owners of p.
func (p *process[P]) owners() *owner.Owner {
	if p.owner == nil {
		return &nobody
	}
	return p.owner
}

// own gives p its owners, and reports whether they are others than before. The labels of a
// process that describe has not seen yet are left to it.
func (p *process[P]) own(o *owner.Owner) bool {
	if p.owner == o {
		return false
	}
	p.owner = o
	in := p.instance
	if in.Labels == nil {
		return true
	}
	labels := slices.DeleteFunc(slices.Clone(in.Labels), func(l metric.Label) bool {
		return slices.Contains(metric.OwnerKinds, l.Name)
	})
	labels = append(labels, o.Labels()...)
	if slices.Equal(labels, in.Labels) {
		return true // only the reasons are others
	}
	in.Labels = labels
	in.Rev++
	return true
}

// Owners returns the owners of the processes that live, by kind in the order of metric.OwnerKinds,
// those with most processes first. Processes without any are counted together, by what is said
// of their service.
func (s *processes[P, R]) Owners() []owner.Count {
	s.Lock()
	defer s.Unlock()
	var tally owner.Tally
	living := slices.SortedFunc(maps.Values(s.table.byPID), func(a, b *process[P]) int { return cmp.Compare(a.pid, b.pid) })
	for _, p := range living {
		tally.Add(p.owners(), func(f owner.Field) string {
			return cmp.Or(s.k.foundBy(p, f), s.groups[0].Metrics[s.column["proc.owner."+f.String()]].Source)
		})
	}
	return tally.Counts()
}

// few is how many owners are kept although no process has them any more.
const few = 64

// forgetOwners drops owners that no process has, once there are many of them.
func (s *census[P]) forgetOwners() {
	if s.owners.Len() <= 2*len(s.table.byPID)+few {
		return
	}
	s.owners.Keep(func(yield func(*owner.Owner) bool) {
		for _, p := range s.table.byPID {
			if p.owner != nil && !yield(p.owner) {
				return
			}
		}
	})
}

package archive

import (
	"slices"
	"weak"

	"tachograph/sample/metric"
)

// A Sameness returns the same pointer for equal descriptions, groups and instances, wherever
// they were read. Consumers of ticks can therefore key what they keep by pointer. The zero
// Sameness is empty.
type Sameness struct {
	// Complete, if set, adds to a copy of each description what archives left out.
	Complete func(*metric.Host, *metric.Desc)

	descs  map[metric.Desc]*metric.Desc
	groups map[[2]string][]*metric.Group

	boot   string
	insts  map[[2]string]weak.Pointer[metric.Instance]
	nextID uint64
	sweep  int // at how many instances to look for unreferenced ones
}

const (
	// manyDescs and groupsOfName bound what is kept in order to return the same pointer.
	manyDescs    = 1 << 18
	groupsOfName = 16
	firstSweep   = 4096
)

// Desc returns d, completed.
func (s *Sameness) Desc(info *Info, d *metric.Desc) *metric.Desc {
	c := *d
	if s.Complete != nil {
		s.Complete(&info.Host, &c)
	}
	s.make()
	p := s.descs[c]
	if p == nil {
		p = &c
		s.descs[c] = p
	}
	return p
}

// Group returns the group with these metrics. It keeps the slice.
func (s *Sameness) Group(name, indom string, metrics []*metric.Desc) *metric.Group {
	s.make()
	key := [2]string{name, indom}
	all := s.groups[key]
	for _, g := range all {
		if slices.Equal(g.Metrics, metrics) {
			return g
		}
	}
	g := &metric.Group{Name: name, Indom: indom, Metrics: metrics}
	if len(all) == groupsOfName {
		all = slices.Delete(all, 0, 1)
	}
	s.groups[key] = append(all, g)
	return g
}

// Enter sets the boot that instances belong to from now on.
func (s *Sameness) Enter(boot string) {
	if s.insts == nil || s.boot != boot {
		s.boot, s.insts, s.sweep = boot, make(map[[2]string]weak.Pointer[metric.Instance]), firstSweep
	}
}

// Intern returns the instance with a key.
func (s *Sameness) Intern(indom, key string) *metric.Instance {
	at := [2]string{indom, key}
	if in := s.insts[at].Value(); in != nil {
		return in
	}
	if len(s.insts) >= s.sweep {
		for k, p := range s.insts {
			if p.Value() == nil {
				delete(s.insts, k)
			}
		}
		s.sweep = max(firstSweep, 2*len(s.insts))
	}
	s.nextID++
	in := &metric.Instance{ID: s.nextID, Key: key}
	s.insts[at] = weak.Make(in)
	return in
}

// Apart returns a Sameness with the descriptions and groups of s, but with its own instances of
// one boot. Two readers of different times need different names for an instance.
func (s *Sameness) Apart() *Sameness {
	s.make()
	apart := &Sameness{Complete: s.Complete, descs: s.descs, groups: s.groups}
	apart.Enter("")
	return apart
}

func (s *Sameness) make() {
	if s.descs == nil || len(s.descs) > manyDescs {
		s.descs = make(map[metric.Desc]*metric.Desc)
	}
	if s.groups == nil || len(s.groups) > manyDescs {
		s.groups = make(map[[2]string][]*metric.Group)
	}
}

package query

import (
	"cmp"
	"math"
	"slices"
)

// Differences are what changed between two windows, or else the largest difference.
type Differences struct {
	// Changes are the differences that are out of the ordinary, most surprising first.
	Changes []*Change
	// Largest is, where there are no Changes, the difference that makes up most of the machine.
	// It is ordinary, but still worth showing. If it is nil, nothing differed at all.
	Largest *Change
}

// largest finds the difference that is the largest part of the machine, among the metrics that
// describe it best and what processes of each name used.
func (d *differ) largest(s *systemPair, p *processPair) *Change {
	var list []*Change
	for _, one := range s.all {
		_, rank := familyOf(one.desc.Name)
		if !headline(one.desc.Name) || len(one.a.slots) == 0 || len(one.b.slots) == 0 {
			continue
		}
		c := &Change{Kind: SystemChange, Subject: one.desc.Name, Instance: one.name, Metric: one.desc, Before: one.a.mean(), After: one.b.mean(), Units: one.units, Rate: one.rate}
		c.Impact = d.impact(one, c.Before, c.After)
		c.Score = c.Impact - float64(rank)/1e6
		list = append(list, c)
	}
	for name, used := range p.b.byName {
		if p.a.byName[name] == nil {
			continue
		}
		for _, as := range aspects {
			before, after := p.a.amount(name, as.of), p.b.amount(name, as.of)
			c := &Change{Kind: ProcessChange, Archive: used.Archive, Subject: name, Aspect: as.name, Before: before, After: after, Units: as.units, Rate: as.rate,
				Process: used, Impact: d.processImpact(as.name, math.Abs(after-before))}
			c.Score = c.Impact
			list = append(list, c)
		}
	}
	list = slices.DeleteFunc(list, func(c *Change) bool { return !(c.Impact > 0) || c.Before == c.After })
	if len(list) == 0 {
		return nil
	}
	return slices.MinFunc(list, func(x, y *Change) int {
		return cmp.Or(cmp.Compare(y.Score, x.Score), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Subject, y.Subject), cmp.Compare(x.Instance, y.Instance), cmp.Compare(x.Aspect, y.Aspect))
	})
}

// headline reports whether a metric is among those that describe its part of the machine best.
func headline(name string) bool {
	for _, f := range families {
		if slices.Contains(f.leads, name) {
			return true
		}
	}
	return false
}

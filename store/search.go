package store

import (
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/chunk"
)

// Keys returns the keys of the instances of a domain that accept takes by any of their names, in
// the chunks between two wall clocks (to 0: no end). Every name that accept takes must have traits
// of s. ok is false if there are too many keys. accept must not keep its argument.
func (r *Reader) Keys(indom string, from, to int64, s *Sought, accept func(in *metric.Instance) bool) (list []string, ok bool) {
	c := collector{seen: make(map[string]bool), accept: func(in *chunk.Instance) bool {
		if len(in.Names) == 0 {
			return accept(&metric.Instance{Key: in.Key})
		}
		return slices.ContainsFunc(in.Names, func(n chunk.Naming) bool {
			return accept(&metric.Instance{Key: in.Key, Name: n.Name, Labels: n.Labels})
		})
	}}
	if indom != metric.NoIndom {
		sel := Selection{From: from, To: to}
		r.inDomain(&sel, indom, func(d *domainGroup) { _ = d.group().Seek(s, ignore) }, func(d *domainGroup) bool {
			if err := d.group().Seek(s, c.add); err != nil {
				d.of.Lose(d.chunk.Ref.Wrong(err))
			}
			return len(c.list) <= mostKeys
		})
	}
	list, few := c.keys()
	slices.Sort(list)
	return list, few
}

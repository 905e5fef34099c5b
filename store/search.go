package store

import (
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/chunk"
)

// Keys returns the keys of the instances of a domain that accept takes by any of their names, in
// the chunks between two wall clocks (to 0: no end). Every name that accept takes must have traits
// of s. ok is false if there are too many keys. accept must not keep its argument.
func (r *Reader) Keys(indom string, from, to int64, s *Sought, accept func(in *metric.Instance) bool) (list []string, ok bool) {
	sel := Selection{From: from, To: to}
	c := collector{keys: &keys{}, seen: make(map[string]bool), accept: func(in *chunk.Instance) bool {
		if len(in.Names) == 0 {
			return accept(&metric.Instance{Key: in.Key})
		}
		return slices.ContainsFunc(in.Names, func(n chunk.Naming) bool {
			return accept(&metric.Instance{Key: in.Key, Name: n.Name, Labels: n.Labels})
		})
	}}
	r.alone()
	var without schemas // schemas that do not have the domain
	for _, a := range r.archives {
		var refs []*archive.ChunkRef
		for _, ref := range a.Chunks {
			if ref.Info.From <= sel.End() && ref.Info.To >= from {
				refs = append(refs, ref)
			}
		}
		r.ahead(len(refs), func(i int) {
			if !without.has(refs[i].Info.Schema) {
				_, _ = seekIn(refs[i], indom, s, ignore, func(error) {})
			}
		}, func(i int, done func()) bool {
			handed := false // nothing is handed out
			ref := refs[i]
			a.Contain(&handed, func() bool {
				if done != nil {
					done()
				}
				if without.has(ref.Info.Schema) {
					return true
				}
				if found, err := seekIn(ref, indom, s, c.add, func(err error) { a.Lose(ref.Wrong(err)) }); err != nil {
					a.Lose(err)
				} else if !found {
					without.add(ref.Info.Schema)
				}
				return true
			})
			return len(c.list) <= mostKeys && !r.over()
		})
		r.release(a)
	}
	c.end()
	slices.Sort(c.list)
	return c.list, c.few
}

// seekIn calls fn with the instances in one chunk that s may match, and reports whether the
// chunk has the domain at all.
func seekIn(ref *archive.ChunkRef, indom string, s *Sought, fn func(*chunk.Instance), lose func(error)) (found bool, err error) {
	opened, err := ref.Open()
	if err != nil {
		return false, err
	}
	for _, g := range opened.Groups {
		if g.Indom != indom || g.Indom == metric.NoIndom {
			continue
		}
		found = true
		if err := g.Seek(s, fn); err != nil {
			lose(err)
		}
	}
	return found, nil
}

package store

import (
	"slices"
	"sync"

	"tachograph/sample/metric"
	"tachograph/store/archive"
	"tachograph/store/chunk"
)

// keys are the keys of the wanted instances of a domain, if they are few.
type keys struct {
	few  bool
	list []string
	set  func() map[string]bool // of the list
}

// setOf returns a function that makes a set of list when it is first called.
func setOf(list []string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := make(map[string]bool, len(list))
		for _, key := range list {
			set[key] = true
		}
		return set
	})
}

// sought reports whether to look for so many keys one by one among so many instances. Otherwise
// it is cheaper to go through the keys of all the instances.
func sought(keys, instances int) bool { return keys*keyCost < instances }

// keyCost is how many keys can be read in the time that looking for one takes.
const keyCost = 8

// mostKeys is the most instances that are looked for one by one. To find more, all names are
// decoded.
const mostKeys = 4096

// keys returns the keys that the plan wants of a domain: those that the selection lists, or
// those of the instances that it accepts by some name.
func (p *plan) keys(indom string) *keys {
	k := p.chosen[indom]
	if k != nil {
		return k
	}
	k = &keys{}
	p.chosen[indom] = k
	switch sel := p.sel; {
	case sel.Keys != nil:
		if sel.keySet == nil {
			sel.keySet = setOf(sel.Keys)
		}
		k.few, k.list, k.set = true, sel.Keys, sel.keySet
	case sel.Instance != nil && sel.Sought != nil:
		p.seek(indom, k)
	}
	return k
}

// seek looks in all groups of a domain for instances that the selection accepts.
func (p *plan) seek(indom string, k *keys) {
	c := collector{keys: k, seen: make(map[string]bool), accept: func(in *chunk.Instance) bool {
		probe := describe(in)
		return p.sel.Instance(indom, &probe)
	}}
	asked := make(map[*archive.View]bool)
	views := make(map[*archive.ChunkRef][]*archive.View)
	var refs []*archive.ChunkRef
	for _, name := range p.names {
		for i := range p.columns[name] {
			v := p.columns[name][i].v
			if v.Indom != indom || asked[v] {
				continue
			}
			asked[v] = true
			if views[v.Ref] == nil {
				refs = append(refs, v.Ref)
			}
			views[v.Ref] = append(views[v.Ref], v)
		}
	}
	p.r.ahead(len(refs), func(i int) {
		for _, v := range views[refs[i]] {
			_ = v.Seek(p.sel.Sought, ignore) // Errors are reported below.
		}
	}, func(i int, done func()) bool {
		if done != nil {
			done()
		}
		for _, v := range views[refs[i]] {
			if err := v.Seek(p.sel.Sought, c.add); err != nil {
				p.a.Lose(v.Ref.Wrong(err))
			}
		}
		return !p.r.over()
	})
	c.end()
	k.set = setOf(k.list)
}

// ignore is the callback for decoding instances ahead, before they are needed.
func ignore(*chunk.Instance) {}

// A collector collects the keys of accepted instances.
type collector struct {
	*keys
	seen   map[string]bool // accepted keys, which are not asked about again
	accept func(in *chunk.Instance) bool
}

func (c *collector) add(in *chunk.Instance) {
	if len(c.list) <= mostKeys && !c.seen[in.Key] && c.accept(in) {
		c.seen[in.Key] = true
		c.list = append(c.list, in.Key)
	}
}

func (c *collector) end() {
	if c.few = len(c.list) <= mostKeys; !c.few {
		c.list = nil
	}
}

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

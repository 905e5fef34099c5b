package boltread

import (
	"bytes"
	"slices"
)

// element is one element of a leaf page.
type element struct {
	p *page
	i int
}

func (a element) key() []byte { return a.p.elems[a.i].key }

// walk lists all elements of b that can be found, in the order of their keys. It does not trust
// the keys of branches, and enters no page twice.
func (b *Bucket) walk() []element {
	if b.inline == nil {
		b.s.mu.Lock()
		list, ok := b.s.walked[b.root]
		b.s.mu.Unlock()
		if ok {
			return list
		}
	}
	var list []element
	seen := make(map[uint64]bool)
	var visit func(p *page, depth int)
	visit = func(p *page, depth int) {
		for i := range p.elems {
			if p.leaf {
				list = append(list, element{p, i})
				continue
			}
			e := &p.elems[i]
			if depth >= maxDepth {
				b.s.damage.add(b.tooDeep(e))
				continue
			}
			if seen[e.child] {
				b.s.damage.add(pageDamage(e.child, b.offset(e.child), "two branches lead to it"))
				continue
			}
			seen[e.child] = true
			q, d := b.s.load(e.child)
			if d != nil {
				lost := *d
				lost.From = e.key
				if i+1 < len(p.elems) {
					lost.To = p.elems[i+1].key
				}
				b.s.damage.add(&lost)
				continue
			}
			visit(q, depth+1)
		}
	}
	if b.inline != nil {
		visit(b.inline, 1)
	} else if p, d := b.s.load(b.root); d != nil {
		b.s.damage.add(d)
	} else {
		seen[b.root] = true
		visit(p, 1)
	}
	slices.SortStableFunc(list, func(x, y element) int { return bytes.Compare(x.key(), y.key()) })
	// If two elements have one key, at least one is damaged. Callers expect keys to be unique
	// and check what they get.
	list = slices.CompactFunc(list, func(x, y element) bool {
		same := bytes.Equal(x.key(), y.key())
		if same {
			b.s.damage.add(pageDamage(y.p.id, y.p.base, "key %s stands twice in one bucket", quote(y.key())))
		}
		return same
	})
	if b.inline == nil {
		b.s.mu.Lock()
		if b.s.walked == nil {
			b.s.walked = make(map[uint64][]element)
		}
		b.s.walked[b.root] = list
		b.s.mu.Unlock()
	}
	return list
}

func (b *Bucket) offset(id uint64) int64 { return int64(id) * int64(b.s.meta.PageSize) }

func (b *Bucket) tooDeep(e *elem) *Damage {
	return pageDamage(e.child, b.offset(e.child), "the tree is deeper than %d pages", maxDepth)
}

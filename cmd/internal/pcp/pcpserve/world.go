package pcpserve

import (
	"slices"
	"strings"

	"tachograph/sample/metric"
	"tachograph/sample/pcp"
)

// A world is a Catalog with PCP's names and numbers. It does not change.
type world struct {
	cat    *Catalog
	items  []*item // by name
	byPMID map[metric.PMID]*item
	byDesc map[*metric.Desc]*item
	byOwn  map[string]*item // by our own names
	indoms map[uint32]string
}

// An item is a metric in a world.
type item struct {
	*pcp.Metric
	desc  *metric.Desc
	index int // in items
	// private metrics are those whose values only some clients may see.
	private bool
	// also are the item's further names.
	also []string
}

func (it *item) domain() uint32 {
	domain, _, _ := it.PMID.Parts()
	return domain
}

// nothing is the world before there is a catalog.
var nothing = &world{cat: &Catalog{}}

// newWorld gives the metrics of a catalog their names and numbers for PCP. If several would get
// the same, they are distinguished in the order of their own names, as in exported archives.
func newWorld(cat *Catalog, space *pcp.Space, private func(*metric.Desc) bool) *world {
	n := len(cat.Descs)
	w := &world{
		cat: cat, items: make([]*item, 0, n), byPMID: make(map[metric.PMID]*item, n),
		byDesc: make(map[*metric.Desc]*item, n), byOwn: make(map[string]*item, n), indoms: make(map[uint32]string),
	}
	descs := slices.Clone(cat.Descs)
	slices.SortStableFunc(descs, func(a, b *metric.Desc) int { return strings.Compare(a.Name, b.Name) })
	space.On(cat.Host.Platform)
	for _, d := range descs {
		m := space.Add(d)
		first := w.byPMID[m.PMID]
		if first != nil && first.Name == m.Name {
			continue // it is described twice
		}
		it := &item{Metric: m, desc: d, private: private(d)}
		w.items = append(w.items, it)
		w.byDesc[d], w.byOwn[d.Name] = it, it
		if first != nil {
			first.also = append(first.also, m.Name)
			first.private = first.private || it.private
			continue
		}
		w.byPMID[m.PMID] = it
		if m.InDom != pcp.Null {
			w.indoms[m.InDom] = d.Indom
		}
	}
	slices.SortFunc(w.items, func(a, b *item) int { return strings.Compare(a.Name, b.Name) })
	for i, it := range w.items {
		it.index = i
	}
	return w
}

// find returns the item for d, a description in a group.
func (w *world) find(d *metric.Desc) *item {
	if it := w.byDesc[d]; it != nil {
		return it
	}
	return w.byOwn[d.Name]
}

// named returns the metric with that name.
func (w *world) named(name string) *item {
	i, ok := slices.BinarySearchFunc(w.items, name, func(it *item, name string) int { return strings.Compare(it.Name, name) })
	if !ok {
		return nil
	}
	return w.items[i]
}

// below returns the metrics whose names begin with a name and a dot; all for "".
func (w *world) below(name string) []*item {
	if name == "" {
		return w.items
	}
	name += "."
	from, _ := slices.BinarySearchFunc(w.items, name, func(it *item, name string) int { return strings.Compare(it.Name, name) })
	to := from
	for to < len(w.items) && strings.HasPrefix(w.items[to].Name, name) {
		to++
	}
	return w.items[from:to]
}

// sameNames reports whether two worlds have the same names and descriptions for PCP.
func (w *world) sameNames(o *world) bool {
	return slices.EqualFunc(w.items, o.items, func(a, b *item) bool {
		return a.Name == b.Name && a.PMID == b.PMID && a.Type == b.Type && a.InDom == b.InDom && a.Semantics == b.Semantics && a.Units == b.Units
	})
}

// sameLabels reports whether two worlds have the same labels.
func (w *world) sameLabels(o *world) bool {
	return w.cat.Host.ID == o.cat.Host.ID && w.cat.Host.Name == o.cat.Host.Name && w.cat.Host.Release == o.cat.Host.Release &&
		slices.Equal(w.cat.Host.Labels, o.cat.Host.Labels) && slices.Equal(w.cat.Labels, o.cat.Labels) &&
		slices.EqualFunc(w.items, o.items, func(a, b *item) bool {
			return slices.Equal(pcp.MetricLabels(a.Metric, ""), pcp.MetricLabels(b.Metric, ""))
		})
}

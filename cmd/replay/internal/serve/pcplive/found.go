package pcplive

import (
	"slices"
	"sync"
	"time"

	"tachograph/cmd/internal/pcp/pcpserve"
	"tachograph/cmd/replay/internal/serve/catalogue"
	"tachograph/cmd/replay/internal/serve/live"
	"tachograph/cmd/replay/internal/serve/selection"
	"tachograph/sample/metric"
	"tachograph/store/archive"
)

// found is the list of metrics. It does not change, except for what is derived from it.
type found struct {
	*pcpserve.Catalog
	of     *selection.Catalogue
	info   *archive.Info // the archive that is recorded now
	byName map[string]*metric.Desc
	own    *metric.Block // the values that the server provides itself, in place of pmcd

	mu sync.Mutex
	// groups maps the recorder's groups to groups with the catalogue's descriptions; formulas
	// has the groups of computed metrics, each of which has its own.
	groups   map[*metric.Group]*metric.Group
	formulas map[*metric.Desc]*metric.Group
}

// mostGroups is far more than any recorder needs; an archive of unknown origin may have a new
// group at each tick.
const mostGroups = 2000

// find returns the metrics of known. It reuses the descriptions and the catalogue of before if
// they are the same, so that clients are not informed of a change that is none.
func find(before *found, known *catalogue.Known, version string) *found {
	if before != nil && before.of == known.Catalogue {
		return before
	}
	f := &found{Catalog: new(pcpserve.Catalog), of: known.Catalogue, info: known.Info, byName: make(map[string]*metric.Desc)}
	f.forget()
	if known.Info == nil {
		return f
	}
	chosen, err := known.Choose(nil, false)
	if err != nil {
		return before // choosing nothing never fails
	}
	f.Host, f.Labels = known.Info.Host, labels(known.Info)
	f.own = own(known.Info, version)
	for _, d := range slices.Concat(f.own.Group.Metrics, chosen.Metrics) {
		if f.byName[d.Name] != nil {
			continue // an import from PCP has what its pmcd provided
		}
		if before != nil {
			if old := before.byName[d.Name]; old != nil && *old == *d {
				d = old
			}
		}
		f.byName[d.Name] = d
		f.Descs = append(f.Descs, d)
	}
	f.own.Group = pcpserve.Described(f.own.Group, f.byName)
	if before != nil && slices.Equal(before.Descs, f.Descs) && slices.Equal(before.Labels, f.Labels) && before.Host.ID == f.Host.ID &&
		before.Host.Name == f.Host.Name && slices.Equal(before.Host.Labels, f.Host.Labels) {
		f.Catalog = before.Catalog
	}
	return f
}

func (f *found) forget() {
	f.groups, f.formulas = make(map[*metric.Group]*metric.Group), make(map[*metric.Desc]*metric.Group)
}

// group returns a recorder's group with the catalogue's descriptions.
func (f *found) group(g *metric.Group) *metric.Group {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.groups[g]
	if n == nil {
		if len(f.groups) > mostGroups {
			f.forget()
		}
		n = pcpserve.Described(g, f.byName)
		f.groups[g] = n
	}
	return n
}

// every returns how often a class is read, as the archive says now: a recorder that gets another
// configuration changes its archive.
func (f *found) every(s *live.State, c metric.Class) time.Duration {
	if c >= metric.NumClasses {
		return 0
	}
	if f.info != nil && f.info.ID == s.Archive.ID {
		return f.info.Intervals[c]
	}
	return s.Archive.Intervals[c]
}

// computed returns a reading of a computed metric in its description's type and units: computed
// values are floating point.
func (f *found) computed(d *metric.Desc, r *live.Reading) *metric.Block {
	if r.Metric.Indom != d.Indom || r.Metric.Type != metric.F64 {
		return nil
	}
	factor, err := r.Metric.Units.Factor(d.Units)
	if err != nil {
		return nil
	}
	f.mu.Lock()
	g := f.formulas[d]
	if g == nil {
		g = &metric.Group{Name: r.Block.Group.Name, Indom: d.Indom, Metrics: []*metric.Desc{d}}
		f.formulas[d] = g
	}
	f.mu.Unlock()
	b := &metric.Block{Group: g, At: r.Block.At, Rows: r.Block.Rows, Cols: make([]metric.Column, 1)}
	if d.Type == metric.F64 && factor == 1 {
		b.Cols[0] = *r.Column
		return b
	}
	for _, v := range r.Values() {
		b.Cols[0].Push(converted(v, d.Type, factor))
	}
	return b
}

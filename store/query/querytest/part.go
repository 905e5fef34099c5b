// Package querytest is for tests of everything that asks questions of archives.
// It keeps small recordings in memory, read from descriptions that people can
// read: as a stand-in for a Reader that is too simple to be wrong, and to write
// real archives from.
package querytest

import (
	"cmp"
	"iter"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store"
	"tachograph/store/derive"
)

// Part is one archive of a recording.
type Part struct {
	Info    store.ArchiveInfo
	Catalog []*metric.Desc
	Ticks   []*metric.Tick
	Events  []metric.Event
}

// Archive is a recording in memory. It has the methods of a store.Reader.
type Archive struct {
	derive.Answers
	// RunLength is the largest number of values in one Run or Summary, so that readers get a
	// series in several of them.
	RunLength int
	// Lost is what Losses returns, once.
	Lost    []store.Loss
	parts   []*part
	metrics []*metric.Desc
	byName  map[string]*metric.Desc
}

// View returns the whole archive.
func (a *Archive) View(store.Limits) store.Archive { return a }

// Losses returns Lost, and clears it.
func (a *Archive) Losses() []store.Loss {
	lost := a.Lost
	a.Lost = nil
	return lost
}

type part struct {
	*Part
	info   *store.ArchiveInfo
	series []*store.Run // every value of one metric and instance each
	lives  []*store.Life
}

// New makes an archive of parts, which must be in time order.
func New(parts ...*Part) *Archive {
	a := &Archive{RunLength: 7, byName: make(map[string]*metric.Desc)}
	a.Answers = derive.Answers{From: a}
	instances := make(map[[4]string]*metric.Instance)
	for _, p := range parts {
		a.parts = append(a.parts, index(p, instances))
		for _, d := range p.Catalog {
			a.byName[d.Name] = d
		}
	}
	for _, d := range a.byName {
		a.metrics = append(a.metrics, d)
	}
	slices.SortFunc(a.metrics, func(x, y *metric.Desc) int { return cmp.Compare(x.Name, y.Name) })
	return a
}

type seriesKey struct{ metric, key string }

func index(p *Part, instances map[[4]string]*metric.Instance) *part {
	out := &part{Part: p, info: &p.Info}
	byKey := make(map[seriesKey]*store.Run)
	lives := make(map[[2]string]*store.Life)
	for n, t := range p.Ticks {
		if n == 0 || t.At.Wall < p.Info.From {
			p.Info.From = t.At.Wall
		}
		p.Info.To = max(p.Info.To, t.At.Wall)
		for _, b := range t.Blocks {
			for r, in := range b.Rows {
				kept := in
				if in != nil {
					k := [4]string{p.Info.Host.ID, p.Info.BootID, b.Group.Indom, in.Key}
					if instances[k] == nil {
						c := *in
						instances[k] = &c
					}
					kept = instances[k]
					kept.Name, kept.Labels = in.Name, in.Labels
					lk := [2]string{b.Group.Indom, in.Key}
					l := lives[lk]
					if l == nil {
						l = &store.Life{Archive: &p.Info, Indom: b.Group.Indom, Instance: kept, From: b.At.Wall}
						lives[lk] = l
						out.lives = append(out.lives, l)
					}
					l.To = b.At.Wall
					if n := len(l.Names); n == 0 || l.Names[n-1].Name != in.Name || !slices.Equal(l.Names[n-1].Labels, in.Labels) {
						l.Names = append(l.Names, store.Naming{From: b.At.Wall, Name: in.Name, Labels: in.Labels})
					}
				}
				for c, d := range b.Group.Metrics {
					k := seriesKey{metric: d.Name}
					if in != nil {
						k.key = in.Key
					}
					s := byKey[k]
					if s == nil {
						s = &store.Run{Archive: &p.Info, Metric: d, Instance: kept}
						byKey[k] = s
						out.series = append(out.series, s)
					}
					s.Wall, s.Cont = append(s.Wall, b.At.Wall), append(s.Cont, b.At.Cont)
					s.Push(b.Cols[c].At(d.Type, r))
				}
			}
		}
	}
	slices.SortStableFunc(out.series, func(x, y *store.Run) int { return cmp.Compare(x.Metric.Name, y.Metric.Name) })
	return out
}

// Parts returns the parts.
func (a *Archive) Parts() []store.Part {
	parts := make([]store.Part, len(a.parts))
	for i, p := range a.parts {
		parts[i] = short{&derive.Part{Info: p.info, Runs: p.series}, a.RunLength}
	}
	return parts
}

// A short part yields runs of at most so many values.
type short struct {
	*derive.Part
	most int
}

func (p short) Within(sel *store.Selection) store.Plan { return shortPlan{p.Part.Within(sel), p.most} }

type shortPlan struct {
	store.Plan
	most int
}

func (p shortPlan) Runs(yield func(*store.Run) bool) bool {
	return p.Plan.Runs(func(run *store.Run) bool {
		for i := 0; i < len(run.Wall); i += p.most {
			if part := derive.Cut(run, i, min(i+p.most, len(run.Wall))); !yield(&part) {
				return false
			}
		}
		return true
	})
}

// Metrics lists the catalogue, sorted by name.
func (a *Archive) Metrics() []*metric.Desc { return a.metrics }

// Lookup finds a metric by its exact name.
func (a *Archive) Lookup(name string) *metric.Desc { return a.byName[name] }

// LookupIn finds a metric by its exact name in one part.
func (a *Archive) LookupIn(info *store.ArchiveInfo, name string) *metric.Desc {
	for _, p := range a.parts {
		if i := slices.IndexFunc(p.Catalog, func(d *metric.Desc) bool { return d.Name == name }); p.info == info && i >= 0 {
			return p.Catalog[i]
		}
	}
	return nil
}

// Lives lists when the instances of indom were seen, or those with the keys.
func (a *Archive) Lives(indom string, from, to int64, keys ...string) iter.Seq[*store.Life] {
	return func(yield func(*store.Life) bool) {
		merged := make(map[*metric.Instance]*store.Life)
		var order []*store.Life
		for _, p := range a.parts {
			for _, l := range p.lives {
				if l.Indom != indom || len(keys) > 0 && !slices.Contains(keys, l.Instance.Key) {
					continue
				}
				if m := merged[l.Instance]; m != nil {
					m.To, m.Archive = l.To, l.Archive
					m.Names = append(slices.Clip(m.Names), l.Names...)
					continue
				}
				c := *l
				merged[l.Instance] = &c
				order = append(order, &c)
			}
		}
		for _, l := range order {
			if l.To >= from && (to == 0 || l.From <= to) && !yield(l) {
				return
			}
		}
	}
}

// Events lists what happened from one wall clock time to another, both inclusive.
func (a *Archive) Events(from, to int64, kinds ...metric.EventKind) iter.Seq[*store.Event] {
	return func(yield func(*store.Event) bool) {
		for _, p := range a.parts {
			for _, e := range p.Part.Events {
				if e.At.Wall < from || to != 0 && e.At.Wall > to {
					continue
				}
				if len(kinds) > 0 && !slices.Contains(kinds, e.Kind) {
					continue
				}
				if !yield(&store.Event{Event: e, Archive: p.info}) {
					return
				}
			}
		}
	}
}

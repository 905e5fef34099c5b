package store

import (
	"slices"

	"tachograph/sample/metric"
	"tachograph/store/digest"
	"tachograph/store/source"
)

// A wholeReader reads what an archive says about all its chunks together.
type wholeReader struct {
	s   *scope
	a   *source.Source
	sel *Selection
	in  [metric.NumClasses]bool // whether all chunks of a class are in the window
}

// wholes returns summaries, each of all chunks of an archive, and what sel asks for besides them.
func (s *scope) wholes(a *source.Source, sel *Selection) (list []*Summary, rest *Selection) {
	if sel.Spread || sel.Instance != nil || sel.Sought != nil || sel.Keys != nil || sel.Cohort != nil ||
		a.Info.Live || a.Info.Step != 0 || len(a.Hidden) > 0 {
		return nil, sel
	}
	w := &wholeReader{s: s, a: a, sel: sel}
	if !w.classes() {
		return nil, sel
	}
	of := a.Whole()
	if of == nil {
		return nil, sel
	}
	wanted := wanted(a, sel)
	for i := range of.Groups {
		g := &of.Groups[i]
		instances := make([]*metric.Instance, len(g.Instances))
		for k := range g.Metrics {
			m := &g.Metrics[k]
			n := m.Number
			if int(n) >= len(wanted) || !wanted[n] || !w.has(g.Indom, m) {
				continue
			}
			wanted[n] = false
			desc := a.Effective(n, m.Class)
			for i := range m.Series {
				list = append(list, w.summary(g, &m.Series[i], desc, instances))
			}
		}
	}
	part := *sel
	part.Metrics = []string{}
	for n, w := range wanted {
		if w {
			part.Metrics = append(part.Metrics, a.Descs[n].Name)
		}
	}
	slices.Sort(part.Metrics)
	part.Metrics = slices.Compact(part.Metrics)
	return list, &part
}

// classes finds the classes all of whose chunks are in the window. It returns false if there are
// none, or if a cut goes through the archive.
func (w *wholeReader) classes() (any bool) {
	if slices.ContainsFunc(w.sel.Cuts, func(cut int64) bool { return cut >= w.a.Info.From && cut < w.a.Info.To }) {
		return false
	}
	var out [metric.NumClasses]bool
	for _, ref := range w.a.Chunks {
		in := &ref.Info
		w.in[in.Class] = true
		out[in.Class] = out[in.Class] || in.From < w.sel.From || in.To > w.sel.End() || w.s.cutsOff(ref)
	}
	for class := range w.in {
		w.in[class] = w.in[class] && !out[class]
		any = any || w.in[class]
	}
	return any
}

// has reports whether the summaries of a metric can be used.
func (w *wholeReader) has(indom string, m *digest.WholeMetric) bool {
	d := w.a.Desc(m.Number)
	return int(m.Class) < len(w.in) && w.in[m.Class] && d != nil && d.Indom == indom && d.Type != metric.String && len(w.a.ByName[d.Name]) == 1
}

func (w *wholeReader) summary(g *digest.WholeGroup, s *digest.WholeSeries, desc *metric.Desc, instances []*metric.Instance) *Summary {
	in := &instances[s.Instance]
	if *in == nil && g.Indom != metric.NoIndom {
		*in = w.s.named(w.a.File, g.Indom, &g.Instances[s.Instance])
	}
	return &Summary{Archive: &w.a.Info, Metric: desc, Instance: *in, Count: s.Count,
		First: Point{s.First.Wall, s.First.Cont, s.FirstBits}, Last: Point{s.Last.Wall, s.Last.Cont, s.LastBits},
		Min: s.Min, Max: s.Max, Sum: s.Sum, Weighted: s.Weighted, Increase: s.Increase, Steepest: s.Steepest, Longest: s.Longest}
}

package platform

import (
	"slices"
	"strings"

	"tachograph/sample"
	"tachograph/sample/engine"
	"tachograph/sample/metric"
	"tachograph/sample/stack"
)

// Metrics returns the metrics of this machine: the platform's rows, replaced by the sources'
// descriptions where they have one, and the recorder's own metrics. Stacks have no source: they
// are sampled when there is a reason.
func Metrics(rows []*metric.Desc, sources []sample.Source) []*metric.Desc {
	var groups []*metric.Group
	for _, s := range sources {
		groups = append(groups, s.Groups()...)
	}
	return MetricsOf(rows, groups)
}

// MetricsOf is Metrics for callers that have the groups of the sources.
func MetricsOf(rows []*metric.Desc, groups []*metric.Group) []*metric.Desc {
	byName := make(map[string]*metric.Desc)
	for _, d := range rows {
		if d.Unsupported == "" && d.Formula == "" {
			d.Unsupported = "no source of this machine reads it"
		}
		byName[d.Name] = d
	}
	stacks := stack.Groups()
	for _, g := range slices.Concat(engine.SelfGroups(), stacks[:], groups) {
		for _, d := range g.Metrics {
			byName[d.Name] = d
		}
	}
	all := make([]*metric.Desc, 0, len(byName))
	for _, d := range byName {
		all = append(all, d)
	}
	slices.SortFunc(all, func(x, y *metric.Desc) int { return strings.Compare(x.Name, y.Name) })
	return all
}

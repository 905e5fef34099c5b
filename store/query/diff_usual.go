package query

import (
	"maps"
	"math"
	"slices"
)

// rounds are the parts in which the usual windows are read, by the remainder of their numbers
// divided by six: the windows of each part lie all over the time before.
var rounds = [][]int{{0}, {3}, {1, 4}, {2, 5}}

// readUsual reads the usual windows, for what changed. What is usual can only remove changes, so
// a series and a name is read no further once some of the windows show that its change is
// ordinary.
func (d *differ) readUsual(s *systemPair, p *processPair, candidates map[seriesKey]*Change, names map[string]bool) error {
	series, names := maps.Clone(candidates), maps.Clone(names)
	// What is usual for a name is compared with what it used in the second window.
	maps.DeleteFunc(names, func(name string, _ bool) bool { return p.b.byName[name] == nil })
	read := make([]*usage, len(d.usual))
	for _, round := range rounds {
		var questions []func(Archive) error
		for n := range d.usual {
			if !slices.Contains(round, n%6) {
				continue
			}
			if len(series) > 0 {
				questions = append(questions, s.usually(n, series))
			}
			if len(names) > 0 {
				questions = append(questions, d.usually(n, names, &read[n]))
			}
		}
		if len(questions) == 0 {
			continue
		}
		if err := shared(d.a, questions...); err != nil {
			return err
		}
		others := s.others()
		maps.DeleteFunc(series, func(k seriesKey, c *Change) bool {
			return ordinary(c.Before, s.all[k].b.mean(), others[k])
		})
		known := slices.DeleteFunc(slices.Clone(read), func(u *usage) bool { return u == nil })
		maps.DeleteFunc(names, func(name string, _ bool) bool { return d.ordinaryUse(name, p, known) })
	}
	if p.usual == nil {
		return nil
	}
	for _, u := range read {
		if u == nil {
			u = &usage{} // All names that were left to read are ordinary.
		}
		p.usual = append(p.usual, u)
	}
	return nil
}

// usually returns the question what the metrics of some series do in the n-th usual window.
func (p *systemPair) usually(n int, series map[seriesKey]*Change) func(Archive) error {
	seen := make(map[string]bool)
	var names []string
	for k := range series {
		for _, name := range componentsOf(k.metric) {
			if !seen[name] && p.d.a.Lookup(name) != nil {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return func(a Archive) error {
		err := p.d.asking(a).courses([]Window{p.d.usual[n]}, names, func(_ int, s *Series, c course) {
			p.usual[n] = append(p.usual[n], usualMean{p.d.key(s.Metric, s.Instance), c.mean()})
		})
		p.usual[n] = append(p.usual[n], usualAwaits(p.usual[n])...)
		return err
	}
}

// usually returns the question what processes of the names use in the n-th usual window.
func (d *differ) usually(n int, names map[string]bool, to **usage) func(Archive) error {
	return func(a Archive) (err error) {
		*to, err = d.asking(a).usage(d.usual[n], names)
		return err
	}
}

// others returns what each series did in the usual windows that have been read.
func (p *systemPair) others() map[seriesKey][]float64 {
	others := make(map[seriesKey][]float64)
	for _, list := range p.usual {
		for _, u := range list {
			others[u.seriesKey] = append(others[u.seriesKey], u.mean)
		}
	}
	return others
}

// ordinaryUse reports whether some of the usual windows show that nothing of what processes of a
// name used is unusual, whatever the other windows show.
func (d *differ) ordinaryUse(name string, p *processPair, usual []*usage) bool {
	seen := p.a.byName[name] != nil
	for _, u := range usual {
		seen = seen || u.byName[name] != nil
	}
	if !seen {
		return false // It may be new.
	}
	for _, as := range aspects {
		before, after := p.a.amount(name, as.of), p.b.amount(name, as.of)
		if _, large := d.sizeable(as.name, before, after); !large {
			continue
		}
		var others []float64
		for _, u := range usual {
			others = append(others, u.amount(name, as.of))
		}
		if !ordinary(before, after, others) {
			return false
		}
	}
	return true
}

// unusual reports whether b differs from a more than the windows of the baseline differ from what
// is usual.
func unusual(a, b float64, others []float64, extreme float64) bool {
	if len(others) == 0 {
		return true
	}
	all := append(slices.Clone(others), a)
	sorted := slices.Sorted(slices.Values(all))
	center := middleValue(sorted)
	far := 0.0
	for _, x := range all {
		far = max(far, math.Abs(x-center))
	}
	return math.Abs(b-center) > extreme*far
}

// ordinary reports whether unusual is false, whatever is added to others. Of the lowest and the
// highest of a and others, one lies as far from any center as half of their distance and as the
// center lies from the middle between them. Where b is hardly farther from the middle than these
// two, the distance from the center to b is less than extreme times that to one of them.
func ordinary(a, b float64, others []float64) bool {
	if len(others) == 0 {
		return false
	}
	low, high := min(a, slices.Min(others)), max(a, slices.Max(others))
	beyond := (high - low) / 5 // A quarter would do but for rounding.
	return b >= low-beyond && b <= high+beyond
}

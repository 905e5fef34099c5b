package query

import (
	"maps"
	"math"
	"slices"
	"sync"
)

// rounds are the order in which the usual windows are read, by the remainder of their numbers
// divided by six: the windows of each round lie all over the time before.
var rounds = [][]int{{0}, {3}, {1, 4}, {2, 5}}

// A usualReader reads the usual windows, for what changed. What is usual can only remove changes,
// so a series and an aspect of a name are read no further once some of the windows show that the
// change is ordinary. Which windows show that first makes no difference to the answer.
type usualReader struct {
	d      *differ
	s      *systemPair
	p      *processPair
	mu     sync.Mutex
	series map[seriesKey]*Change
	names  map[string]aspectSet
	read   []*usage
	rounds []bothEnds[int]
}

// readUsual reads the usual windows, and when processes were there if that will be asked for.
func (d *differ) readUsual(two *pair, s *systemPair, p *processPair, candidates map[seriesKey]*Change, names map[string]aspectSet) error {
	u := &usualReader{d: d, s: s, p: p, series: maps.Clone(candidates), names: maps.Clone(names), read: make([]*usage, len(d.usual))}
	// What is usual for a name is compared with what it used in the second window.
	maps.DeleteFunc(u.names, func(name string, _ aspectSet) bool { return p.b.byName[name] == nil })
	for _, round := range rounds {
		var l bothEnds[int]
		for n := range d.usual {
			if slices.Contains(round, n%6) {
				l.rest = append(l.rest, n)
			}
		}
		u.rounds = append(u.rounds, l)
	}
	var seen *sightings
	sights := p.gone && !d.elsewhere()
	err := two.work(func(first bool) func(Archive) error {
		u.mu.Lock()
		defer u.mu.Unlock()
		if sights {
			sights = false
			return func(a Archive) error {
				seen = d.asking(a).sightings()
				return nil
			}
		}
		return u.next(first)
	})
	d.seen = seen
	if err != nil || p.usual == nil {
		return err
	}
	for _, used := range u.read {
		if used == nil {
			used = &usage{} // All names that were left to read are ordinary.
		}
		p.usual = append(p.usual, used)
	}
	return nil
}

// next returns the question about another window; nil if nothing is left to read.
func (u *usualReader) next(first bool) func(Archive) error {
	if len(u.series)+len(u.names) == 0 {
		return nil
	}
	for i := range u.rounds {
		if n, ok := u.rounds[i].take(first); ok {
			series, names := slices.Collect(maps.Keys(u.series)), maps.Clone(u.names)
			return func(a Archive) error { return u.window(u.d.asking(a), n, series, names) }
		}
	}
	return nil
}

// window reads the n-th window.
func (u *usualReader) window(d *differ, n int, series []seriesKey, names map[string]aspectSet) error {
	var means []usualMean
	var used *usage
	var err error
	if len(series) > 0 {
		if means, err = d.usually(n, series); err != nil {
			return err
		}
	}
	if len(names) > 0 {
		if used, err = d.usage(d.usual[n], names); err != nil {
			return err
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.s.usual[n], u.read[n] = means, used
	others := u.s.others()
	maps.DeleteFunc(u.series, func(k seriesKey, c *Change) bool {
		return ordinary(c.Before, u.s.all[k].b.mean(), others[k])
	})
	known := slices.DeleteFunc(slices.Clone(u.read), func(used *usage) bool { return used == nil })
	for name, of := range u.names {
		if of = d.unusualUse(name, of, u.p, known); of == noAspects && u.p.seen(name, known) {
			delete(u.names, name)
		} else {
			u.names[name] = of
		}
	}
	return nil
}

// usually returns what the metrics of some series do in the n-th usual window.
func (d *differ) usually(n int, series []seriesKey) (means []usualMean, err error) {
	seen := make(map[string]bool)
	var names []string
	for _, k := range series {
		for _, name := range componentsOf(k.metric) {
			if !seen[name] && d.a.Lookup(name) != nil {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	err = d.courses([]Window{d.usual[n]}, names, func(_ int, s *Series, c course) {
		means = append(means, usualMean{d.key(s.Metric, s.Instance), c.mean()})
	})
	return append(means, usualAwaits(means)...), err
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

// seen reports whether a name was there before the second window, as far as is known. If not, it
// may be new.
func (p *processPair) seen(name string, usual []*usage) bool {
	return p.a.byName[name] != nil || slices.ContainsFunc(usual, func(u *usage) bool { return u.byName[name] != nil })
}

// unusualUse returns those of the aspects of a name that may be unusual. Some of the usual windows
// show that the others are not, whatever the other windows show.
func (d *differ) unusualUse(name string, of aspectSet, p *processPair, usual []*usage) aspectSet {
	for i, as := range aspects {
		if !of.has(i) {
			continue
		}
		var others []float64
		for _, u := range usual {
			others = append(others, u.amount(name, as.of))
		}
		if ordinary(p.a.amount(name, as.of), p.b.amount(name, as.of), others) {
			of &^= 1 << i
		}
	}
	return of
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

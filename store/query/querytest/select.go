package querytest

import (
	"iter"
	"slices"

	"tachograph/sample/metric"
	"tachograph/store"
)

// matching walks the series that sel names.
func (a *Archive) matching(sel store.Selection) iter.Seq2[*part, *series] {
	return func(yield func(*part, *series) bool) {
		for _, p := range a.parts {
			if sel.Hosts != nil && !slices.Contains(sel.Hosts, p.info.Host.ID) {
				continue
			}
			for _, s := range p.series {
				if sel.Metrics != nil && !slices.Contains(sel.Metrics, s.desc.Name) {
					continue
				}
				if s.in != nil && sel.Keys != nil && !slices.Contains(sel.Keys, s.in.Key) {
					continue
				}
				if s.in != nil && sel.Instance != nil && !sel.Instance(s.desc.Indom, s.in) {
					continue
				}
				if !yield(p, s) {
					return
				}
			}
		}
	}
}

// span returns the range of s's values that sel asks for. The value before the window counts only
// in the part where it directly precedes it.
func (a *Archive) span(sel store.Selection, p *part, s *series) (lo, hi int) {
	lo, hi = len(s.wall), 0
	for i, w := range s.wall {
		if w >= sel.From && (sel.To == 0 || w <= sel.To) {
			lo, hi = min(lo, i), i+1
		}
	}
	if !sel.Prior || sel.From <= 0 {
		return min(lo, hi), hi
	}
	if hi > 0 {
		return max(lo-1, 0), hi
	}
	// Nothing in the window: the last value before it counts if no later part of the boot has
	// one.
	last := -1
	for i, w := range s.wall {
		if w < sel.From {
			last = i
		}
	}
	if last < 0 || a.laterInBoot(sel, p, s) {
		return 0, 0
	}
	return last, last + 1
}

func (a *Archive) laterInBoot(sel store.Selection, p *part, s *series) bool {
	seen := false
	for _, q := range a.parts {
		if q == p {
			seen = true
			continue
		}
		if !seen || q.info.BootID != p.info.BootID || q.info.Host.ID != p.info.Host.ID {
			continue
		}
		for _, t := range q.series {
			if t.desc.Name == s.desc.Name && t.in == s.in && len(t.wall) > 0 && t.wall[0] < sel.From {
				return true
			}
		}
	}
	return false
}

// Select reads values; see store.Reader. Like store.Reader it yields the values before the window
// ahead of all that are in it.
func (a *Archive) Select(sel store.Selection) iter.Seq[*store.Run] {
	return func(yield func(*store.Run) bool) {
		for p, s := range a.matching(sel) {
			if lo, hi := a.span(sel, p, s); lo < hi && s.wall[lo] < sel.From && !yield(s.run(p, lo, lo+1)) {
				return
			}
		}
		for p, s := range a.matching(sel) {
			lo, hi := a.span(sel, p, s)
			if lo < hi && s.wall[lo] < sel.From {
				lo++
			}
			for i := lo; i < hi; i += a.RunLength {
				if !yield(s.run(p, i, min(i+a.RunLength, hi))) {
					return
				}
			}
		}
	}
}

func (s *series) run(p *part, i, j int) *store.Run {
	r := &store.Run{Archive: p.info, Metric: s.desc, Instance: s.in,
		Wall: s.wall[i:j], Cont: s.cont[i:j], Column: metric.Column{Bits: s.col.Bits[i:j], Words: s.col.Words}}
	if slices.ContainsFunc(s.col.Miss[i:j], func(m metric.Reason) bool { return m != metric.Present }) {
		r.Miss = s.col.Miss[i:j]
	}
	return r
}
